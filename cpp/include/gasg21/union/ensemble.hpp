// An explicit ensemble: several runs joined into one. Samples that most runs put together belong
// together.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "gasg21/recovery/report.hpp"
#include "gasg21/seeding/seed_samples.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/support/random.hpp"
#include "gasg21/union/co_association.hpp"
#include "gasg21/union/spectral.hpp"
#include "gasg21/union/voters.hpp"

namespace gasg21 {

/// Runs joined by their co-associations.
template <class T>
struct JoinedRuns {
  std::vector<arma::Mat<T>> best;  // the subspaces of the best run
  arma::uvec joined;               // the samples that were joined, at most 5000; may be empty
  arma::uvec labels;               // of these
  Counters counters;               // of the best run
};

namespace detail {

inline constexpr uword most_joined = 5000;
inline constexpr uword starts_of_join = 15;  // of k-means

/// Draws some of the samples that are near to the best run and determined.
inline arma::uvec some_to_join(const std::vector<bool>& near, const arma::fmat& residuals,
                               std::uint64_t seed) {
  std::vector<uword> good;
  for (uword j = 0; j < near.size(); ++j)
    if (near[j] && residuals.col(j).is_finite()) good.push_back(j);
  Random random(seed);
  const arma::uvec all(good);
  return all.empty() ? all : arma::uvec(all(some_columns(all.n_elem, most_joined, random)));
}

}  // namespace detail

/// Runs a plan several times on the data itself, which may have gaps, and joins the better half.
/// `is_near(bases)` returns which samples lie near one of the subspaces; the others are not joined.
/// Each cluster of the result is to be fitted anew.
template <class Stream, class Data, class Rule, class Metric, class IsNear>
JoinedRuns<typename Stream::value_type> join_runs(const Data& data,
                                                  const std::vector<uword>& dimensions,
                                                  const Rule& rule, const Metric& metric,
                                                  const UnionRunOptions& plan, uword n_runs,
                                                  const IsNear& is_near, const Parallel& parallel) {
  RaceOptions options;
  options.n_runs = n_runs;
  options.passes = std::min(options.passes, plan.max_passes);
  auto race = start_voters<Stream>(data, dimensions, rule, metric, plan, options, parallel);
  race.finish(data, parallel);
  std::vector<arma::fmat> residuals;
  std::vector<double> costs;
  for (uword i = 0; i < race.size(); ++i) {
    residuals.push_back(residuals_to(race.stream(i).bases(), data, parallel));
    double cost = 0;
    for (const double r : nearest_residuals(residuals.back()))
      if (!std::isnan(r)) cost += r;
    costs.push_back(cost);
  }
  const uword best = uword(std::min_element(costs.begin(), costs.end()) - costs.begin());
  JoinedRuns<typename Stream::value_type> result{
      race.stream(best).bases(), {}, {}, race.stream(best).counters()};
  const arma::uvec some = detail::some_to_join(is_near(result.best), residuals[best], plan.seed);
  if (some.n_elem <= 2 * dimensions.size()) return result;
  const std::vector<double> weights = run_weights(costs);
  CoAssociation together;
  for (uword i = 0; i < residuals.size(); ++i)
    together.add(arma::fmat(residuals[i].cols(some)), weights[i]);
  result.joined = some;
  result.labels = spectral_labels(together.affinity(), dimensions.size(), plan.seed,
                                  detail::starts_of_join, parallel);
  return result;
}

}  // namespace gasg21
