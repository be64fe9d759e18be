// A second opinion about a run: do other representations of the samples agree with it? If not, the
// consensus of several may replace it.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gasg21/data/dense_samples.hpp"
#include "gasg21/fit/assign.hpp"
#include "gasg21/fit/subspace_bank.hpp"
#include "gasg21/geometry/principal.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/union/consensus.hpp"
#include "gasg21/union/fit_screening.hpp"
#include "gasg21/union/matching.hpp"
#include "gasg21/union/near_subspaces.hpp"
#include "gasg21/union/neighbours.hpp"
#include "gasg21/union/options.hpp"
#include "gasg21/union/participants.hpp"
#include "gasg21/union/principal_coordinates.hpp"
#include "gasg21/union/quick_labels.hpp"
#include "gasg21/union/refit.hpp"
#include "gasg21/union/representations.hpp"
#include "gasg21/union/whitening.hpp"

namespace gasg21 {

/// The subspaces of a consensus, in whitened coordinates.
struct ConsensusStart {
  std::shared_ptr<const Whitening> whitening;
  arma::mat points;  // r x m, unit columns: the samples of the consensus
  std::vector<arma::mat> bases;
};

struct SecondOpinion {
  std::optional<double> agreement;  // with the run, or among the representations; empty = not asked
  std::optional<ConsensusStart> consensus;  // replaces the run
  std::vector<uword> left_out;              // examined samples that took no part in the consensus
};

namespace detail {

/// Compares a run with other labels, on some samples.
class Comparison {
 public:
  Comparison(const std::vector<arma::mat>& bases, const arma::mat& X, const Parallel& parallel) {
    const DenseView<double> data(X);
    const Assignment<double> assigned = assign(SubspaceBank<double>(bases), data, parallel);
    labels_ = assigned.labels;
    const std::vector<bool> near = near_own(bases, assigned, data);
    for (uword j = 0; j < X.n_cols; ++j)
      if (near[j]) near_.push_back(j);
  }

  /// The agreement on the samples near a subspace, if these are most; else on all of them.
  double with(const arma::uvec& labels) const {
    constexpr double most = 0.9;
    if (double(near_.size()) < most * double(labels.n_elem)) return agreement_of(labels_, labels);
    const arma::uvec some = arma::conv_to<arma::uvec>::from(near_);
    return agreement_of(labels_.elem(some), labels.elem(some));
  }

 private:
  arma::uvec labels_;
  std::vector<uword> near_;
};

/// Complete samples in few coordinates, and their principal coordinates at unit length.
struct Turned {
  arma::mat X;
  PrincipalCoordinates of_unit;

  Turned(arma::mat samples, const std::vector<uword>& dimensions, const Parallel& parallel)
      : X(std::move(samples)), of_unit(unit_columns(X), dimensions, 0, parallel) {}
};

/// Drops samples far from their neighbours, some times: without some outliers others stand out.
inline void drop_strangers(Participants& some, Turned& turned, const std::vector<uword>& dimensions,
                           const Parallel& parallel) {
  constexpr int rounds = 3;
  for (int round = 0; round < rounds; ++round) {
    const std::vector<bool> kept = has_neighbours(turned.X, turned.of_unit, dimensions, parallel);
    if (std::all_of(kept.begin(), kept.end(), [](bool is_kept) { return is_kept; })) return;
    std::vector<uword> places;
    for (uword j = 0; j < kept.size(); ++j)
      if (kept[j]) places.push_back(j);
    some.keep(kept);
    turned = Turned(turned.X.cols(arma::conv_to<arma::uvec>::from(places)), dimensions, parallel);
  }
}

/// The principal subspaces of the clusters of a consensus in whitened coordinates; none if a
/// cluster has too few members. A robust fit of few samples in many coordinates would fit some
/// exactly.
inline std::optional<ConsensusStart> start_of(const Consensus& consensus, const Participants& some,
                                              const PrincipalCoordinates& principal,
                                              const std::vector<uword>& dimensions,
                                              const std::optional<Screening>& screening,
                                              const Parallel& parallel) {
  const uword K = dimensions.size();
  ConsensusStart start;
  start.whitening = std::make_shared<const Whitening>(
      whitening_of(some.X, principal, dimensions, screening, parallel));
  start.points = unit_columns(start.whitening->apply(some.X, parallel));
  std::vector<arma::mat> members;
  for (const arma::uvec& own : members_of(consensus.labels, K))
    members.push_back(start.points.cols(own));
  const arma::uvec order = match_dimensions(members, dimensions);
  for (uword k = 0; k < K; ++k) {
    if (members[order[k]].n_cols <= dimensions[k]) return {};
    start.bases.push_back(principal_axes(members[order[k]], dimensions[k]));
  }
  return start;
}

}  // namespace detail

/// Asks for a second opinion about the subspaces that a run has found, on the given samples of the
/// data. Throws Stopped if it was stopped.
template <class T, class Data>
SecondOpinion ask_second_opinion(const std::vector<arma::Mat<T>>& found, const Data& data,
                                 const std::vector<uword>& columns, const UnionOptions& options,
                                 const Parallel& parallel = Parallel()) {
  constexpr double agreed = 0.97;
  constexpr uword fewest = 4;  // samples per dimension of all clusters
  const std::vector<uword> dimensions = dimensions_of(found);
  const arma::mat X = dense_samples(data, columns);
  std::vector<arma::mat> bases;
  for (const auto& U : found) bases.push_back(arma::conv_to<arma::mat>::from(U));
  std::optional<Screening> screening;
  if (options.screens(dimensions, X.n_rows))
    screening = fit_screening(X, dimensions, options.seed, parallel);
  Participants some = participants(X, bases, screening ? &*screening : nullptr, parallel);
  SecondOpinion opinion;
  if (some.size() < fewest * total_of(dimensions)) return opinion;

  detail::Turned turned(rotated(some.X), dimensions, parallel);
  opinion.agreement = 0;
  const detail::Comparison run(bases, X.cols(arma::conv_to<arma::uvec>::from(some.columns)),
                               parallel);
  QuickLabels quick(turned.of_unit, dimensions, options.seed, parallel, options.consensus);
  while (const auto labels = quick.next()) {
    opinion.agreement = std::max(*opinion.agreement, run.with(*labels));
    if (*opinion.agreement >= agreed) return opinion;
  }
  if (!may_whiten(X, dimensions)) return opinion;
  if (options.screen != Choice::no) detail::drop_strangers(some, turned, dimensions, parallel);
  const auto consensus =
      find_consensus(turned.X, dimensions, options.seed, parallel, options.consensus);
  if (!consensus || arma::unique(consensus->labels).eval().n_elem < dimensions.size())
    return opinion;
  opinion.consensus =
      detail::start_of(*consensus, some, PrincipalCoordinates(turned.X, dimensions, 0, parallel),
                       dimensions, screening, parallel);
  if (!opinion.consensus) return opinion;
  opinion.agreement = consensus->agreement;
  std::vector<bool> takes_part(columns.size(), false);
  for (const uword j : some.columns) takes_part[j] = true;
  for (uword j = 0; j < columns.size(); ++j)
    if (!takes_part[j]) opinion.left_out.push_back(columns[j]);
  return opinion;
}

}  // namespace gasg21
