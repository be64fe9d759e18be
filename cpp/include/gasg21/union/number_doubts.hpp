// Whether the number of clusters suits the data: by sight, and after a fit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "gasg21/data/views.hpp"
#include "gasg21/recovery/sampling.hpp"
#include "gasg21/seeding/seeder.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/median.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/union/near_subspaces.hpp"

namespace gasg21 {

/// How many members hold a subspace: twice as many as it could be put through, and two more.
inline uword fewest_members(uword d) { return 2 * d + 2; }

/// The number of samples with each label; labels of `n_clusters` and above do not count.
inline std::vector<uword> count_members(const arma::uvec& labels, uword n_clusters) {
  std::vector<uword> members(n_clusters, 0);
  for (const uword k : labels)
    if (k < n_clusters) ++members[k];
  return members;
}

/// Whether each cluster has so few members that a subspace can be put through most of them.
inline std::vector<bool> held_by_few(const arma::uvec& labels,
                                     const std::vector<uword>& dimensions) {
  const std::vector<uword> members = count_members(labels, dimensions.size());
  std::vector<bool> few(dimensions.size());
  for (uword k = 0; k < few.size(); ++k) few[k] = members[k] < fewest_members(dimensions[k]);
  return few;
}

/// Whether nearly all samples that lie near a subspace are as far from all others as a random
/// direction: then the clusters are told apart at sight. Looks at some of the samples.
template <class T, class Data>
bool is_clear(const std::vector<arma::Mat<T>>& bases, const Data& data, std::uint64_t seed,
              const Parallel& parallel = Parallel()) {
  constexpr uword examined = 3000;
  constexpr double confused = 0.05;  // share of the samples that may be near to a second subspace
  const SubsetView<Data> some(data, random_columns(data.n_cols, examined, seed));
  const NearSubspaces found = near_subspaces(bases, some, parallel);
  for (uword k = 0; k < bases.size(); ++k)
    if (uword(arma::accu(found.near.row(k))) < fewest_members(bases[k].n_cols)) return false;
  uword near = 0, near_several = 0;
  for (uword j = 0; j < some.n_cols; ++j) {
    near += found.is_near_any(j);
    near_several += found.n_near(j) > 1;
  }
  return double(near_several) <= confused * double(near);
}

enum class NumberDoubt { none, too_few_clusters, too_many_clusters };

namespace detail {

/// Some samples beside the subspaces.
struct Examined {
  NearSubspaces found;
  std::vector<uword> known{};  // samples with a residual in each subspace
  uword near = 0, near_several = 0;

  explicit Examined(NearSubspaces samples) : found(std::move(samples)) {
    for (uword j = 0; j < found.near.n_cols; ++j) {
      if (!found.is_known(j)) continue;
      known.push_back(j);
      near += found.is_near_any(j);
      near_several += found.n_near(j) > 1;
    }
  }

  /// Whether clusters can be told apart by the subspaces.
  bool tells() const {
    constexpr double together = 0.8;  // share of the samples near several subspaces
    return near > 0 && double(near_several) <= together * double(near);
  }
};

/// Whether most members of one subspace lie near another one.
inline bool coincide(const Examined& some) {
  constexpr double same = 0.5;
  const NearSubspaces& found = some.found;
  const uword K = found.near.n_rows;
  arma::mat shared(K, K, arma::fill::zeros);  // column k: members of k near each subspace
  for (const uword j : some.known) {
    const uword k = found.nearest(j);
    if (found.near(k, j)) shared.col(k) += arma::conv_to<arma::vec>::from(found.near.col(j));
  }
  for (uword k = 0; k < K; ++k)
    for (uword l = 0; l < K; ++l)
      if (l != k && shared(k, k) > 0 && shared(l, k) > same * shared(k, k)) return true;
  return false;
}

/// Whether a subspace has hardly more members than any subspace could be put through, and far fewer
/// than most.
inline bool holds_hardly_any(const std::vector<uword>& members,
                             const std::vector<uword>& dimensions) {
  constexpr double share = 0.25;
  const double typical = median(std::vector<double>(members.begin(), members.end()));
  for (uword k = 0; k < members.size(); ++k)
    if (double(members[k]) < std::min(3 * double(dimensions[k]) + 3, share * typical)) return true;
  return false;
}

/// The cost of leaving out each subspace: the sum of the steps to the second nearest.
inline std::vector<double> costs_of_removal(const Examined& some) {
  const arma::mat& residuals = some.found.residuals;
  std::vector<double> costs(residuals.n_rows, 0);
  for (const uword j : some.known) {
    const uword k = some.found.nearest(j);
    double second = std::numeric_limits<double>::infinity();
    for (uword l = 0; l < costs.size(); ++l)
      if (l != k) second = std::min(second, residuals(l, j));
    costs[k] += second - residuals(k, j);
  }
  return costs;
}

/// By how much the best of some new subspaces would lower the sum of the residuals. `tried` are the
/// residuals in these.
inline double best_gain(const Examined& some, const arma::mat& tried) {
  double best = 0;
  for (uword q = 0; q < tried.n_rows; ++q) {
    double gain = 0;
    for (const uword j : some.known) {
      const double step = some.found.residuals(some.found.nearest(j), j) - tried(q, j);
      if (step > 0) gain += step;  // not for NaN
    }
    best = std::max(best, gain);
  }
  return best;
}

/// Candidates for one more subspace: more of them than there are subspaces.
template <class T, class Data>
std::vector<arma::Mat<T>> new_candidates(const Data& some, const std::vector<uword>& dimensions,
                                         std::uint64_t seed, const Parallel& parallel) {
  constexpr uword more = 10;
  const uword K = dimensions.size(), d = *std::max_element(dimensions.begin(), dimensions.end());
  Seeder<T> seeder(some, some.n_cols, seed);
  seeder.make_candidates(Seeding::density, {std::vector<uword>(K, d), K + more, 0}, parallel);
  return seeder.candidates();
}

}  // namespace detail

/// Doubts the number of subspaces, from some of the samples and the labels of all (the number of
/// subspaces = none). Where most samples lie near several subspaces, as in motions and images,
/// nothing is doubted: there the agreement of representations tells more.
template <class T, class Data>
NumberDoubt doubt_number(const std::vector<arma::Mat<T>>& bases, const Data& data,
                         const arma::uvec& labels, std::uint64_t seed,
                         const Parallel& parallel = Parallel()) {
  constexpr uword examined = 600, per_cluster = 40;
  constexpr double added = 0.4;  // share of a typical subspace's gain that a missing one has
  const uword K = bases.size();
  const std::vector<uword> dimensions = dimensions_of(bases);
  const SubsetView<Data> some(
      data, random_columns(data.n_cols, std::max(examined, per_cluster * K), seed));
  const detail::Examined beside(near_subspaces(bases, some, parallel));
  if (K < 2 || !beside.tells()) return NumberDoubt::none;
  if (detail::coincide(beside) || detail::holds_hardly_any(count_members(labels, K), dimensions))
    return NumberDoubt::too_many_clusters;
  const auto tried =
      near_subspaces(detail::new_candidates<T>(some, dimensions, seed, parallel), some, parallel);
  const double typical = median(detail::costs_of_removal(beside));
  return detail::best_gain(beside, tried.residuals) > added * typical
             ? NumberDoubt::too_few_clusters
             : NumberDoubt::none;
}

}  // namespace gasg21
