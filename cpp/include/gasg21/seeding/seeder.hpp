// Where K subspaces start: some samples, candidates made of them, and the selection. Alg. 3, steps
// 1 and 2. All of it throws Stopped when the work is stopped.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "gasg21/polish/k_polisher.hpp"
#include "gasg21/seeding/candidates.hpp"
#include "gasg21/seeding/repair.hpp"
#include "gasg21/seeding/seed_samples.hpp"
#include "gasg21/seeding/selection.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/support/random.hpp"

namespace gasg21 {

/// How candidates are made: where samples lie densely, or by the paper's farthest insertion.
enum class Seeding { density, farthest };

template <class T>
class Seeder {
 public:
  /// Copies at most so many samples, drawn at random.
  template <class Data>
  Seeder(const Data& data, uword at_most, std::uint64_t seed)
      : random_(seed), samples_(data, some_columns(data.n_cols, at_most, random_)) {}

  /// Samples that can be used.
  uword n_samples() const { return samples_.n_cols; }

  /// Makes new candidates.
  void make_candidates(Seeding seeding, const SeedingOptions& options, const Parallel& parallel) {
    require(n_samples() > 0, "no sample can be used");
    check(options);
    candidates_ = seeding == Seeding::farthest
                      ? farthest_candidates(samples_, options, random_, parallel)
                      : density_candidates(samples_, density(options.dimensions, parallel), options,
                                           {}, random_, parallel);
  }

  /// Uses the given candidates.
  void set_candidates(std::vector<arma::Mat<T>> bases) { candidates_ = {std::move(bases), {}}; }
  const std::vector<arma::Mat<T>>& candidates() const { return candidates_.bases; }

  /// The numbers of the selected candidates, one per dimension. `sweeps` rounds of exchanges follow
  /// the greedy selection.
  std::vector<uword> select(const std::vector<uword>& dimensions, int sweeps,
                            const Parallel& parallel) {
    require(n_samples() > 0, "no sample can be used");
    candidates_.measure(samples_, parallel);
    std::vector<uword> chosen = greedy_select(candidates_, dimensions, parallel);
    swap_select(candidates_, chosen, sweeps, parallel);
    return chosen;
  }

  /// Distance of each sample to the nearest of some subspaces.
  arma::Col<T> distances(const std::vector<arma::Mat<T>>& bases, const Parallel& parallel) const {
    require(n_samples() > 0, "no sample can be used");
    arma::Col<T> nearest(n_samples());
    nearest.fill(arma::Datum<T>::inf);
    for (const auto& r : residuals_in(samples_, bases, parallel)) nearest = arma::min(nearest, r);
    return nearest;
  }

  /// Replaces subspaces that missed a cluster. Returns which were replaced.
  std::vector<uword> repair_into(KPolisher<T>& polisher, uword n_candidates, uword n_neighbors,
                                 const Parallel& parallel) {
    std::vector<uword> dimensions;
    for (const auto& U : polisher.bases()) dimensions.push_back(U.n_cols);
    check({dimensions, n_candidates, n_neighbors});
    return repair(polisher, samples_, density(dimensions, parallel), n_candidates, n_neighbors,
                  random_, parallel);
  }

 private:
  void check(const SeedingOptions& options) const {
    constexpr uword most = 1'000'000;
    require(!options.dimensions.empty(), "there must be at least one dimension");
    for (const uword d : options.dimensions)
      require(d >= 1 && d < samples_.n_rows, "d = ", d, " must be in [1, n - 1]");
    require(options.n_candidates <= most, "n_candidates=", options.n_candidates,
            " must be at most ", most);
  }

  /// Computed at the first use.
  const arma::vec& density(const std::vector<uword>& dimensions, const Parallel& parallel) {
    const uword d = *std::max_element(dimensions.begin(), dimensions.end());
    if (density_.empty()) density_ = densities(samples_, d + 2, parallel);
    return density_;
  }

  Random random_;
  SeedSamples<T> samples_;
  arma::vec density_;
  Candidates<T> candidates_;
};

}  // namespace gasg21
