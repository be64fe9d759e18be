// The selection of K candidates with a small sum of distances. Alg. 3, step 2, Eq. (13).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "gasg21/seeding/candidates.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/parallel.hpp"

namespace gasg21 {

namespace detail {

/// The sum of distances with one more candidate; `nearest` holds the distances without it. Eight
/// sums side by side: the additions of a single one would wait for each other.
template <class T>
double cost_with(const arma::Col<T>& nearest, const arma::Col<T>& candidate) {
  constexpr uword at_once = 8;
  const T *a = nearest.memptr(), *b = candidate.memptr();
  const uword m = nearest.n_elem;
  double sums[at_once] = {};
  uword j = 0;
  for (; j + at_once <= m; j += at_once)
    for (uword l = 0; l < at_once; ++l)
      sums[l] += double(b[j + l] < a[j + l] ? b[j + l] : a[j + l]);
  for (; j < m; ++j) sums[0] += double(std::min(a[j], b[j]));
  return std::accumulate(sums, sums + at_once, 0.0);
}

/// The candidate of dimension d that lowers the cost most, and the cost with it; ties go to the
/// first.
template <class T>
std::pair<uword, double> best_addition(const Candidates<T>& candidates, const arma::Col<T>& nearest,
                                       uword d, const Parallel& parallel) {
  const uword Q = candidates.bases.size();
  arma::vec cost(Q);
  parallel.for_work(double(Q) * double(nearest.n_elem))
      .for_all(
          Q, [] { return 0; },
          [&](uword q, int&) {
            cost[q] = candidates.bases[q].n_cols == d ? cost_with(nearest, candidates.residuals[q])
                                                      : std::numeric_limits<double>::infinity();
          });
  const uword best = cost.index_min();
  return {best, cost[best]};
}

/// By how much each candidate can lower the cost, at most. As the selection grows, no candidate
/// gains, so most need no second look (Minoux 1978).
template <class T>
class Gains {
 public:
  /// `nearest` holds the distances to the empty selection.
  Gains(const Candidates<T>& candidates, const arma::Col<T>& nearest, const Parallel& parallel)
      : candidates_(candidates), most_(candidates.bases.size()) {
    const double now = cost_with(nearest, nearest);
    parallel.for_work(double(most_.size()) * double(nearest.n_elem))
        .for_all(
            most_.size(), [] { return 0; },
            [&](uword q, int&) { most_[q] = now - cost_with(nearest, candidates_.residuals[q]); });
  }

  /// The candidate of dimension d that lowers the cost most; ties go to the first.
  uword best(const arma::Col<T>& nearest, uword d) {
    std::vector<uword> order;
    for (uword q = 0; q < most_.size(); ++q)
      if (candidates_.bases[q].n_cols == d) order.push_back(q);
    require(!order.empty(), "there is no candidate of dimension ", d);
    std::sort(order.begin(), order.end(), [&](uword a, uword b) { return most_[a] > most_[b]; });
    const double now = cost_with(nearest, nearest);
    const double rounding = 1e-9 * double(nearest.n_elem);
    std::pair<double, uword> least{std::numeric_limits<double>::infinity(), 0};
    for (const uword q : order) {
      if (now - most_[q] - rounding > least.first) break;
      const double cost = cost_with(nearest, candidates_.residuals[q]);
      most_[q] = now - cost;
      least = std::min(least, {cost, q});
    }
    return least.second;
  }

 private:
  const Candidates<T>& candidates_;
  std::vector<double> most_;
};

}  // namespace detail

/// Selects one candidate for each dimension, greedily, so that the sum of the distances to the
/// nearest is small (Zhang et al. 2012). Small dimensions come first, because a large subspace
/// could contain a small cluster together with others.
template <class T>
std::vector<uword> greedy_select(const Candidates<T>& candidates,
                                 const std::vector<uword>& dimensions, const Parallel& parallel) {
  require(!candidates.bases.empty(), "there are no candidates");
  std::vector<uword> order(dimensions.size()), chosen(dimensions.size());
  std::iota(order.begin(), order.end(), uword(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](uword a, uword b) { return dimensions[a] < dimensions[b]; });
  arma::Col<T> nearest(candidates.residuals[0].n_elem, arma::fill::ones);
  detail::Gains<T> gains(candidates, nearest, parallel);
  for (const uword k : order) {
    chosen[k] = gains.best(nearest, dimensions[k]);
    nearest = arma::min(nearest, candidates.residuals[chosen[k]]);
  }
  return chosen;
}

/// The sum of the distances to the nearest selected candidate.
template <class T>
double selection_cost(const Candidates<T>& candidates, const std::vector<uword>& chosen) {
  arma::Col<T> nearest(candidates.residuals.at(0).n_elem, arma::fill::ones);
  for (const uword q : chosen) nearest = arma::min(nearest, candidates.residuals[q]);
  return double(arma::accu(nearest));
}

/// Exchanges selected candidates for better ones, one at a time, for at most `sweeps` rounds.
/// Returns the number of exchanges.
template <class T>
uword swap_select(const Candidates<T>& candidates, std::vector<uword>& chosen, int sweeps,
                  const Parallel& parallel) {
  uword exchanged = 0;
  const uword m = candidates.residuals.at(0).n_elem;
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    const uword before = exchanged;
    for (uword k = 0; k < chosen.size(); ++k) {
      arma::Col<T> others(m, arma::fill::ones);
      for (uword i = 0; i < chosen.size(); ++i)
        if (i != k) others = arma::min(others, candidates.residuals[chosen[i]]);
      const double now = detail::cost_with(others, candidates.residuals[chosen[k]]);
      const auto [q, cost] =
          detail::best_addition(candidates, others, candidates.bases[chosen[k]].n_cols, parallel);
      if (!(cost < now - 1e-9 * double(m))) continue;
      chosen[k] = q;
      ++exchanged;
    }
    if (exchanged == before) break;
  }
  return exchanged;
}

}  // namespace gasg21
