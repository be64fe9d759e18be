// Several runs on the data itself, joined into one: samples that most runs put together belong
// together.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "gasg21/data/dense_samples.hpp"
#include "gasg21/data/views.hpp"
#include "gasg21/fit/assign.hpp"
#include "gasg21/fit/subspace_bank.hpp"
#include "gasg21/recovery/sampling.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/union/co_association.hpp"
#include "gasg21/union/near_subspaces.hpp"
#include "gasg21/union/one_run.hpp"
#include "gasg21/union/representations.hpp"
#include "gasg21/union/spectral.hpp"
#include "gasg21/union/voters.hpp"

namespace gasg21 {

/// The best of the runs, and the members of each cluster that they agree on; no members if too few
/// samples lie near the subspaces.
template <class T>
struct JoinedRuns {
  std::vector<arma::Mat<T>> bases;
  std::vector<arma::mat> members;
  Counters counters;
};

namespace detail {

/// Some of the samples that lie near the subspaces and could be fitted.
template <class T, class Data>
std::vector<uword> joined_columns(const std::vector<arma::Mat<T>>& bases, const Data& data,
                                  std::uint64_t seed, const Parallel& parallel) {
  constexpr uword at_most = 5000;
  const Assignment<T> assigned = assign(SubspaceBank<T>(bases), data, parallel);
  const std::vector<bool> near = near_own(bases, assigned, data);
  std::vector<uword> good, some;
  for (uword j = 0; j < data.n_cols; ++j)
    if (near[j]) good.push_back(j);
  for (const uword i : random_columns(good.size(), at_most, seed)) some.push_back(good[i]);
  return some;
}

}  // namespace detail

/// Runs of the paper's stream from different seeds; the better half is joined by co-association and
/// spectral clustering. Throws Stopped if it was stopped.
template <class T, class Data>
JoinedRuns<T> join_runs(const Data& data, const std::vector<uword>& dimensions,
                        const UnionRunOptions& options, uword n_runs, const Parallel& parallel) {
  constexpr uword starts_of_k_means = 15;
  RaceOptions race;
  race.n_runs = n_runs;
  auto runs = start_voters<PaperStream<T>>(data, dimensions, AdaptiveStep::paper(), NoScaling{},
                                           options, race, parallel);
  runs.finish(data, parallel);
  JoinedRuns<T> joined{runs.stream(0).bases(), {}, runs.stream(0).counters()};
  const std::vector<uword> columns =
      detail::joined_columns(joined.bases, data, options.seed, parallel);
  if (columns.size() <= 2 * dimensions.size()) return joined;
  const SubsetView<Data> some(data, columns);
  CoAssociation together;
  std::vector<double> costs;
  std::vector<arma::fmat> residuals;
  for (uword i = 0; i < runs.size(); ++i) {
    residuals.push_back(residuals_to(runs.stream(i).bases(), some, parallel));
    costs.push_back(arma::accu(arma::vec(nearest_residuals(residuals.back()))));
  }
  const std::vector<double> weights = run_weights(costs);
  for (uword i = 0; i < runs.size(); ++i) together.add(residuals[i], weights[i]);
  const arma::uvec labels = spectral_labels(together.affinity(), dimensions.size(), options.seed,
                                            starts_of_k_means, parallel);
  for (const arma::uvec& own : members_of(labels, dimensions.size())) {
    std::vector<uword> members;
    for (const uword i : own) members.push_back(columns[i]);
    joined.members.push_back(dense_samples(data, members));
  }
  return joined;
}

}  // namespace gasg21
