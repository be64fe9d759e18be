// The basis that a tracker moves, in the layout that suits its vectors: in row blocks, or row-major
// where few entries are observed. In row blocks a geodesic step stays pending until the basis is
// read for the next vector, which saves one pass over memory.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "gasg21/basis/row_major_basis.hpp"
#include "gasg21/kernels/plain.hpp"
#include "gasg21/kernels/tracked_basis.hpp"
#include "gasg21/support/aligned.hpp"
#include "gasg21/support/config.hpp"

namespace gasg21 {

/// The state of a TrackedBasis beside the basis itself, for resuming with the same bits.
template <class T>
struct BasisLayout {
  RowMajorState<T> by_rows;  // empty = in row blocks
  std::int64_t streak = 0;   // consecutive vectors that suit the other layout
  std::vector<T> Ue;         // U'e with the direction e of the last step, up to rounding; empty = 0
};

/// Properties of the residual r of a step. `with_gaps`: NaN off Omega. `whole`: no NaN.
/// `orthogonal`: U'r is rounding error, without NaN or with.
enum class Residual { with_gaps, whole, orthogonal_with_gaps, orthogonal };

template <class T>
class TrackedBasis {
 public:
  /// Starts from U, n x d with orthonormal columns, as if it had last moved along e (n entries).
  TrackedBasis(const arma::Mat<T>& U, const arma::Col<T>& e, BasisLayout<T> layout = {})
      : n_(U.n_rows),
        d_(U.n_cols),
        blocks_(whole_blocks<T>(n_) * d_, T(0)),
        e_(whole_blocks<T>(n_), T(0)),
        v_(d_),
        z_(d_),
        y_(d_),
        Ue_(std::move(layout.Ue)),
        scratch_(kernels::sums_scratch<T>(d_)),
        streak_(std::clamp<std::int64_t>(layout.streak, -patience(), 7)) {
    Ue_.resize(d_, T(0));
    set(U);
    std::copy(e.begin(), e.end(), e_.begin());
    if (!layout.by_rows.rows.empty()) by_rows_.emplace(layout.by_rows, e_.data());
  }

  uword n() const { return n_; }
  uword d() const { return d_; }

  /// Replaces the basis.
  void set(const arma::Mat<T>& U) {
    apply_pending();
    if (by_rows_) by_rows_.emplace(U, direction().memptr());
    for (uword c = 0; c < d_; ++c)
      for (uword i = 0; i < n_; ++i) blocks_[at(i, c)] = U(i, c);
  }

  /// n x d, orthonormal.
  arma::Mat<T> matrix() const {
    if (pending_) return applied().matrix();
    if (by_rows_) return by_rows_->matrix();
    arma::Mat<T> U(n_, d_);
    for (uword c = 0; c < d_; ++c)
      for (uword i = 0; i < n_; ++i) U(i, c) = blocks_[at(i, c)];
    return U;
  }

  /// Writes entry (i, c) to out[i * row_stride + c * column_stride].
  void copy_to(T* out, uword row_stride, uword column_stride) {
    apply_pending();
    if (by_rows_) {
      const arma::Mat<T> U = by_rows_->matrix();
      for (uword c = 0; c < d_; ++c)
        for (uword i = 0; i < n_; ++i) out[i * row_stride + c * column_stride] = U(i, c);
      return;
    }
    constexpr uword L = kernels::block_rows<T>;
    const T* block = blocks_.data();
    for (uword first = 0; first < n_; first += L)
      for (uword c = 0; c < d_; ++c, block += L)
        for (uword l = 0; l < std::min(L, n_ - first); ++l)
          out[(first + l) * row_stride + c * column_stride] = block[l];
  }

  /// The unit direction of the last step, n entries; zeros before the first.
  arma::Col<T> direction() const {
    if (pending_) return applied().direction();
    arma::Col<T> e(n_);
    for (uword i = 0; i < n_; ++i) e[i] = direction(i);
    return e;
  }

  BasisLayout<T> layout() const {
    return {by_rows_ ? by_rows_->state() : RowMajorState<T>{}, streak_, Ue_};
  }

  /// Chooses the layout for a vector with few observed entries, or many. Changes it after eight
  /// consecutive vectors that suit the other one: a change costs as much as a few updates. Returns
  /// whether the basis is row-major.
  bool choose_rows(bool few) {
    streak_ = few == by_rows_.has_value() ? 0 : streak_ + 1;
    if (streak_ < 8) return by_rows_.has_value();
    streak_ = 0;
    if (!few) {
      use_blocks();
      return false;
    }
    apply_pending();
    by_rows_.emplace(matrix(), e_.data());
    return true;
  }

  /// Changes from the row-major layout to row blocks.
  void use_blocks() {
    if (!by_rows_) return;
    const arma::Mat<T> U = matrix();
    for (uword i = 0; i < n_; ++i) e_[i] = by_rows_->direction(i);
    by_rows_.reset();
    streak_ = 0;
    set(U);
  }

  /// Copies the given rows to row blocks of their own, padded with zeros, and the last direction on
  /// them. Prefetches the expected vector. Row-major rows still lack the rotation A: pass the
  /// weights of a fit to `rotate_weights`.
  void gather(const uword* at, uword count, T* out, T* e) {
    apply_pending();
    if (by_rows_) return by_rows_->gather(at, count, out, e, std::exchange(next_, nullptr));
    constexpr uword L = kernels::block_rows<T>;
    for (uword k = 0; k < whole_blocks<T>(count); ++k) {
      T* to = out + k / L * d_ * L + k % L;
      const T* row = k < count ? &blocks_[this->at(at[k], 0)] : nullptr;
      for (uword c = 0; c < d_; ++c) to[c * L] = row ? row[c * L] : T(0);
      e[k] = row ? e_[at[k]] : T(0);
    }
  }
  /// Converts weights in the rows that `gather` returned to weights in U.
  void rotate_weights(arma::Col<T>& w) {
    if (by_rows_) by_rows_->rotate_weights(w);
  }
  /// Entry i of the direction of the last step.  Pre: no step is pending.
  T direction(uword i) const { return by_rows_ ? by_rows_->direction(i) : e_[i]; }

  /// Moves the row-major basis at once, along e given on the rows `at`.
  void move_rows(const uword* at, uword count, const T* e, const arma::Col<T>& v, double theta) {
    const bool pays = by_rows_->move(at, count, e, v, theta);
    for (uword c = 0; c < d_; ++c) Ue_[c] = T(std::sin(theta)) * v[c];
    if (pays) return;
    use_blocks();
    streak_ = -patience();
  }

  /// Sets a pending step along the geodesic of direction e v' by the angle theta, Eq. (9), where
  /// e = scale (r - U y), and 0 where r is NaN. Takes r (padded), and leaves the last direction in
  /// its place. If r is orthogonal to U up to rounding, U moves with y and e is kept without it.
  /// Pre: no step is pending; U'e = 0, |e| = |v| = 1.  Post: U'U = I up to rounding.
  void move(Aligned<T>& r, Residual kind, T scale, const arma::Col<T>* y, const arma::Col<T>& v,
            double theta) {
    const double half_sine = std::sin(theta / 2), half_cosine = std::cos(theta / 2);
    z_factor_ = T(-2 * half_sine * half_sine);  // cos(theta) - 1 without cancellation
    e_factor_ = T(2 * half_sine * half_cosine);
    scale_ = scale;
    y_over_z_ = 0;
    with_y_ = y != nullptr;
    std::copy(v.begin(), v.end(), v_.begin());
    std::copy(v.begin(), v.end(), z_.begin());
    for (uword c = 0; c < d_; ++c) Ue_[c] = e_factor_ * v[c];
    if (y) simplify_product(*y, kind);
    with_gaps_ = kind == Residual::with_gaps || kind == Residual::orthogonal_with_gaps;
    e_.swap(r);
    pending_ = true;
  }

  /// Applies the pending step, then sums b = U_Omega'x and G = U_Omega'U_Omega (lower triangle). G
  /// is null if nothing of x is missing: then G = I, and x'e is returned, with the direction e of
  /// the last step. x has n entries and is padded. If `most` of x is observed, G is exact up to the
  /// error of U'U = I only. Also returns x'e, and finds Ue = U_Omega'e, if `finds_direction`.
  T sums(const T* x, T* G, T* b, bool most = false, T* Ue = nullptr) {
    if (with_gaps_ && !G) apply_pending();  // kernels for whole vectors do not check for NaN
    const auto step = this->step();
    const T xe =
        kernels().sums({blocks_.data(), n_blocks(), d_, pending_ ? &step : nullptr, e_.data(), x,
                        next_ ? next_ : x, G, b, scratch_.data(), Ue, most ? Ue_.data() : nullptr});
    pending_ = false;
    next_ = nullptr;
    return xe;
  }

  /// Whether `sums` finds U_Omega'e.
  bool finds_direction() const { return kernels().finds_direction; }
  /// Whether `sums` may find G as I less the sum over the missing rows.
  bool subtracts() const { return kernels().subtracts; }

  /// Announces the vector after the next one, n entries: `sums` and `gather` prefetch it.
  void expect(const T* x) { next_ = x; }

  /// U'e with the direction e of the last step, up to rounding.
  const std::vector<T>& direction_weights() const { return Ue_; }

  /// r = x - U w on Omega, NaN elsewhere; q = U_Omega'r (with room for d blocks); products = {r'r,
  /// r'e} with the direction e of the last step.  Pre: no step is pending.
  void residual(const T* w, const T* x, T* r, T* q, T* products) const {
    kernels().residual(blocks_.data(), n_blocks(), d_, w, x, e_.data(), r, q, products);
  }

  /// Applies the pending step, if any.
  void apply_pending() {
    if (!pending_) return;
    kernels().apply(blocks_.data(), n_blocks(), d_, step());
    pending_ = false;
  }

 private:
  const kernels::TrackedBasisKernels<T>& kernels() const {
    return kernels::tracked_basis_kernels<T>(d_);
  }
  /// Vectors to stay in row blocks after the row-major layout was too slow: trying it costs O(n
  /// d^2).
  std::int64_t patience() const { return 50 + 10 * std::int64_t(d_); }
  uword n_blocks() const { return blocks_.size() / (d_ * kernels::block_rows<T>); }
  uword at(uword i, uword c) const {
    constexpr uword L = kernels::block_rows<T>;
    return (i / L * d_ + c) * L + i % L;
  }
  TrackedBasis applied() const {
    TrackedBasis copy = *this;
    copy.apply_pending();
    return copy;
  }
  /// Drops y where the kernels can do with one product of U: where r is orthogonal to U, z may hold
  /// y, since e need not be known without it; where y is a multiple of v, U y is one of U v.
  void simplify_product(const arma::Col<T>& y, Residual kind) {
    if (kind == Residual::orthogonal || kind == Residual::orthogonal_with_gaps) {
      for (uword c = 0; c < d_; ++c) z_[c] = z_factor_ * v_[c] - e_factor_ * scale_ * y[c];
      z_factor_ = 1;
      with_y_ = false;
      return;
    }
    const T size = kernels::short_dot(v_.data(), y.memptr(), d_);
    T off = 0;
    for (uword c = 0; c < d_; ++c) off = std::max(off, std::abs(y[c] - size * v_[c]));
    if (off <= 4 * std::numeric_limits<T>::epsilon() * std::abs(size)) {  // y = size v
      y_over_z_ = size;
      with_y_ = false;
      return;
    }
    std::copy(y.begin(), y.end(), y_.begin());
  }
  kernels::PendingStep<T> step() {
    return {e_.data(), v_.data(), z_.data(), with_y_ ? y_.data() : nullptr,
            z_factor_, e_factor_, scale_,    y_over_z_};
  }

  uword n_, d_;
  Aligned<T> blocks_;
  Aligned<T> e_;  // the direction of the last step; its r while it is pending
  bool pending_ = false, with_y_ = false, with_gaps_ = false;
  std::vector<T> v_, z_, y_, Ue_;  // see kernels::PendingStep
  T z_factor_ = 0, e_factor_ = 0, scale_ = 1, y_over_z_ = 0;
  Aligned<T> scratch_;
  const T* next_ = nullptr;
  std::optional<RowMajorBasis<T>> by_rows_;  // if set, blocks_ and e_ are out of date
  std::int64_t streak_;
};

}  // namespace gasg21
