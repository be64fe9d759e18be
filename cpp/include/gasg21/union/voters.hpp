// Several runs of a stream of K subspaces from different starts, several at the same time. All
// begin; after a few passes the better half goes on.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "gasg21/k_subspaces.hpp"
#include "gasg21/metric.hpp"
#include "gasg21/recover_union.hpp"
#include "gasg21/recovery/stream.hpp"
#include "gasg21/step_size.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/support/random.hpp"
#include "gasg21/support/shared_stop.hpp"

namespace gasg21 {

/// The paper's stream of K subspaces.
template <class T>
using PaperStream = KSubspaces<T, AdaptiveStep, NoScaling>;

struct RaceOptions {
  uword n_runs = 12;      // the better half is the result
  uword passes = 10;      // of each run of that half
  uword first_passes = 3;  // of each run, before the worse half is dropped
};

namespace detail {

/// What a run asks while it seeks its start.
struct StopObserver {
  SharedStop& stop;
  bool poll() { return stop.poll(); }
  bool step(const StepReport& /*report*/) { return false; }
  void pass(const PassRecord& /*record*/) {}
};

/// One run among others.
template <class Stream>
struct Runner {
  std::optional<Stream> stream;
  double cost = 0;  // the sum of the residuals in its last pass
};

/// One pass over all samples, newly shuffled. A sample that could not be fitted costs nothing: the
/// mask, not the run, decides which ones these are.
template <class Stream, class Data>
void run_pass(Runner<Stream>& runner, const Data& data, SharedStop& stop) {
  constexpr uword poll_after = 64;
  double cost = 0;
  uword done = 0;
  const arma::uvec order = runner.stream->random().permutation(data.n_cols);
  const bool stopped = run(*runner.stream, data, order, [&](const StepReport& report) {
    if (!std::isnan(report.residual)) cost += report.residual;
    return ++done % poll_after == 0 && stop.poll();
  });
  if (stopped) throw Stopped{};
  runner.cost = cost;
}

template <class Stream, class Data>
void run_passes(std::vector<Runner<Stream>>& runners, uword count, const Data& data,
                SharedStop& stop, const Parallel& parallel) {
  parallel.for_chains(runners.size(), count, [] { return 0; },
                      [&](uword chain, uword, int&) { run_pass(runners[chain], data, stop); });
}

/// Keeps the better half, in the order of their costs.
template <class Stream>
void keep_better_half(std::vector<Runner<Stream>>& runners) {
  std::stable_sort(runners.begin(), runners.end(),
                   [](const auto& a, const auto& b) { return a.cost < b.cost; });
  runners.resize(std::max<std::size_t>(1, runners.size() / 2));
}

}  // namespace detail

/// Returns the streams of the better half of the runs, the best first. `begin(run, stop)`
/// returns the stream of a run at its start. Throws Stopped if it was stopped.
template <class Stream, class Data, class Begin>
std::vector<Stream> race(const Data& data, const RaceOptions& options, const Begin& begin,
                         const Parallel& parallel) {
  SharedStop stop(parallel);
  std::vector<detail::Runner<Stream>> runners(options.n_runs);
  parallel.for_all(runners.size(), [] { return 0; },
                   [&](uword i, int&) { runners[i].stream.emplace(begin(i, stop)); });
  const uword first = std::min(options.first_passes, options.passes);
  detail::run_passes(runners, first, data, stop, parallel);
  detail::keep_better_half(runners);
  detail::run_passes(runners, options.passes - first, data, stop, parallel);
  std::stable_sort(runners.begin(), runners.end(),
                   [](const auto& a, const auto& b) { return a.cost < b.cost; });
  std::vector<Stream> streams;
  for (auto& runner : runners) streams.push_back(std::move(*runner.stream));
  return streams;
}

/// Seeds of several runs.
inline std::vector<std::uint64_t> seeds_of(std::uint64_t seed, uword count) {
  Random random(seed);
  std::vector<std::uint64_t> seeds(count);
  for (auto& each : seeds) each = random.next();
  return seeds;
}

/// Runs of one plan from different seeds. The runs are not polished, which would make them alike:
/// several voters need differences. Each run uses one thread.
template <class Stream, class Data, class Rule, class Metric>
std::vector<Stream> run_voters(const Data& data, const std::vector<uword>& dimensions,
                               const Rule& rule, const Metric& metric, UnionOptions plan,
                               const RaceOptions& options, const Parallel& parallel) {
  const std::vector<std::uint64_t> seeds = seeds_of(plan.seed, options.n_runs);
  plan.n_threads = 1;
  plan.polish = false;
  const auto begin = [&](uword i, SharedStop& stop) {
    UnionOptions own = plan;
    own.seed = seeds[i];
    UnionRecoverer<Stream> one(dimensions, rule, rule, metric, own);
    detail::StopObserver observer{stop};
    one.start(data, {}, observer);
    return std::move(one.stream());
  };
  return race<Stream>(data, options, begin, parallel);
}

}  // namespace gasg21
