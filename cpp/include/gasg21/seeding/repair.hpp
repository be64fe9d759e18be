// The repair of a bad start, which a local method cannot correct.
#pragma once

#include <numeric>
#include <utility>
#include <vector>

#include "gasg21/polish/k_polisher.hpp"
#include "gasg21/seeding/candidates.hpp"
#include "gasg21/seeding/seed_samples.hpp"
#include "gasg21/seeding/selection.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/support/random.hpp"

namespace gasg21 {

namespace detail {

/// Orders a selection so that each of the K old subspaces that was selected again keeps its place.
template <class T>
std::vector<uword> in_place(const Candidates<T>& candidates, const std::vector<uword>& chosen) {
  const uword K = chosen.size(), none = candidates.bases.size();
  std::vector<uword> placed(K, none);
  for (const uword q : chosen)
    if (q < K) placed[q] = q;
  for (const uword q : chosen) {
    if (q < K) continue;
    uword k = 0;
    while (placed[k] != none || candidates.bases[k].n_cols != candidates.bases[q].n_cols) ++k;
    placed[k] = q;
  }
  for (uword k = 0; k < K; ++k)  // a tie may choose one candidate twice
    if (placed[k] == none) placed[k] = k;
  return placed;
}

}  // namespace detail

/// Replaces subspaces that missed a cluster. New candidates come from where samples lie densely and
/// far from all subspaces. Single exchanges lower the cost; a selection from scratch is taken if it
/// is better still, because subspaces that each straddle two clusters block single exchanges.
/// Returns which subspaces were replaced.
template <class T>
std::vector<uword> repair(KPolisher<T>& polisher, const SeedSamples<T>& samples,
                          const arma::vec& density, uword n_candidates, uword n_neighbors,
                          Random& random, const Parallel& parallel) {
  constexpr int sweeps = 3;
  const uword K = polisher.size();
  SeedingOptions options{{}, n_candidates, n_neighbors};
  Candidates<T> candidates;
  candidates.bases = polisher.bases();
  for (const auto& U : polisher.bases()) options.dimensions.push_back(U.n_cols);
  candidates =
      density_candidates(samples, density, options, std::move(candidates), random, parallel);
  std::vector<uword> chosen(K), exchanged;
  std::iota(chosen.begin(), chosen.end(), uword(0));
  swap_select(candidates, chosen, sweeps, parallel);
  std::vector<uword> anew = greedy_select(candidates, options.dimensions, parallel);
  swap_select(candidates, anew, sweeps, parallel);
  const double least = selection_cost(candidates, chosen);
  if (selection_cost(candidates, anew) < least - 1e-9 * double(samples.n_cols))
    chosen = detail::in_place(candidates, anew);
  for (uword k = 0; k < K; ++k)
    if (chosen[k] != k) {
      polisher.replace(k, candidates.bases[chosen[k]]);
      exchanged.push_back(k);
    }
  return exchanged;
}

}  // namespace gasg21
