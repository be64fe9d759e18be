// Clusters beside each other: how far two labellings agree, and which cluster gets which dimension.
#pragma once

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"

namespace gasg21 {

namespace detail {

inline double pairs_among(double count) { return count * (count - 1) / 2; }

inline double pairs_within(const std::vector<double>& counts) {
  return std::accumulate(counts.begin(), counts.end(), 0.0,
                         [](double sum, double count) { return sum + pairs_among(count); });
}

}  // namespace detail

/// The adjusted Rand index of two labellings of the same samples: 1 if they are the same up to the
/// names of the clusters, near 0 by chance. Hubert and Arabie, Comparing partitions, Journal of
/// Classification 2 (1985).
inline double agreement_of(const arma::uvec& a, const arma::uvec& b) {
  require(a.n_elem == b.n_elem, "the labellings have ", a.n_elem, " and ", b.n_elem, " samples");
  if (a.empty()) return 1;
  const uword n_left = a.max() + 1, n_right = b.max() + 1;
  std::vector<double> counts(n_left * n_right), left(n_left), right(n_right);
  for (uword j = 0; j < a.n_elem; ++j) {
    ++counts[a[j] * n_right + b[j]];
    ++left[a[j]];
    ++right[b[j]];
  }
  const double shared = detail::pairs_within(counts);
  const double in_left = detail::pairs_within(left), in_right = detail::pairs_within(right);
  const double all = std::max(detail::pairs_among(double(a.n_elem)), 1.0);
  const double expected = in_left * in_right / all, most = (in_left + in_right) / 2;
  return most > expected ? (shared - expected) / (most - expected) : 1;
}

/// The column of each row such that the sum of the costs is least and no column is taken twice, by
/// shortest augmenting paths (Jonker and Volgenant 1987). O(K^3).  Pre: the costs are finite.
inline arma::uvec cheapest_assignment(const arma::mat& costs) {
  const uword K = costs.n_rows, none = K;
  require(costs.n_cols == K, "an assignment needs as many columns as rows, not ", costs.n_cols,
          " and ", K);
  require(costs.is_finite(), "the costs of an assignment must be finite");
  std::vector<double> row_price(K), column_price(K);
  std::vector<uword> row_of(K, none);  // of each column
  for (uword free_row = 0; free_row < K; ++free_row) {
    std::vector<double> distance(K, std::numeric_limits<double>::infinity());
    std::vector<uword> before(K, none);  // the column before on the path, or none
    std::vector<bool> done(K, false);
    uword row = free_row, column = none;
    double length = 0;  // of the path so far
    do {
      uword next = none;
      for (uword c = 0; c < K; ++c) {
        if (done[c]) continue;
        const double through = length + costs(row, c) - row_price[row] - column_price[c];
        if (through < distance[c]) {
          distance[c] = through;
          before[c] = column;
        }
        if (next == none || distance[c] < distance[next]) next = c;
      }
      column = next;
      length = distance[column];
      done[column] = true;
      row = row_of[column];
    } while (row != none);
    row_price[free_row] += length;
    for (uword c = 0; c < K; ++c) {
      if (!done[c] || c == column) continue;
      row_price[row_of[c]] += length - distance[c];
      column_price[c] -= length - distance[c];
    }
    for (uword c = column; c != none; c = before[c])
      row_of[c] = before[c] == none ? free_row : row_of[before[c]];
  }
  arma::uvec column_of(K);
  for (uword c = 0; c < K; ++c) column_of[row_of[c]] = c;
  return column_of;
}

/// The cluster that gets each dimension: the larger ones go where they help most. `spectra` holds
/// the squared singular values of the unit-norm members of each cluster, falling.
inline arma::uvec match_dimensions(const std::vector<arma::vec>& spectra,
                                   const std::vector<uword>& dimensions) {
  require(spectra.size() == dimensions.size(), "there are ", spectra.size(), " clusters for ",
          dimensions.size(), " dimensions");
  const uword K = dimensions.size();
  arma::mat left_over(K, K, arma::fill::zeros);
  for (uword i = 0; i < K; ++i)
    for (uword k = 0; k < K; ++k)
      for (uword c = dimensions[i]; c < spectra[k].n_elem; ++c)
        left_over(i, k) += std::max(spectra[k][c], 0.0);
  return cheapest_assignment(left_over);
}

}  // namespace gasg21
