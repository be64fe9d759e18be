// How many samples a fit needs to find a subspace, before it looks at all of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gasg21/support/config.hpp"
#include "gasg21/support/random.hpp"

namespace gasg21 {

/// Samples that suffice to find a subspace of d dimensions, at least `fewest`: each unknown is
/// observed many times. The polish on all samples then reaches the accuracy that they allow.
inline uword enough_samples(uword n, uword d, double observed_per_sample, uword fewest = 20'000) {
  constexpr double per_unknown = 40;
  const double wanted = per_unknown * double(n * d) / std::max(observed_per_sample, 1.0);
  return std::max(fewest, uword(wanted));
}

/// Whether it pays to find the subspace of m samples on `enough` of them.
inline bool is_worth_sampling(uword m, uword enough) {
  constexpr uword many = 50'000;
  return m >= std::max(many, 2 * enough);
}

/// The size of a second sample of data in blocks, of which there are `most` at hand, if the `first`
/// samples do not suffice; else 0. `found`: their fit does not speak against them.
inline uword second_sample(uword n, uword d, double observed_per_sample, uword first, bool found,
                           uword most) {
  constexpr uword growth = 4;  // if a fit fails
  const uword enough = enough_samples(n, d, observed_per_sample, first);
  if (found && enough <= first) return 0;
  const uword wanted = std::min(found ? enough : std::max(enough, growth * first), most);
  return wanted < 2 * first ? 0 : wanted;
}

/// How many samples the polish looks at between `enough` and all m of them. From a good start it
/// needs fewer passes over all.
inline std::vector<uword> stages_between(uword enough, uword m) {
  constexpr uword growth = 5, least_gain = 8;
  std::vector<uword> stages;
  for (uword count = growth * enough; least_gain * count <= m; count *= growth)
    stages.push_back(count);
  return stages;
}

/// Some of m columns at random, in their order. Takes or leaves one column after the other, so that
/// it needs memory for those alone that it takes.
inline std::vector<uword> random_columns(uword m, uword count, std::uint64_t seed) {
  Random random(seed ^ 0x5A3B1E);
  std::vector<uword> columns;
  columns.reserve(std::min(count, m));
  for (uword j = 0; j < m && columns.size() < count; ++j)
    if (random.uniform() * double(m - j) < double(count - columns.size())) columns.push_back(j);
  return columns;
}

}  // namespace gasg21
