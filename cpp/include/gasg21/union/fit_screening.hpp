// Fits of the span of all clusters, and of the coordinates in which no direction of it dominates.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "gasg21/data/views.hpp"
#include "gasg21/inliers/null_bounds.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/median.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/union/complete_span.hpp"
#include "gasg21/union/fit_one_subspace.hpp"
#include "gasg21/union/principal_coordinates.hpp"
#include "gasg21/union/screening.hpp"
#include "gasg21/union/whitening.hpp"

namespace gasg21 {

/// Fits the overall subspace, of sum d_k dimensions, but at most half of those that the samples
/// span. Outliers are far from any span, so it need not be exact.
inline Screening fit_screening(const arma::mat& X, const std::vector<uword>& dimensions,
                               std::uint64_t seed, const Parallel& parallel = Parallel()) {
  constexpr uword passes = 4;
  const bool complete = !X.has_nan();
  const uword n = complete ? std::min(X.n_rows, X.n_cols) : X.n_rows;
  const uword d = std::max<uword>(1, std::min(total_of(dimensions), n / 2));
  if (!complete)
    return {fit_one_subspace(X, d, {Start::spherical_pca, 1e-6, passes, seed}, parallel)};
  return {{robust_span(unit_columns(X), d, seed, parallel), arma::datum::nan,
           near_bound(double(n), d)}};
}

/// Whether enough entries are observed to tell where a sample lies in the span of all clusters:
/// half of the samples have at least 1.5 sum d_k. With fewer, the coordinates of a whitened sample
/// are guesses.
inline bool may_whiten(const arma::mat& X, const std::vector<uword>& dimensions) {
  if (!X.has_nan()) return true;
  std::vector<double> counts;
  for (uword j = 0; j < X.n_cols; ++j)
    counts.push_back(
        double(detail::count_observed<double>(DenseSample<double>{X.colptr(j)}, X.n_rows)));
  return median(std::move(counts)) >= 1.5 * double(total_of(dimensions));
}

/// Fits a screening, and the whitening to the inliers of the samples; NaN = missing.
inline Whitening fit_whitening(const arma::mat& X, const std::vector<uword>& dimensions,
                               std::uint64_t seed, const Parallel& parallel = Parallel()) {
  const Screening screening = fit_screening(X, dimensions, seed, parallel);
  const std::vector<bool> kept = screening.keeps(X, parallel);
  const bool enough = uword(std::count(kept.begin(), kept.end(), true)) > total_of(dimensions);
  const arma::mat completed = screening.complete(X, parallel);
  std::vector<uword> good;
  for (uword j = 0; j < X.n_cols; ++j)
    if ((kept[j] || !enough) && completed.col(j).is_finite()) good.push_back(j);
  require(!good.empty(), "whiten=True needs samples whose missing entries can be filled in");
  const arma::mat X_good = completed.cols(arma::conv_to<arma::uvec>::from(good));
  return whitening_of(X_good, PrincipalCoordinates(X_good, dimensions, 0, parallel), dimensions,
                      screening, parallel);
}

}  // namespace gasg21
