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
    panels_.assign(n_lanes() * n_ * d_, T(0));
    absent_.assign(n_lanes() * d_, T(0));
    for (uword k = 0; k < size(); ++k) {
      set(k, bases[k]);
      for (uword c = dimensions_[k]; c < d_; ++c)
        absent_[(k / lanes * d_ + c) * lanes + k % lanes] = T(1);
      ragged_ = ragged_ || dimensions_[k] < d_;
    }
  }

  uword size() const { return dimensions_.size(); }
  uword n() const { return n_; }
  /// Multiply-adds for each observed entry of a sample, about.
  uword work() const { return n_lanes() * d_; }

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
    /// For one sample at a time, or for as many as should be fitted together.
    explicit Scratch(const SubspaceBank& bank, uword n_samples = 1)
        : samples_(n_samples, Sample{Observation<T>(bank.n_), std::vector<T>(bank.n_lanes(), T(0)),
                                     Usable::all_missing}),
          sums_((bank.d_ * (bank.d_ + 1) / 2 + bank.d_) * lanes * n_samples),
          alone_(bank.size()) {}

    uword n_samples() const { return samples_.size(); }
    Observation<T>& x(uword s = 0) { return samples_[s].x; }
    /// Squared residuals of sample s in all subspaces, set by `fit_all`; more entries follow.
    const std::vector<T>& r2(uword s = 0) const { return samples_[s].r2; }
    /// Whether sample s can be used, as `read` has found.
    Usable usable(uword s = 0) const { return samples_[s].usable; }
    template <class Any>
    Usable read(const Any& sample, uword s = 0) {
      return samples_[s].usable = samples_[s].x.read(sample);
    }

   private:
    friend class SubspaceBank;
    struct Sample {
      Observation<T> x;
      std::vector<T> r2;
      Usable usable;
    };
    /// A copy of one subspace, made when it is first needed.
    struct Alone {
      std::uint64_t version;
      arma::Mat<T> U;
      FixedFit<T> fit;
      Alone(std::uint64_t version_, arma::Mat<T> U_)
          : version(version_), U(std::move(U_)), fit(U) {}
    };
    std::vector<Sample> samples_;
    Aligned<T> sums_;
    std::vector<std::optional<Alone>> alone_;
  };

  /// How many samples should be fitted together: few if they are long.
  uword samples_at_once() const {
    constexpr uword entries = 32768;
    return std::clamp<uword>(entries / n_, 1, kernels::bank_samples);
  }

  /// The squared residuals of the first `count` samples that were read, in each subspace, accurate
  /// to about 1e-12 in double; NaN where they are not determined. Those of samples that cannot be
  /// used are not set. Prefetches from `ahead` on, where the next samples begin, unless null.
  void fit_all(Scratch& scratch, uword count = 1, const T* ahead = nullptr) const {
    kernels::BankSample<T> samples[kernels::bank_samples];
    uword which[kernels::bank_samples], n_used = 0;
    for (uword s = 0; s < count; ++s) {
      if (scratch.usable(s) != Usable::yes) continue;
      samples[n_used] = as_bank_sample(scratch.x(s));
      which[n_used++] = s;
    }
    if (n_used == 0) return;
    const auto& kernels = kernels::subspace_bank_kernels<T>(d_);
    kernels::PanelFit<T> fits[kernels::bank_samples];
    for (uword first = 0; first < size(); first += lanes) {
      const T* const panel = panels_.data() + first * d_ * n_;
      const T* const absent = ragged_ ? absent_.data() + first * d_ : nullptr;
      kernels.fit({panel, std::min(lanes, size() - first), n_, d_, absent,
                   ahead && first == 0 ? ahead : panel},
                  samples, n_used, fits, scratch.sums_.data());
      for (uword u = 0; u < n_used; ++u) keep(fits[u], first, which[u], scratch);
    }
  }

  /// The nearest subspace to sample s, the first of equally near ones; the number of subspaces if
  /// it is undetermined.  Pre: `fit_all`.
  uword nearest_cluster(Scratch& scratch, uword s = 0) const {
    if (scratch.usable(s) != Usable::yes) return size();
    const std::vector<T>& r2 = scratch.r2(s);
    T least[lanes];  // lane by lane, so that no comparison waits for the one before
    std::fill(least, least + lanes, std::numeric_limits<T>::infinity());
    for (uword k = 0; k < r2.size(); k += lanes)
      for (uword l = 0; l < lanes; ++l) least[l] = r2[k + l] < least[l] ? r2[k + l] : least[l];
    const T smallest = *std::min_element(least, least + lanes);
    const auto is_near = [&](uword k) { return r2[k] <= smallest + tie; };
    uword first = size(), n_near = 0;
    for (uword k = size(); k-- > 0;) {  // without a branch, which could not be predicted
      first = is_near(k) ? k : first;
      n_near += is_near(k);
    }
    if (n_near <= 1) return first;
    // The squared residual of a sample in its own subspace is rounding error. Least squares with
    // refinement decides between subspaces that are equally near.
    Nearest<T> best{size(), std::numeric_limits<T>::quiet_NaN()};
    for (uword k = first; k < size(); ++k) {
      if (!is_near(k)) continue;
      const T residual = exact_residual(k, scratch, s);
      if (best.cluster == size() || residual < best.residual) best = {k, residual};
    }
    return best.cluster;
  }

  /// The same, with the residual to full precision: 0 for a sample of zeros, NaN if undetermined.
  Nearest<T> nearest(Scratch& scratch, uword s = 0) const {
    Nearest<T> best{nearest_cluster(scratch, s), std::numeric_limits<T>::quiet_NaN()};
    if (scratch.usable(s) == Usable::zero) best.residual = 0;
    if (best.cluster < size()) best.residual = exact_residual(best.cluster, scratch, s);
    return best;
  }

  /// |r| of sample s in subspace k, to full precision; NaN if it is not determined.
  T exact_residual(uword k, Scratch& scratch, uword s = 0) const {
    auto& alone = scratch.alone_[k];
    if (!alone || alone->version != versions_[k]) alone.emplace(versions_[k], basis(k));
    if (alone->fit.solve(alone->U, scratch.x(s)) != Solved::yes)
      return std::numeric_limits<T>::quiet_NaN();
    return std::min(alone->fit.residual(), T(1));
  }

 private:
  static constexpr uword lanes = kernels::block_rows<T>;
  static constexpr T tie = 4096 * std::numeric_limits<T>::epsilon();

  /// Panels of `lanes` subspaces: entry (i, c) of subspace k is at [k / lanes][i][c][k % lanes].
  uword lane_at(uword k) const { return k / lanes * lanes * d_ * n_ + k % lanes; }
  /// The number of lanes in all panels.
  uword n_lanes() const { return (size() + lanes - 1) / lanes * lanes; }

  static kernels::BankSample<T> as_bank_sample(const Observation<T>& x) {
    if (2 * x.count() > x.n()) return {x.filled(), x.missing(), x.n() - x.count()};
    return {nullptr, x.rows(), x.count(), x.values()};
  }

  /// Keeps the fit of sample s to the panel that begins with the subspace `first`.
  void keep(const kernels::PanelFit<T>& fit, uword first, uword s, Scratch& scratch) const {
    T* r2 = scratch.samples_[s].r2.data() + first;
    const uword here = std::min(lanes, size() - first);
    std::copy(fit.r2, fit.r2 + lanes, r2);
    for (uword l = here; l < lanes; ++l) r2[l] = std::numeric_limits<T>::infinity();
    if (fit.sound && scratch.x(s).count() > d_) return;
    for (uword l = 0; l < here; ++l) {
      const uword k = first + l;
      if (scratch.x(s).count() <= dimensions_[k]) {
        r2[l] = std::numeric_limits<T>::quiet_NaN();
      } else if (!(fit.smallest_inverse[l] > T(kernels::worst_pivot) * fit.largest_inverse[l])) {
        const T residual = exact_residual(k, scratch, s);
        r2[l] = residual * residual;
      }
    }
  }

  std::vector<uword> dimensions_;
  std::vector<std::uint64_t> versions_;  // how often each was written
  uword n_ = 0, d_ = 0;                  // d is the largest dimension
  bool ragged_ = false;                  // some have fewer than d columns
  Aligned<T> panels_, absent_;           // absent: see kernels::BankPanel
};

}  // namespace gasg21
