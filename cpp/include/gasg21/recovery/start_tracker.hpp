// The tracker that a fit begins with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "gasg21/data/views.hpp"
#include "gasg21/recovery/options.hpp"
#include "gasg21/seeding/spherical_pca.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/random.hpp"

namespace gasg21 {

/// A tracker at its start. Any loss, step rule and metric.
template <class Tracker, class Data, class Rule, class Loss, class Metric, class Observer>
Tracker start_tracker(const Data& data, uword d, const Rule& rule, const Loss& loss,
                      const Metric& metric, Start start, std::uint64_t seed, Observer& observer) {
  using T = typename Tracker::value_type;
  if (start == Start::random) return Tracker(data.n_rows, d, rule, seed, loss, metric);
  const uword count = std::min<uword>(data.n_cols, std::max<uword>(20 * d, 100));
  const arma::uvec order = Random(seed).permutation(data.n_cols);
  std::vector<uword> columns(order.begin(), order.begin() + std::ptrdiff_t(count));
  std::sort(columns.begin(), columns.end());
  Random random(seed);
  arma::Mat<T> U = spherical_pca_basis<T>(SubsetView<Data>(data, std::move(columns)), d, random,
                                          [&] { return observer.poll(); });
  return Tracker(std::move(U), rule, seed, loss, metric);
}

}  // namespace gasg21
