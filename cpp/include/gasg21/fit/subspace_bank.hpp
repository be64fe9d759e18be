// Several subspaces side by side: a sample is fitted to all of them at once, one lane each, and
// assigned to the nearest. Eq. (14), Alg. 3, steps 5 and 6.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "gasg21/data/observation.hpp"
#include "gasg21/fit/fixed_fit.hpp"
#include "gasg21/fit/least_squares.hpp"
#include "gasg21/kernels/subspace_bank.hpp"
#include "gasg21/support/aligned.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"

namespace gasg21 {

/// The nearest subspace of a sample. `cluster` is the number of subspaces if it is undetermined:
/// too few entries of the sample are observed.
template <class T>
struct Nearest {
  uword cluster;
  T residual;  // |r| of the unit-norm sample, NaN = undetermined
};

template <class T>
class SubspaceBank {
 public:
  explicit SubspaceBank(const std::vector<arma::Mat<T>>& bases) {
    require(!bases.empty(), "there must be at least one subspace");
    n_ = bases[0].n_rows;
    for (const auto& U : bases) {
      require(U.n_rows == n_, "the subspaces lie in spaces of ", n_, " and ", U.n_rows,
              " dimensions");
      require(U.n_cols >= 1 && U.n_cols < n_, "d = ", U.n_cols, " must be in [1, n - 1]");
      dimensions_.push_back(U.n_cols);
      d_ = std::max(d_, U.n_cols);
    }
    versions_.assign(size(), 0);
    const uword n_panels = (size() + lanes - 1) / lanes;
    panels_.assign(n_panels * n_ * d_ * lanes, T(0));
    absent_.assign(n_panels * d_ * lanes, T(0));
    for (uword k = 0; k < size(); ++k) {
      set(k, bases[k]);
      for (uword c = dimensions_[k]; c < d_; ++c)
        absent_[(k / lanes * d_ + c) * lanes + k % lanes] = T(1);
      ragged_ = ragged_ || dimensions_[k] < d_;
    }
  }

  uword size() const { return dimensions_.size(); }
  uword n() const { return n_; }

  /// n x d_k.
  arma::Mat<T> basis(uword k) const {
    arma::Mat<T> U(n_, dimensions_[k]);
    const T* lane = panels_.data() + lane_at(k);
    for (uword c = 0; c < U.n_cols; ++c)
      for (uword i = 0; i < n_; ++i) U(i, c) = lane[(i * d_ + c) * lanes];
    return U;
  }

  void set(uword k, const arma::Mat<T>& U) {
    const Lane lane = overwrite(k);
    for (uword c = 0; c < U.n_cols; ++c)
      for (uword i = 0; i < n_; ++i)
        lane.first[i * lane.row_stride + c * lane.column_stride] = U(i, c);
  }

  /// Entry (i, c) of a subspace is at first[i * row_stride + c * column_stride].
  struct Lane {
    T* first;
    uword row_stride, column_stride;
  };
  /// Returns where to write a subspace in place.
  Lane overwrite(uword k) {
    ++versions_[k];
    return {panels_.data() + lane_at(k), d_ * lanes, lanes};
  }

  /// The memory that a thread needs to fit samples.
  class Scratch {
   public:
    explicit Scratch(const SubspaceBank& bank)
        : r2(bank.size()),
          x(bank.n_),
          sums_((bank.d_ * (bank.d_ + 1) / 2 + bank.d_) * lanes),
          alone_(bank.size()) {}
    std::vector<T> r2;  // squared residuals, set by `fit_all`
    Observation<T> x;

   private:
    friend class SubspaceBank;
    /// A copy of one subspace, made when it is first needed.
    struct Alone {
      std::uint64_t version;
      arma::Mat<T> U;
      FixedFit<T> fit;
      Alone(std::uint64_t version_, arma::Mat<T> U_)
          : version(version_), U(std::move(U_)), fit(U) {}
    };
    Aligned<T> sums_;
    std::vector<std::optional<Alone>> alone_;
  };

  /// The squared residual of scratch.x in each subspace, accurate to about 1e-12 in double; NaN
  /// where it is not determined.
  void fit_all(Scratch& scratch) const {
    const Observation<T>& x = scratch.x;
    const kernels::ObservedEntries<T> entries{x.rows(), x.values(), x.count(), x.full()};
    const auto& kernels = kernels::subspace_bank_kernels<T>(d_);
    kernels::PanelFit<T> fit;
    for (uword first = 0; first < size(); first += lanes) {
      kernels.fit(panels_.data() + first * d_ * n_, d_, entries,
                  ragged_ ? absent_.data() + first * d_ : nullptr, fit, scratch.sums_.data());
      for (uword l = 0; l < std::min(lanes, size() - first); ++l) {
        const uword k = first + l;
        scratch.r2[k] = std::max(fit.r2[l], T(0));
        if (x.count() <= dimensions_[k]) {
          scratch.r2[k] = std::numeric_limits<T>::quiet_NaN();
        } else if (!(fit.smallest_inverse[l] > worst_pivot * fit.largest_inverse[l])) {
          const T residual = exact_residual(k, scratch);
          scratch.r2[k] = residual * residual;
        }
      }
    }
  }

  /// The nearest subspace to scratch.x, the first of equally near ones; the number of subspaces if
  /// it is undetermined.
  uword nearest_cluster(Scratch& scratch) const {
    fit_all(scratch);
    T smallest = std::numeric_limits<T>::infinity();
    for (const T r2 : scratch.r2)
      if (r2 < smallest) smallest = r2;
    const auto is_near = [&](T r2) { return r2 <= smallest + tie; };
    const auto begin = scratch.r2.begin(), end = scratch.r2.end();
    const auto first = std::find_if(begin, end, is_near);
    if (first == end || std::none_of(first + 1, end, is_near)) return uword(first - begin);
    // The squared residual of a sample in its own subspace is rounding error. Least squares with
    // refinement decides between subspaces that are equally near.
    Nearest<T> best{size(), std::numeric_limits<T>::quiet_NaN()};
    for (uword k = uword(first - begin); k < size(); ++k) {
      if (!is_near(scratch.r2[k])) continue;
      const T residual = exact_residual(k, scratch);
      if (best.cluster == size() || residual < best.residual) best = {k, residual};
    }
    return best.cluster;
  }

  /// The same, with the residual to full precision.
  Nearest<T> nearest(Scratch& scratch) const {
    const uword k = nearest_cluster(scratch);
    return {k, k < size() ? exact_residual(k, scratch) : std::numeric_limits<T>::quiet_NaN()};
  }

  /// |r| of scratch.x in subspace k, to full precision; NaN if it is not determined.
  T exact_residual(uword k, Scratch& scratch) const {
    auto& alone = scratch.alone_[k];
    if (!alone || alone->version != versions_[k]) alone.emplace(versions_[k], basis(k));
    if (alone->fit.solve(alone->U, scratch.x) != Solved::yes)
      return std::numeric_limits<T>::quiet_NaN();
    return std::min(alone->fit.residual(), T(1));
  }

 private:
  static constexpr uword lanes = kernels::block_rows<T>;
  // Smallest ratio of pivots for which the normal equations are accurate enough; bounds the error
  // of r^2.
  static constexpr T worst_pivot = T(1e-3);
  static constexpr T tie = 4096 * std::numeric_limits<T>::epsilon();

  /// Panels of `lanes` subspaces: entry (i, c) of subspace k is at [k / lanes][i][c][k % lanes].
  uword lane_at(uword k) const { return k / lanes * lanes * d_ * n_ + k % lanes; }

  std::vector<uword> dimensions_;
  std::vector<std::uint64_t> versions_;  // how often each was written
  uword n_ = 0, d_ = 0;                  // d is the largest dimension
  bool ragged_ = false;                  // some have fewer than d columns
  Aligned<T> panels_, absent_;           // absent: see SubspaceBankKernels
};

}  // namespace gasg21
