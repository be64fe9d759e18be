// The dimension of each cluster of a fit, from its members.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "gasg21/data/dense_samples.hpp"
#include "gasg21/fit/assign.hpp"
#include "gasg21/fit/subspace_bank.hpp"
#include "gasg21/geometry/lanczos.hpp"
#include "gasg21/geometry/large_products.hpp"
#include "gasg21/recovery/sampling.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/median.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/union/near_subspaces.hpp"
#include "gasg21/union/one_subspace.hpp"
#include "gasg21/union/principal_coordinates.hpp"

namespace gasg21 {

namespace detail {

inline constexpr double rounding_level = 1e-6;  // residuals and singular values at this level

/// Where the singular values of complete samples fall most, if they do; else `otherwise`.
inline uword dimension_at_fall(const arma::mat& X, uword otherwise) {
  constexpr double least_fall = 1.5;  // from one value to the next
  constexpr uword most = 10;          // dimensions that are tried
  arma::mat A = X;
  A.replace(arma::datum::nan, 0.0);  // samples that are not determined
  scale_to_unit_columns(A);
  const arma::mat G = A.n_cols <= A.n_rows ? gram(A) : outer_gram(A);
  const uword count = std::min(most + 1, G.n_rows);
  arma::vec s = arma::sqrt(arma::clamp(leading_eigen(G, count).values, 0, arma::datum::inf));
  s += rounding_level * std::sqrt(double(X.n_cols));
  uword best = 0;
  double largest = 0;
  for (uword c = 0; c + 1 < s.n_elem; ++c)
    if (s[c] / s[c + 1] > largest) largest = s[c] / s[c + 1], best = c + 1;
  return largest >= least_fall ? best : otherwise;
}

/// The members with residuals up to a multiple of the median: they decide about the dimension.
inline std::vector<uword> typical_members(const std::vector<uword>& members,
                                          const arma::vec& residuals) {
  constexpr double typical = 3;
  std::vector<double> own;
  for (const uword j : members) own.push_back(residuals[j]);
  const double bound = typical * median(std::move(own)) + rounding_level;
  std::vector<uword> kept;
  for (const uword j : members)
    if (residuals[j] <= bound) kept.push_back(j);
  return kept;
}

}  // namespace detail

/// The dimension of each cluster: where the singular values of its typical members fall most.
template <class T, class Data>
std::vector<uword> cluster_dimensions(const std::vector<arma::Mat<T>>& bases, const Data& data,
                                      std::uint64_t seed, const Parallel& parallel = Parallel()) {
  constexpr uword examined = 3000;  // members of each cluster
  const Assignment<T> assigned = assign(SubspaceBank<T>(bases), data, parallel);
  const std::vector<bool> near = near_own(bases, assigned, data);
  const arma::vec residuals = arma::conv_to<arma::vec>::from(assigned.residuals);
  std::vector<std::vector<uword>> members(bases.size());
  for (uword j = 0; j < data.n_cols; ++j)
    if (near[j]) members[assigned.labels[j]].push_back(j);
  std::vector<uword> dimensions = dimensions_of(bases);
  for (uword k = 0; k < bases.size(); ++k) {
    const auto own = detail::typical_members(members[k], residuals);
    if (own.size() <= dimensions[k] + 1) continue;
    std::vector<uword> columns;
    for (const uword i : random_columns(own.size(), examined, seed)) columns.push_back(own[i]);
    arma::mat X = dense_samples(data, columns);
    OneSubspace{arma::conv_to<arma::mat>::from(bases[k]), 0, 0}.complete(X, parallel);
    dimensions[k] = detail::dimension_at_fall(X, dimensions[k]);
  }
  return dimensions;
}

}  // namespace gasg21
