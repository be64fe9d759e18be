// Several labellings of the same samples joined: how likely two samples belong together.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "gasg21/fit/assign.hpp"
#include "gasg21/fit/subspace_bank.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/median.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/union/spectral.hpp"

namespace gasg21 {

/// The residuals of all samples in K subspaces, K x m; NaN where they are not determined.
template <class T, class Data>
arma::fmat residuals_to(const std::vector<arma::Mat<T>>& bases, const Data& data,
                        const Parallel& parallel) {
  const SubspaceBank<T> bank(bases);
  arma::fmat residuals(bases.size(), data.n_cols);
  for_all_fitted(bank, data, parallel, [&](uword j, const auto& scratch, uword s) {
    for (uword k = 0; k < bases.size(); ++k)
      residuals(k, j) = scratch.usable(s) == Usable::yes
                            ? float(std::sqrt(std::max(scratch.r2(s)[k], T(0))))
                            : arma::Datum<float>::nan;
  });
  return residuals;
}

/// The residual in the nearest subspace of each sample.
inline std::vector<double> nearest_residuals(const arma::fmat& residuals) {
  std::vector<double> nearest(residuals.n_cols);
  for (uword j = 0; j < residuals.n_cols; ++j) {
    float least = std::numeric_limits<float>::quiet_NaN();
    for (uword k = 0; k < residuals.n_rows; ++k) least = std::fmin(least, residuals(k, j));
    nearest[j] = double(least);
  }
  return nearest;
}

/// The weights of runs by the sums of their residuals: a run whose sum is 5 % above the least
/// counts 1/e, because it has missed something.
inline std::vector<double> run_weights(const std::vector<double>& costs) {
  constexpr double worse = 0.05;
  const double least =
      std::max(*std::min_element(costs.begin(), costs.end()), std::numeric_limits<double>::min());
  std::vector<double> weights;
  for (const double cost : costs) weights.push_back(std::exp(-(cost / least - 1) / worse));
  return weights;
}

/// Factors below each other: the sum of their affinities.
inline Factored stacked(const std::vector<arma::mat>& parts) {
  uword rows = 0;
  for (const auto& part : parts) rows += part.n_rows;
  Factored all{arma::mat(rows, parts.at(0).n_cols)};
  uword first = 0;
  for (const auto& part : parts) {
    all.factor.rows(first, first + part.n_rows - 1) = part;
    first += part.n_rows;
  }
  return all;
}

/// The affinity of samples by their residuals in the subspaces of several runs: the weighted sum
/// over the runs of how likely both belong to the same subspace.
class CoAssociation {
 public:
  /// The factor has `n_rows` rows for each run.
  void add(const arma::fmat& residuals, double weight) {
    const std::vector<double> nearest = nearest_residuals(residuals);
    const double scale = std::max(median(nearest), double(std::numeric_limits<float>::min()));
    arma::mat belongs(residuals.n_rows, residuals.n_cols);
    for (uword j = 0; j < residuals.n_cols; ++j) {
      double sum = 0;
      for (uword k = 0; k < residuals.n_rows; ++k) {
        const double share = std::exp(-(double(residuals(k, j)) - nearest[j]) / scale);
        belongs(k, j) = std::isnan(share) ? 0.0 : share;
        sum += belongs(k, j);
      }
      belongs.col(j) *= std::sqrt(weight) / std::max(sum, 1e-30);
    }
    parts_.push_back(std::move(belongs));
  }

  Factored affinity() const { return stacked(parts_); }

 private:
  std::vector<arma::mat> parts_;
};

}  // namespace gasg21
