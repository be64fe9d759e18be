// A consensus over different representations of the samples. Those that agree with each other and
// leave small residuals are joined by their co-associations.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gasg21/geometry/symmetric_eigen.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/support/shared_stop.hpp"
#include "gasg21/union/principal_coordinates.hpp"
#include "gasg21/union/representations.hpp"
#include "gasg21/union/spectral.hpp"

namespace gasg21 {

/// The constants that decide in the consensus.
struct ConsensusConstants {
  uword n_runs = 12;                          // of each stream; the better half is joined
  uword passes = 10;                          // of each run of that half
  uword first_passes = 3;                     // of each run, before the worse half is dropped
  uword n_candidates = 90;                    // per cluster; a run selects from a sixth of them
  double n_narrow = 2.0 / 3;                  // share of the span for the narrow shape interaction
  std::vector<double> exponents = {4, 6, 8};  // of the cosines
  double cost = 0.003;       // a mean residual this much above the least counts 1/e
  double agreement = 2;      // power of the agreement of two representations
  double power = 4;          // of the votes
  double negligible = 0.01;  // votes below this share of the largest do not count
  double hopeless = 1e-4;    // if no stream has more votes after its first passes, all end there
};

/// The labels that the representations agree on.
struct Consensus {
  arma::uvec labels;
  double agreement = 0;  // of the representations, by their weights; 1 = all are the same
  std::vector<Representation> representations;
  arma::vec weights;
  Factored affinity;  // the labels are a cut of it
};

namespace detail {

/// Coordinates in which several streams run, or shape interaction is cut.
struct Coordinates {
  std::string name;
  arma::fmat points;  // unit columns
};

struct AllCoordinates {
  std::vector<Coordinates> streams, spans;
};

inline uword narrow_span(const PrincipalCoordinates& principal, double share) {
  return std::max<uword>(2, uword(std::llround(share * double(principal.n_span()))));
}

inline void add_coordinates(const std::string& name, const PrincipalCoordinates& principal,
                            const ClusterPlan& plan, const ConsensusConstants& constants,
                            AllCoordinates& all) {
  const uword smallest = *std::max_element(plan.dimensions.begin(), plan.dimensions.end()) + 1;
  const uword wide = std::max(principal.n_wide(), smallest);
  const uword half = std::max(principal.n_wide() / 2, smallest);
  for (const uword count : {wide, half})
    if (count == wide || half < wide)
      all.streams.push_back(
          {name + " stream " + std::to_string(count), principal.whitened<float>(count, 0.5)});
  all.spans.push_back({name + " narrow span",
                       principal.whitened<float>(narrow_span(principal, constants.n_narrow), 0)});
  all.spans.push_back(
      {name + " weighted span", principal.whitened<float>(principal.n_span(), 0.25)});
}

/// Raw and unit-length samples in principal coordinates; none if the rank is too low.
inline std::optional<AllCoordinates> all_coordinates(const arma::mat& X, const ClusterPlan& plan,
                                                     const ConsensusConstants& constants,
                                                     const Parallel& parallel) {
  const uword largest = *std::max_element(plan.dimensions.begin(), plan.dimensions.end());
  AllCoordinates all;
  for (const bool unit : {false, true}) {
    const PrincipalCoordinates principal(unit ? unit_columns(X) : X, plan.dimensions, 0, parallel);
    if (principal.rank() <= largest + 1) return {};
    add_coordinates(unit ? "unit" : "raw", principal, plan, constants, all);
  }
  return all;
}

/// Sets the mean residuals of representations by each judge.
inline void judge(std::vector<Representation>& found, const std::vector<Coordinates>& judges,
                  const ClusterPlan& plan, const Parallel& parallel) {
  for (auto& each : found) each.costs.set_size(judges.size());
  parallel.for_all(
      found.size() * judges.size(), [] { return 0; },
      [&](uword task, int&) {
        Representation& each = found[task / judges.size()];
        const uword j = task % judges.size();
        each.costs[j] = mean_residual(judges[j].points, each.labels, plan.dimensions);
      });
}

/// How much the costs of each representation exceed the least, averaged over the judges.
inline arma::vec mean_excess(const std::vector<Representation>& found) {
  arma::mat costs(found.size(), found[0].costs.n_elem);
  for (uword r = 0; r < found.size(); ++r) costs.row(r) = found[r].costs.t();
  arma::vec excess(found.size(), arma::fill::zeros);
  for (uword j = 0; j < costs.n_cols; ++j) excess += costs.col(j) - costs.col(j).min();
  return excess / double(costs.n_cols);
}

/// The agreement of each pair; on the diagonal the stability of each.
inline arma::mat agreements(const std::vector<Representation>& found) {
  constexpr double least = 1e-3;
  arma::mat M(found.size(), found.size());
  for (uword a = 0; a < found.size(); ++a)
    for (uword b = 0; b < found.size(); ++b)
      M(a, b) = std::max(
          a == b ? found[a].stability : agreement_of(found[a].labels, found[b].labels), least);
  return M;
}

/// The votes are the leading eigenvector of the agreements.
/// Pairs with larger residuals than others count less: of two camps the one with the smaller
/// residuals wins. The largest is 1.
inline arma::vec votes_of(const arma::mat& M, const std::vector<Representation>& found,
                          const ConsensusConstants& constants) {
  const arma::vec excess = mean_excess(found);
  const arma::vec trust = arma::exp(-(excess - excess.min()) / (2 * constants.cost));
  arma::mat votes = arma::pow(M, constants.agreement);
  for (uword b = 0; b < M.n_cols; ++b) votes.col(b) %= trust * trust[b];
  const arma::vec leading = arma::abs(symmetric_eigen(votes).vectors.col(0));
  return arma::pow(leading / leading.max(), constants.power);
}

/// The mean agreement of the representations by their weights.
inline double weighted_agreement(const arma::mat& M, const arma::vec& weights) {
  double sum = 0;
  for (uword a = 0; a < M.n_rows; ++a)
    for (uword b = 0; b < M.n_cols; ++b) sum += weights[a] * M(a, b) * weights[b];
  const double total = arma::accu(weights);
  return std::min(sum / (total * total), 1.0);  // rounding may exceed 1
}

inline Factored joined(const std::vector<Representation>& found, const arma::vec& weights) {
  std::vector<arma::mat> parts;
  for (uword r = 0; r < found.size(); ++r)
    if (weights[r] > 0) parts.push_back(std::sqrt(weights[r]) * found[r].affinity.factor);
  return stacked(parts);
}

/// The shape interaction in each span, several at the same time.
inline std::vector<Representation> cut_spans(const AllCoordinates& all, const ClusterPlan& plan,
                                             const ConsensusConstants& constants,
                                             const Parallel& parallel) {
  std::vector<Representation> found(all.spans.size());
  SharedStop stop(parallel);
  parallel.for_all(
      found.size(), [] { return 0; },
      [&](uword i, int&) {
        found[i] = interaction_representation(all.spans[i].name, all.spans[i].points, plan,
                                              constants.exponents, stop.alone());
      });
  judge(found, all.streams, plan, parallel);
  return found;
}

/// Whether the streams have a chance beside the other representations, by the labels of the best
/// run of each after its first passes. On faces they have none.
inline bool have_chance(std::vector<StreamVoters>& streams, std::vector<Representation> others,
                        const AllCoordinates& all, const ClusterPlan& plan,
                        const ConsensusConstants& constants, const Parallel& parallel) {
  std::vector<Representation> looks;
  for (auto& each : streams) looks.push_back(each.look(parallel));
  judge(looks, all.streams, plan, parallel);
  std::move(others.begin(), others.end(), std::back_inserter(looks));
  return votes_of(agreements(looks), looks, constants).head(streams.size()).max() >=
         constants.hopeless;
}

/// All representations: streams, and shape interaction.
inline std::vector<Representation> represent(const AllCoordinates& all, const ClusterPlan& plan,
                                             const ConsensusConstants& constants,
                                             const Parallel& parallel) {
  const std::vector<Representation> spans = cut_spans(all, plan, constants, parallel);
  const RaceOptions race{constants.n_runs, constants.passes, constants.first_passes};
  std::vector<StreamVoters> streams;
  for (const auto& each : all.streams)
    streams.emplace_back(each.name, each.points, plan, race, constants.n_candidates, parallel);
  std::vector<Representation> found;
  if (have_chance(streams, spans, all, plan, constants, parallel))
    for (auto& each : streams) found.push_back(each.finish(parallel));
  judge(found, all.streams, plan, parallel);
  found.insert(found.end(), spans.begin(), spans.end());
  return found;
}

}  // namespace detail

/// Clusters complete samples, the columns of X. None if their rank is too low for different
/// representations. Throws Stopped if it was stopped.
inline std::optional<Consensus> find_consensus(const arma::mat& X,
                                               const std::vector<uword>& dimensions,
                                               std::uint64_t seed, const Parallel& parallel,
                                               const ConsensusConstants& constants = {}) {
  constexpr uword starts_of_k_means = 15;
  const ClusterPlan plan{dimensions, seed};
  const auto all = detail::all_coordinates(X, plan, constants, parallel);
  if (!all) return {};
  Consensus consensus;
  auto& found = consensus.representations = detail::represent(*all, plan, constants, parallel);
  const arma::mat M = detail::agreements(found);
  consensus.weights = detail::votes_of(M, found, constants);
  for (double& weight : consensus.weights)
    if (weight < constants.negligible) weight = 0;
  consensus.agreement = detail::weighted_agreement(M, consensus.weights);
  consensus.affinity = detail::joined(found, consensus.weights);
  consensus.labels =
      spectral_labels(consensus.affinity, dimensions.size(), seed, starts_of_k_means, parallel);
  return consensus;
}

}  // namespace gasg21
