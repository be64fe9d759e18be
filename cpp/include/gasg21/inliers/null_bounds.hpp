// The residuals below which a sample is nearer to a subspace than a random direction, for one
// subspace or the nearest of several.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/special_functions.hpp"

namespace gasg21 {

/// The residual that a random direction stays below with the probability `level`. For N observed
/// entries its squared residual follows the Beta((N - d) / 2, d / 2) law.  Pre: N > d >= 1.
inline double null_residual(double N, double d, double level) {
  return std::sqrt(beta_quantile(level, (N - d) / 2, d / 2));
}

/// The level for each of K subspaces at which a random direction is near to any of them with the
/// probability `level` (Sidak 1967).
inline double level_of_each(double level, uword n_subspaces) {
  if (n_subspaces <= 1) return level;
  return -std::expm1(std::log1p(-level) / double(n_subspaces));
}

/// The residual up to which a sample of N observed entries is near to a subspace of d dimensions,
/// one of K; 0 if any sample of so few entries would be. One random direction in a thousand is near
/// to any of the K. In a space of few dimensions that leaves only a thin layer around the
/// subspaces; there residuals up to 0.1 are near, too, if at most one random direction in twenty
/// has them.
inline double near_bound(double N, uword d, uword n_subspaces = 1) {
  constexpr double missed = 1e-3, missed_at_most = 0.05, small = 0.1;
  if (!(N > double(d))) return 0;
  // Means of counts may lie between d and d + 1, where the law is a pole at 0.
  const auto residual = [N = std::max(N, double(d) + 1), d, n_subspaces](double level) {
    return null_residual(N, double(d), level_of_each(level, n_subspaces));
  };
  const double strict = residual(missed);
  return strict >= small ? strict : std::max(strict, std::min(residual(missed_at_most), small));
}

/// `near_bound` for subspaces of given dimensions, computed when a count first appears. Not for
/// several threads at once.
class NearBounds {
 public:
  explicit NearBounds(std::vector<uword> dimensions) : dimensions_(std::move(dimensions)) {}

  uword n_subspaces() const { return dimensions_.size(); }

  /// For `count` observed entries and subspace k.
  double at(uword count, uword k) {
    std::vector<double>& by_count = by_dimension(dimensions_[k]);
    if (by_count.size() <= count) by_count.resize(count + 1, unknown);
    double& bound = by_count[count];
    if (bound == unknown) bound = near_bound(double(count), dimensions_[k], n_subspaces());
    return bound;
  }

  /// Whether a sample is nearer to subspace k than a random direction to any. A residual of NaN is
  /// not, nor is one of no subspace: k >= n_subspaces().
  bool is_near(double residual, uword count, uword k) {
    return k < n_subspaces() && residual <= at(count, k);
  }

 private:
  static constexpr double unknown = -1;

  std::vector<double>& by_dimension(uword d) {
    if (bounds_.size() <= d) bounds_.resize(d + 1);
    return bounds_[d];
  }

  std::vector<uword> dimensions_;
  std::vector<std::vector<double>> bounds_;  // by dimension, then by count
};

}  // namespace gasg21
