// A subspace with all that its fits say about the inliers: principal axes, decision,
// distances, and what to expect of missing entries.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "gasg21/data/lift.hpp"
#include "gasg21/inliers/axes.hpp"
#include "gasg21/inliers/decision.hpp"
#include "gasg21/inliers/distances.hpp"
#include "gasg21/inliers/evidence.hpp"
#include "gasg21/inliers/fitted.hpp"
#include "gasg21/inliers/weight_prior.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/median.hpp"

namespace gasg21 {

/// How a subspace was fitted, as far as it matters for its inliers.
struct FitKind {
  double exact = 0;       // samples with a smaller residual lie in the subspace
  bool in_sample = true;  // the fits are of samples that the subspace was fitted to
  bool rotate = true;     // false = keep a linear basis as it is, as the paper's algorithm does
};

template <class T>
class Subspace {
 public:
  /// U is n x d, orthonormal; of the lifted samples if there is a lift.
  Subspace(arma::Mat<T> U, std::shared_ptr<const Lift<T>> lift, const Evidence& evidence,
           const FitKind& kind)
      : U_(std::move(U)),
        lift_(std::move(lift)),
        in_sample_(kind.in_sample),
        unit_(unit_of(evidence.fits)),
        prior_(evidence.prior.C.empty() ? learn_prior(evidence.fits) : evidence.prior),
        range_(evidence.range) {
    const Fitted scaled = in_own_units(evidence.fits);
    decision_ = decide(scaled, kind.exact);
    const arma::mat map = to_subspace(U_, lift_.get());
    distances_ = learn_distances(scaled, decision_, lift_ ? map : arma::mat());
    if (distances_.n_inliers > 0) {
      axes_ = principal_axes(U_, lift_.get(), arma::vec(distances_.centre * unit_),
                             distances_.covariance);
      axes_.explained_variance *= unit_ * unit_;
    } else {
      axes_ = principal_axes(U_, lift_.get(), arma::vec(map.n_cols, arma::fill::zeros),
                             arma::mat(map.n_cols, map.n_cols, arma::fill::eye));
      axes_.explained_variance.fill(arma::datum::nan);
    }
    if (!kind.rotate && !lift_) keep_basis();
  }

  const arma::Mat<T>& basis() const { return U_; }
  const std::shared_ptr<const Lift<T>>& lift() const { return lift_; }
  const PrincipalAxes<T>& axes() const { return axes_; }
  /// Of one entry of an inlier; NaN if there are no inliers.
  double noise_variance() const {
    return distances_.n_inliers > 0 ? distances_.noise_variance * unit_ * unit_ : arma::datum::nan;
  }
  const Decision& decision() const { return decision_; }

  /// For completion.
  const WeightPrior& prior() const { return prior_; }
  const EntryRange& range() const { return range_; }

  /// Below 0 for outliers, NaN for samples that tell nothing.
  arma::vec margins(const Fitted& fits) const {
    return decision_.margins(in_own_units(fits), in_sample_);
  }

  /// Ranks samples, below 0 for outliers: by the margins or, for an affine subspace, by both
  /// distances.
  arma::vec decision_function(const Fitted& fits) const {
    arma::vec result = margins(fits);
    if (!lift_) return result;
    const arma::mat pairs = distances(fits);
    for (uword j = 0; j < result.n_elem; ++j) {
      const double a = pairs(0, j), b = pairs(1, j);
      result[j] = 1 / (1 + (a * a + b * b) / 2) - (result[j] < 0);
    }
    return result;
  }

  /// 2 x m: the distance of each sample from the centre of the inliers within the subspace, and
  /// from the subspace, both about 1 for inliers.
  arma::mat distances(const Fitted& fits) const { return distances_.pairs(in_own_units(fits)); }

 private:
  /// A power of two near the typical length of a sample: with it no square overflows.
  static double unit_of(const Fitted& fits) {
    std::vector<double> norms;
    for (uword j = 0; j < fits.size(); ++j)
      if (tells(fits, j)) norms.push_back(fits.norm[j]);
    const double typical = norms.empty() ? 1 : median(std::move(norms));
    return std::isfinite(typical) ? std::ldexp(1.0, std::ilogb(typical)) : 1;
  }

  /// Lengths in these units, within bounds whose squares are finite.
  Fitted in_own_units(Fitted fits) const {
    for (double& norm : fits.norm)
      if (norm > 0) norm = std::clamp(norm / unit_, 1e-100, 1e100);
    return fits;
  }

  /// Keeps the basis, with the variances along its columns.
  void keep_basis() {
    axes_.components = U_;
    if (distances_.n_inliers > 0)
      axes_.explained_variance = arma::vec(distances_.covariance.diag()) * (unit_ * unit_);
  }

  arma::Mat<T> U_;
  std::shared_ptr<const Lift<T>> lift_;
  bool in_sample_;
  double unit_;  // of lengths
  WeightPrior prior_;
  EntryRange range_;
  PrincipalAxes<T> axes_;
  Decision decision_;
  Distances distances_;
};

}  // namespace gasg21
