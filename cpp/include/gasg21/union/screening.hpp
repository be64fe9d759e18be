// Which samples take part in the search for clusters: not those outside the span of all of them,
// nor those without neighbours.
#pragma once

#include <numeric>
#include <vector>

#include "gasg21/support/config.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/union/one_subspace.hpp"

namespace gasg21 {

/// The sum of the dimensions: what the clusters span together, if they are independent.
inline uword total_of(const std::vector<uword>& dimensions) {
  return std::accumulate(dimensions.begin(), dimensions.end(), uword(0));
}

/// A subspace that holds all clusters. It shows outliers, and fills in missing entries.
struct Screening {
  OneSubspace overall;

  /// Whether all clusters together span so little that a random direction is far from them.
  static bool applies(const std::vector<uword>& dimensions, uword n) {
    return 2 * total_of(dimensions) <= n;
  }

  /// Whether each sample lies near the span of all clusters.
  std::vector<bool> keeps(const arma::mat& X, const Parallel& parallel = Parallel()) const {
    std::vector<bool> kept = overall.is_outlier(X, parallel);
    kept.flip();
    return kept;
  }

  /// The samples with their missing entries filled in; NaN where they are not determined.
  arma::mat complete(arma::mat X, const Parallel& parallel = Parallel()) const {
    overall.complete(X, parallel);
    return X;
  }
};

/// The samples near the span of all clusters, complete, without those that are not determined.
inline arma::mat inside(const arma::mat& X, const Screening& screening,
                        const Parallel& parallel = Parallel()) {
  const std::vector<bool> kept = screening.keeps(X, parallel);
  const arma::mat complete = screening.complete(X, parallel);
  std::vector<uword> columns;
  for (uword j = 0; j < X.n_cols; ++j)
    if (kept[j] && complete.col(j).is_finite()) columns.push_back(j);
  return complete.cols(arma::conv_to<arma::uvec>::from(columns));
}

}  // namespace gasg21
