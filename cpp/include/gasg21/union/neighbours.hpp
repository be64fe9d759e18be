// Samples far from their neighbours: they belong to no cluster.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "gasg21/geometry/large_products.hpp"
#include "gasg21/geometry/symmetric_eigen.hpp"
#include "gasg21/inliers/residual_split.hpp"
#include "gasg21/kernels/plain.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/union/principal_coordinates.hpp"
#include "gasg21/union/screening.hpp"

namespace gasg21 {

namespace detail {

/// The numbers of the `count` entries with the largest absolute values, but for entry `self`.
inline std::vector<uword> most_similar(const arma::vec& cosines, uword self, uword count) {
  std::vector<uword> order(cosines.n_elem);
  std::iota(order.begin(), order.end(), uword(0));
  order.erase(order.begin() + std::ptrdiff_t(self));
  const auto nearer = [&](uword a, uword b) {
    const double x = std::abs(cosines[a]), y = std::abs(cosines[b]);
    return x != y ? x > y : a < b;
  };
  std::nth_element(order.begin(), order.begin() + std::ptrdiff_t(count) - 1, order.end(), nearer);
  order.resize(count);
  return order;
}

/// The squared length of a unit sample in the d-dimensional principal subspace of some others, from
/// their cosines: G among them, c with the sample.
inline double explained_by(const arma::mat& G, const arma::vec& c, uword d) {
  const SymmetricEigen<double> eigen = symmetric_eigen(G);
  double explained = 0;
  for (uword a = 0; a < std::min(d, eigen.values.n_elem); ++a) {
    if (!(eigen.values[a] > 1e-12 * eigen.values[0])) break;
    const double along = kernels::dot(eigen.vectors.colptr(a), c.memptr(), c.n_elem);
    explained += along * along / eigen.values[a];
  }
  return explained;
}

/// The residuals of unit samples in the d-dimensional subspaces of their 2 d nearest neighbours.
/// `points` says which are near: unit columns, too.
inline arma::vec residuals_among_neighbours(const arma::mat& unit_samples, const arma::mat& points,
                                            uword d, const Parallel& parallel) {
  const uword m = unit_samples.n_cols, count = std::min(2 * d, m - 1);
  const arma::mat closeness = gram(points, parallel), cosines = gram(unit_samples, parallel);
  arma::vec residuals(m);
  parallel.for_all(
      m, [&] { return arma::mat(count, count); },
      [&](uword j, arma::mat& G) {
        const auto own = most_similar(closeness.col(j), j, count);
        arma::vec c(count);
        for (uword a = 0; a < count; ++a) {
          c[a] = cosines(own[a], j);
          for (uword b = 0; b < count; ++b) G(b, a) = cosines(own[b], own[a]);
        }
        residuals[j] = std::sqrt(std::max(0.0, 1 - explained_by(G, c, d)));
      });
  return residuals;
}

}  // namespace detail

/// Whether each of these complete samples is as close to its neighbours as most of them are.
///
/// A member of a cluster lies near the subspace of the 2 d samples that point in the most similar
/// directions. A sample far from that subspace belongs to no cluster, even if it lies in the span
/// of all. `of_unit` are the principal coordinates of the samples at unit length.
inline std::vector<bool> has_neighbours(const arma::mat& X, const PrincipalCoordinates& of_unit,
                                        const std::vector<uword>& dimensions,
                                        const Parallel& parallel = Parallel()) {
  constexpr double small = 0.1;  // a relative residual of a sample on a subspace
  const uword d = *std::max_element(dimensions.begin(), dimensions.end()), m = X.n_cols;
  const uword n_points = std::min(std::max(d + 1, total_of(dimensions)), of_unit.rank());
  const arma::vec relative = detail::residuals_among_neighbours(
      unit_columns(X), of_unit.whitened<double>(n_points, 0), d, parallel);
  arma::vec absolute(m);
  for (uword j = 0; j < m; ++j)
    absolute[j] = relative[j] * std::sqrt(kernels::dot(X.colptr(j), X.colptr(j), X.n_rows));
  const ResidualSplit split = split_residuals(absolute);
  std::vector<bool> kept(m);
  for (uword j = 0; j < m; ++j) kept[j] = !(split.is_above(absolute[j]) && relative[j] > small);
  return kept;
}

}  // namespace gasg21
