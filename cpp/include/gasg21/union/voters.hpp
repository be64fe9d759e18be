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
#include "gasg21/loss.hpp"
#include "gasg21/metric.hpp"
#include "gasg21/recovery/stream.hpp"
#include "gasg21/seeding/candidates.hpp"
#include "gasg21/seeding/seed_samples.hpp"
#include "gasg21/seeding/selection.hpp"
#include "gasg21/step_size.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/support/random.hpp"
#include "gasg21/support/shared_stop.hpp"
#include "gasg21/union/one_run.hpp"

namespace gasg21 {

/// The paper's stream of K subspaces.
template <class T>
using PaperStream = KSubspaces<T, AdaptiveStep, L21Loss, NoScaling>;

struct RaceOptions {
  uword n_runs = 12;       // the better half is the result
  uword passes = 10;       // of each run of that half
  uword first_passes = 3;  // of each run, before the worse half is dropped
};

namespace detail {

/// Observes a run while it seeks its start.
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
  parallel.for_chains(
      runners.size(), count, [] { return 0; },
      [&](uword chain, uword, int&) { run_pass(runners[chain], data, stop); });
}

}  // namespace detail

/// Runs of which the worse half is dropped early. Throws Stopped if it is stopped.
template <class Stream>
class Race {
 public:
  /// Starts all runs and drops the worse half. `begin(run, stop)` returns the stream of a run at
  /// its start.
  template <class Data, class Begin>
  Race(const Data& data, const RaceOptions& options, const Begin& begin, const Parallel& parallel)
      : runners_(options.n_runs),
        first_(std::min(options.first_passes, options.passes)),
        left_(options.passes - first_) {
    SharedStop stop(parallel);
    parallel.for_all(
        runners_.size(), [] { return 0; },
        [&](uword i, int&) { runners_[i].stream.emplace(begin(i, stop)); });
    detail::run_passes(runners_, first_, data, stop, parallel);
    sort();
    runners_.resize(std::max<std::size_t>(1, runners_.size() / 2));
  }

  /// The other passes of the better half.
  template <class Data>
  void finish(const Data& data, const Parallel& parallel) {
    SharedStop stop(parallel);
    detail::run_passes(runners_, std::exchange(left_, 0), data, stop, parallel);
    sort();
  }

  /// The runs that are left, the best first: by the residuals of the last pass.
  uword size() const { return runners_.size(); }
  Stream& stream(uword i) { return *runners_[i].stream; }

 private:
  void sort() {
    std::stable_sort(runners_.begin(), runners_.end(),
                     [](const auto& a, const auto& b) { return a.cost < b.cost; });
  }

  std::vector<detail::Runner<Stream>> runners_;
  uword first_, left_;
};

/// Seeds of several runs.
inline std::vector<std::uint64_t> seeds_of(std::uint64_t seed, uword count) {
  Random random(seed);
  std::vector<std::uint64_t> seeds(count);
  for (auto& each : seeds) each = random.next();
  return seeds;
}

/// Candidates for the starts of several runs, by farthest insertion. They are made and measured
/// once; each run selects its start from a random sixth of them.
template <class T>
class CandidatePool {
 public:
  template <class Data>
  CandidatePool(const Data& data, const SeedingOptions& options, std::uint64_t seed,
                const Parallel& parallel) {
    Random random(seed);
    const SeedSamples<T> samples(data, arma::regspace<arma::uvec>(0, data.n_cols - 1));
    all_ = farthest_candidates(samples, options, random, parallel);
    all_.measure(samples, parallel);
    per_seed_ = detail::distinct(options.dimensions).size();
  }

  /// The bases that a run with this seed starts from.
  std::vector<arma::Mat<T>> select(const std::vector<uword>& dimensions, std::uint64_t seed) const {
    constexpr uword share = 6;
    const uword n_seeds = all_.bases.size() / per_seed_;
    const uword count = std::min(n_seeds, std::max<uword>(dimensions.size(), n_seeds / share));
    const arma::uvec order = Random(seed).permutation(n_seeds);
    Candidates<T> some;
    for (uword i = 0; i < count; ++i)
      for (uword q = order[i] * per_seed_; q < (order[i] + 1) * per_seed_; ++q)
        some.add(all_.bases[q], all_.residuals[q]);
    std::vector<arma::Mat<T>> bases;
    for (const uword q : greedy_select(some, dimensions, Parallel()))
      bases.push_back(some.bases[q]);
    return bases;
  }

 private:
  Candidates<T> all_;
  uword per_seed_ = 1;
};

/// Runs of one plan from different seeds, of which the worse half is dropped. The runs are not
/// polished, which would make them alike: several voters need differences. Each run uses one
/// thread.
template <class Stream, class Data, class Rule, class Metric>
Race<Stream> start_voters(const Data& data, const std::vector<uword>& dimensions, const Rule& rule,
                          const Metric& metric, UnionRunOptions plan, const RaceOptions& options,
                          const Parallel& parallel) {
  const std::vector<std::uint64_t> seeds = seeds_of(plan.seed, options.n_runs);
  plan.n_threads = 1;
  plan.polish = false;
  const auto begin = [&](uword i, SharedStop& stop) {
    UnionRunOptions own = plan;
    own.seed = seeds[i];
    UnionRun<Stream> one(dimensions, rule, rule, metric, own);
    detail::StopObserver observer{stop};
    one.start(data, {}, observer);
    return std::move(one.stream());
  };
  return Race<Stream>(data, options, begin, parallel);
}

}  // namespace gasg21
