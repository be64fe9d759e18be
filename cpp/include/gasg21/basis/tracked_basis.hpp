// The basis that a tracker moves, in the layout that is fastest for the vectors that come: in
// blocks for the kernels, or by rows where little is observed. In blocks a geodesic step is noted
// when it is decided and carried out when the basis is read for the next vector: one pass over
// memory less.
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

/// What a TrackedBasis knows beyond the basis itself, for resuming bit by bit.
template <class T>
struct BasisLayout {
  RowMajorState<T> by_rows;  // empty = in blocks
  std::int64_t streak = 0;   // vectors in a row that would have liked the other layout
  std::vector<T> pull;       // U'e with the direction e of the last step, up to its own rounding
                             // errors; empty = 0
};

/// What r of a step is: NaN off Omega; without NaN; or, beyond that, such that what it has of U is
/// no more than its rounding errors.
enum class Rest { with_gaps, whole, whole_but_for_rounding };

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
        pull_(std::move(layout.pull)),
        scratch_(kernels::sums_scratch<T>(d_)),
        streak_(std::clamp<std::int64_t>(layout.streak, -patience(), 7)) {
    pull_.resize(d_, T(0));
    set(U);
    std::copy(e.begin(), e.end(), e_.begin());
    if (!layout.by_rows.rows.empty()) by_rows_.emplace(layout.by_rows, e_.data());
  }

  uword n() const { return n_; }
  uword d() const { return d_; }

  /// Goes on from another basis.
  void set(const arma::Mat<T>& U) {
    settle();
    if (by_rows_) by_rows_.emplace(U, direction().memptr());
    for (uword c = 0; c < d_; ++c)
      for (uword i = 0; i < n_; ++i) blocks_[at(i, c)] = U(i, c);
  }

  /// n x d, orthonormal.
  arma::Mat<T> matrix() const {
    if (moving_) return settled().matrix();
    if (by_rows_) return by_rows_->matrix();
    arma::Mat<T> U(n_, d_);
    for (uword c = 0; c < d_; ++c)
      for (uword i = 0; i < n_; ++i) U(i, c) = blocks_[at(i, c)];
    return U;
  }

  /// Writes entry (i, c) to out[i * row_stride + c * column_stride].
  void copy_to(T* out, uword row_stride, uword column_stride) {
    settle();
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

  /// The unit direction of the last step (see `move`), n entries; zeros at first.
  arma::Col<T> direction() const {
    if (moving_) return settled().direction();
    arma::Col<T> e(n_);
    for (uword i = 0; i < n_; ++i) e[i] = direction(i);
    return e;
  }

  BasisLayout<T> layout() const {
    return {by_rows_ ? by_rows_->state() : RowMajorState<T>{}, streak_, pull_};
  }

  /// Chooses the layout for a vector of which few entries are observed, or many. It changes after
  /// eight vectors in a row that would have liked the other: that costs as much as a few updates.
  /// Where steps are so long that all rows must be passed over again and again, blocks are better.
  bool choose_rows(bool few) {
    streak_ = few == by_rows_.has_value() ? 0 : streak_ + 1;
    if (streak_ < 8) return by_rows_.has_value();
    streak_ = 0;
    if (!few) {
      use_blocks();
      return false;
    }
    settle();
    by_rows_.emplace(matrix(), e_.data());
    return true;
  }

  /// Leaves the layout by rows.
  void use_blocks() {
    if (!by_rows_) return;
    const arma::Mat<T> U = matrix();
    for (uword i = 0; i < n_; ++i) e_[i] = by_rows_->direction(i);
    by_rows_.reset();
    streak_ = 0;
    set(U);
  }

  /// The given rows as blocks of their own, padded with zeros, and the last direction on them;
  /// where the basis lies by rows, not turned: then `turn_weights` is due. Meanwhile the expected
  /// vector is fetched.
  void gather(const uword* at, uword count, T* out, T* e) {
    settle();
    if (by_rows_) return by_rows_->gather(at, count, out, e, std::exchange(next_, nullptr));
    constexpr uword L = kernels::block_rows<T>;
    for (uword k = 0; k < whole_blocks<T>(count); ++k) {
      T* to = out + k / L * d_ * L + k % L;
      const T* row = k < count ? &blocks_[this->at(at[k], 0)] : nullptr;
      for (uword c = 0; c < d_; ++c) to[c * L] = row ? row[c * L] : T(0);
      e[k] = row ? e_[at[k]] : T(0);
    }
  }
  /// The weights in U of weights in what `gather` gave.
  void turn_weights(arma::Col<T>& w) {
    if (by_rows_) by_rows_->turn_weights(w);
  }
  /// Entry i of the direction of the last step.  Pre: nothing is noted.
  T direction(uword i) const { return by_rows_ ? by_rows_->direction(i) : e_[i]; }

  /// Moves by rows, at once, along e that is given on the rows `at`.
  void move_rows(const uword* at, uword count, const T* e, const arma::Col<T>& v, double theta) {
    const bool pays = by_rows_->move(at, count, e, v, theta);
    for (uword c = 0; c < d_; ++c) pull_[c] = T(std::sin(theta)) * v[c];
    if (pays) return;
    use_blocks();
    streak_ = -patience();
  }

  /// Notes a step along the geodesic of direction e v' by the angle theta, Eq. (9), where
  /// e = scale (r - U y), and 0 where r is NaN. Takes r (padded), and leaves the direction before
  /// in its place. Where y is no more than the rounding errors of r, U moves with it and e is kept
  /// without. Pre: nothing is noted; U'e = 0, |e| = |v| = 1.  Post: U'U = I up to rounding.
  void move(Aligned<T>& r, Rest rest, T scale, const arma::Col<T>* y, const arma::Col<T>& v,
            double theta) {
    const double half_sine = std::sin(theta / 2), half_cosine = std::cos(theta / 2);
    along_ = T(-2 * half_sine * half_sine);  // cos(theta) - 1 without cancellation
    across_ = T(2 * half_sine * half_cosine);
    scale_ = scale;
    back_ = 0;
    refined_ = y != nullptr;
    std::copy(v.begin(), v.end(), v_.begin());
    std::copy(v.begin(), v.end(), z_.begin());
    for (uword c = 0; c < d_; ++c) pull_[c] = across_ * v[c];
    if (y) spare_product(*y, rest);
    with_gaps_ = rest == Rest::with_gaps;
    e_.swap(r);
    moving_ = true;
  }

  /// Carries out what is noted; then b = U_Omega'x and G = U_Omega'U_Omega, lower triangle, unless
  /// it is null: then nothing of x is missing, and G = I. x has n entries and is padded. Returns
  /// x'e with the direction e of the last step when nothing is missing.
  T sums(const T* x, T* G, T* b) {
    if (with_gaps_ && !G) settle();  // the kernels for whole vectors look for no NaN
    const auto step = this->step();
    const T across = kernels().sums(blocks_.data(), n_blocks(), d_, moving_ ? &step : nullptr,
                                    e_.data(), x, next_ ? next_ : x, G, b, scratch_.data());
    moving_ = false;
    next_ = nullptr;
    return across;
  }

  /// The vector after the next one, n entries: to be fetched while the next one is at work.
  void expect(const T* x) { next_ = x; }

  /// U'e with the direction e of the last step, up to its own rounding errors.
  const std::vector<T>& pull() const { return pull_; }

  /// r = x - U w on Omega, NaN elsewhere; q = U_Omega'r (with room for d blocks); products = {r'r,
  /// r'e} with the direction e of the last step.  Pre: nothing is noted.
  void residual(const T* w, const T* x, T* r, T* q, T* products) const {
    kernels().residual(blocks_.data(), n_blocks(), d_, w, x, e_.data(), r, q, products);
  }

  /// Carries out what is noted.
  void settle() {
    if (!moving_) return;
    kernels().carry(blocks_.data(), n_blocks(), d_, step());
    moving_ = false;
  }

 private:
  const kernels::TrackedBasisKernels<T>& kernels() const {
    return kernels::tracked_basis_kernels<T>(d_);
  }
  /// Vectors to go on in blocks when rows did not pay: to find that out costs O(n d^2).
  std::int64_t patience() const { return 50 + 10 * std::int64_t(d_); }
  uword n_blocks() const { return blocks_.size() / (d_ * kernels::block_rows<T>); }
  uword at(uword i, uword c) const {
    constexpr uword L = kernels::block_rows<T>;
    return (i / L * d_ + c) * L + i % L;
  }
  TrackedBasis settled() const {
    TrackedBasis copy = *this;
    copy.settle();
    return copy;
  }
  /// For a step with y: where U y follows from U v, or need not be known by itself, the kernels sum
  /// one product of U less.
  void spare_product(const arma::Col<T>& y, Rest rest) {
    if (rest ==
        Rest::whole_but_for_rounding) {  // along U v + across scale (r - U y) = U z + across e
      for (uword c = 0; c < d_; ++c) z_[c] = along_ * v_[c] - across_ * scale_ * y[c];
      along_ = 1;
      refined_ = false;
      return;
    }
    const T size = kernels::short_dot(v_.data(), y.memptr(), d_);
    T off = 0;
    for (uword c = 0; c < d_; ++c) off = std::max(off, std::abs(y[c] - size * v_[c]));
    if (off <= 4 * std::numeric_limits<T>::epsilon() * std::abs(size)) {  // y = size v
      back_ = size;
      refined_ = false;
      return;
    }
    std::copy(y.begin(), y.end(), y_.begin());
  }
  kernels::Move<T> step() {
    return {e_.data(), v_.data(), z_.data(), refined_ ? y_.data() : nullptr,
            along_,    across_,   scale_,    back_};
  }

  uword n_, d_;
  Aligned<T> blocks_;
  Aligned<T> e_;  // the direction of the last step; r of it as long as it is only noted
  bool moving_ = false, refined_ = false, with_gaps_ = false;
  std::vector<T> v_, z_, y_, pull_;  // see kernels::Move
  T along_ = 0, across_ = 0, scale_ = 1, back_ = 0;
  Aligned<T> scratch_;
  const T* next_ = nullptr;
  std::optional<RowMajorBasis<T>> by_rows_;  // then the blocks and e are out of date
  std::int64_t streak_;
};

}  // namespace gasg21
