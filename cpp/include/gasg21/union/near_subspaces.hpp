// Which samples are near to which subspaces: nearer than a random direction to any of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "gasg21/data/observation.hpp"
#include "gasg21/fit/assign.hpp"
#include "gasg21/fit/subspace_bank.hpp"
#include "gasg21/inliers/null_bounds.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/parallel.hpp"

namespace gasg21 {

/// The dimensions of some bases, n x d_k.
template <class T>
std::vector<uword> dimensions_of(const std::vector<arma::Mat<T>>& bases) {
  std::vector<uword> dimensions;
  for (const auto& U : bases) dimensions.push_back(U.n_cols);
  return dimensions;
}

/// The number of observed entries of each sample; 0 for one with an infinite entry.
template <class T, class Data>
arma::uvec n_observed(const Data& data) {
  arma::uvec counts(data.n_cols);
  Observation<T> x(data.n_rows);
  for (uword j = 0; j < data.n_cols; ++j)
    counts[j] = x.read(data.sample(j)) == Usable::not_finite ? 0 : x.count();
  return counts;
}

/// Samples beside K subspaces.
struct NearSubspaces {
  arma::mat residuals;  // K x m, of the unit-norm samples; NaN = undetermined
  arma::umat near;      // K x m: 1 = near; 0 for a sample of zeros

  bool is_near_any(uword j) const { return arma::any(near.col(j)); }
  uword n_near(uword j) const { return arma::accu(near.col(j)); }
  /// The subspace with the least residual.  Pre: none is NaN.
  uword nearest(uword j) const { return residuals.col(j).index_min(); }
  bool is_known(uword j) const { return !residuals.col(j).has_nan(); }
};

/// The residuals to about 1e-6, and what they decide.
template <class T, class Data>
NearSubspaces near_subspaces(const std::vector<arma::Mat<T>>& bases, const Data& data,
                             const Parallel& parallel = Parallel()) {
  const uword K = bases.size();
  NearSubspaces found{arma::mat(K, data.n_cols), arma::umat(K, data.n_cols, arma::fill::zeros)};
  arma::uvec counts(data.n_cols, arma::fill::zeros);
  for_all_fitted(SubspaceBank<T>(bases), data, parallel, [&](uword j, auto& scratch, uword s) {
    const Usable usable = scratch.usable(s);
    if (usable != Usable::yes) {
      found.residuals.col(j).fill(usable == Usable::zero ? 0.0 : arma::datum::nan);
      return;
    }
    counts[j] = scratch.x(s).count();
    for (uword k = 0; k < K; ++k)
      found.residuals(k, j) = std::sqrt(std::clamp(double(scratch.r2(s)[k]), 0.0, 1.0));
  });
  NearBounds bounds(dimensions_of(bases));
  for (uword j = 0; j < data.n_cols; ++j)
    for (uword k = 0; k < K && counts[j] > 0; ++k)
      found.near(k, j) = bounds.is_near(found.residuals(k, j), counts[j], k);
  return found;
}

/// Whether each sample is near to the subspace that it is assigned to.
template <class T, class Data>
std::vector<bool> near_own(const std::vector<arma::Mat<T>>& bases, const Assignment<T>& assigned,
                           const Data& data) {
  const arma::uvec counts = n_observed<T>(data);
  NearBounds bounds(dimensions_of(bases));
  std::vector<bool> near(data.n_cols);
  for (uword j = 0; j < data.n_cols; ++j)
    near[j] = bounds.is_near(double(assigned.residuals[j]), counts[j], assigned.labels[j]);
  return near;
}

}  // namespace gasg21
