// A start for K subspaces: the clusters that shape interaction finds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "gasg21/geometry/principal.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/union/options.hpp"
#include "gasg21/union/principal_coordinates.hpp"
#include "gasg21/union/refit.hpp"
#include "gasg21/union/representations.hpp"
#include "gasg21/union/screening.hpp"

namespace gasg21 {

namespace detail {

/// The samples, complete; without those outside the span of all clusters if `screened`.
inline arma::mat completed_samples(const arma::mat& X, const std::vector<uword>& dimensions,
                                   bool screened, std::uint64_t seed, const Parallel& parallel) {
  if (!screened && !X.has_nan()) return X;
  const Screening screening = fit_screening(X, dimensions, seed, parallel);
  const arma::mat complete = screening.complete(X, parallel);
  const std::vector<bool> kept =
      screened ? screening.keeps(X, parallel) : std::vector<bool>(X.n_cols, true);
  std::vector<uword> good;
  for (uword j = 0; j < X.n_cols; ++j)
    if (kept[j] && complete.col(j).is_finite()) good.push_back(j);
  return complete.cols(arma::conv_to<arma::uvec>::from(good));
}

}  // namespace detail

/// Bases, n x d_k, of the clusters of some samples, n x m; NaN = missing. Throws InvalidArgument if
/// the samples do not have the rank for it.
inline std::vector<arma::mat> spectral_start(const arma::mat& X,
                                             const std::vector<uword>& dimensions,
                                             const UnionOptions& options,
                                             const Parallel& parallel = Parallel()) {
  const uword K = dimensions.size();
  const uword largest = *std::max_element(dimensions.begin(), dimensions.end());
  const arma::mat complete = detail::completed_samples(
      X, dimensions, options.screens(dimensions, X.n_rows), options.seed, parallel);
  const auto demand_rank = [&](bool holds) {
    require(holds, "init='spectral' needs samples of a rank above n_components=", largest,
            " in each of n_clusters=", K, " clusters; use init='density'");
  };
  demand_rank(complete.n_cols > total_of(dimensions));
  const PrincipalCoordinates of_unit(unit_columns(rotated(complete)), dimensions, 0, parallel);
  demand_rank(of_unit.rank() > largest + 1);
  const arma::uvec labels =
      cut_cosines(of_unit.whitened<float>(of_unit.n_span(), 0), options.consensus.exponents.front(),
                  {dimensions, options.seed}, parallel);
  std::vector<arma::mat> members, bases;
  for (const arma::uvec& own : members_of(labels, K))
    members.push_back(unit_columns(arma::mat(complete.cols(own))));
  const arma::uvec order = match_dimensions(members, dimensions);
  for (uword k = 0; k < K; ++k) {
    demand_rank(members[order[k]].n_cols >= dimensions[k]);
    bases.push_back(principal_axes(members[order[k]], dimensions[k]));
  }
  return bases;
}

}  // namespace gasg21
