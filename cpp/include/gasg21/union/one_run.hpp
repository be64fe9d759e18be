// One run of K-GASG21: candidates, selection, some passes of the stream, polish and repair.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "gasg21/fit/subspace_bank.hpp"
#include "gasg21/k_subspaces.hpp"
#include "gasg21/polish/k_polisher.hpp"
#include "gasg21/recovery/recoverer.hpp"
#include "gasg21/recovery/report.hpp"
#include "gasg21/recovery/start.hpp"
#include "gasg21/recovery/stream.hpp"
#include "gasg21/seeding/seeder.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/median.hpp"
#include "gasg21/support/parallel.hpp"

namespace gasg21 {

/// How one run is to go.
struct UnionRunOptions {
  Seeding seeding = Seeding::density;
  uword n_candidates = 0;  // 0 = 3 per cluster for density, 10 for farthest
  uword n_neighbors = 0;   // samples that a candidate is fitted to; 0 = d + 3
  uword max_passes = 20;   // of the stream; the polish makes at most twice as many rounds
  double tol = 1e-6;       // the angle to aim at, radians; 0 without polish = run all passes
  bool polish = true;      // false = the stream alone
  bool first_step_from_data = true;  // an adaptive rule starts at half the median residual
  std::uint64_t seed = 0;
  unsigned n_threads = 1;  // the result does not depend on it
  Following following{};   // how the stream goes on after the fit
};

/// Seconds spent.
struct UnionTimings {
  double seed = 0, select = 0, refine = 0;
};

/// A fit under way. From the start on its subspaces are usable, also after an interruption.
/// `Stream` is a KSubspaces with any step rule and metric.
template <class Stream>
class UnionRun {
 public:
  using T = typename Stream::value_type;
  using One = typename Stream::One;
  using Loss = std::decay_t<decltype(std::declval<One>().loss())>;
  using Rule = std::decay_t<decltype(std::declval<One>().rule())>;
  using Metric = std::decay_t<decltype(std::declval<One>().metric())>;

  /// `fit_rule` is for `run`, `stream_rule` for a stream that starts here or continues afterwards.
  UnionRun(std::vector<uword> dimensions, Rule fit_rule, Rule stream_rule, Metric metric,
           const UnionRunOptions& options)
      : dimensions_(std::move(dimensions)),
        fit_rule_(std::move(fit_rule)),
        stream_rule_(std::move(stream_rule)),
        metric_(std::move(metric)),
        options_(options),
        estimated_angles_(size()) {
    require(!dimensions_.empty(), "there must be at least one subspace");
    estimated_angles_.fill(arma::datum::pi / 2);
  }

  /// Finds the subspaces to start from, or takes those that are given, and makes a stream from
  /// them. Throws Stopped if the observer stops it.
  template <class Data, class Observer>
  void start(const Data& data, std::vector<arma::Mat<T>> given, Observer& observer,
             bool streaming = false) {
    const Rule& rule = streaming ? stream_rule_ : fit_rule_;
    if (is_single(given)) {  // one subspace starts as GASG21 does: there is nothing to select
      Start random = Start::random;
      begin_from(start_tracker<One>(data, dimensions_[0], rule, Loss{}, metric_, random,
                                    options_.seed, observer));
      stream_->follow(streaming ? options_.following : Following::none());
      return;
    }
    const Clock clock;
    seeder_.emplace(data, std::max(seeded_samples, seeded_per_cluster * size()), options_.seed);
    require(seeder_->n_samples() >= size(), "only ", seeder_->n_samples(), " of the ", data.n_cols,
            " samples of X can be used; there must be at least n_clusters=", size());
    const Parallel threads = parallel(observer);
    if (given.empty()) {
      const bool dense = options_.seeding == Seeding::density;
      const uword default_candidates = size() * (dense ? 3 : 10);
      const uword count = options_.n_candidates ? options_.n_candidates : default_candidates;
      seeder_->make_candidates(options_.seeding, {dimensions_, count, options_.n_neighbors},
                               threads);
      timings_.seed = clock.seconds();
      for (const uword q : seeder_->select(dimensions_, dense ? exchange_sweeps : 0, threads))
        given.push_back(seeder_->candidates()[q]);
      timings_.select = clock.seconds() - timings_.seed;
    } else {
      timings_.seed = clock.seconds();
    }
    const arma::Col<T> distances = seeder_->distances(given, threads);
    first_step_ = first_step(median(arma::conv_to<std::vector<T>>::from(distances)));
    stream_.emplace(std::move(given), first(rule), options_.seed, metric_);
    stream_->follow(streaming ? options_.following : Following::none());
    bases_ = stream_->bases();
  }

  /// Runs from the data to the end, or until the observer stops it. Throws Stopped only if it was
  /// stopped before there were subspaces.
  template <class Data, class Observer>
  void run(const Data& data, std::vector<arma::Mat<T>> given, Observer& observer) {
    if (is_single(given)) return run_single(data, observer);
    start(data, std::move(given), observer);
    const Clock clock;
    try {
      if (options_.polish) {
        stream(data,
               {std::max<uword>(1, std::min(passes_before_polish, options_.max_passes / 2)),
                options_.tol, 0},
               observer);
        status_ = polish(data, observer);
      } else {
        const bool may_stall = metric_.scaled() && options_.tol > 0;
        status_ = stream(data, {options_.max_passes, options_.tol, may_stall ? stall_alone : 0},
                         observer);
      }
    } catch (const Stopped&) {
      status_ = Status::interrupted;
    }
    timings_.refine = clock.seconds();
  }

  /// Lets the stream continue from the result, with steps as long as each subspace may be off.
  void hand_back() {
    if (!polished_) return;
    continue_from(*stream_, bases_, estimated_angles_, first(stream_rule_));
  }

  const std::vector<arma::Mat<T>>& bases() const { return bases_; }
  Status status() const { return status_; }
  const arma::vec& estimated_angles() const { return estimated_angles_; }
  const std::vector<PassRecord>& history() const { return history_; }
  const UnionTimings& timings() const { return timings_; }
  Stream& stream() { return *stream_; }
  /// The rule for streams that continue from here: with the first step that the data chose.
  Rule stream_rule() const { return first(stream_rule_); }

 private:
  // Seeding looks at no more samples than this, so that its cost does not grow with m.
  static constexpr uword seeded_samples = 4000, seeded_per_cluster = 200;
  // Rounds of exchanges after the greedy selection of density seeds. The paper has none.
  static constexpr int exchange_sweeps = 3;
  // The first step is no longer than the data is off its subspaces: it would spoil a good start.
  static constexpr double longest_step = 0.1, share_of_residual = 0.5, shortest_step = 1e-8;
  static constexpr uword passes_before_polish = 3, stall_alone = 4;
  static constexpr int rounds_before_repair = 2, most_repairs = 4;
  static constexpr uword repair_candidates = 30;

  class Clock {
   public:
    double seconds() const {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
    }

   private:
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  };

  uword size() const { return dimensions_.size(); }
  bool is_single(const std::vector<arma::Mat<T>>& given) const {
    return size() == 1 && given.empty();
  }

  static double first_step(double typical_residual) {
    return std::min(longest_step, std::max(shortest_step, share_of_residual * typical_residual));
  }
  Rule first(const Rule& rule) const {
    return options_.first_step_from_data && first_step_ > 0 ? with_first_step(rule, first_step_)
                                                            : rule;
  }

  void begin_from(const One& tracker) {
    stream_.emplace(Stream::from_tracker(tracker));
    bases_ = stream_->bases();
  }

  /// One cluster is GASG21.
  template <class Data, class Observer>
  void run_single(const Data& data, Observer& observer) {
    const Clock clock;
    RecoverOptions options;
    options.max_passes = options_.max_passes;
    options.tol = options_.tol;
    options.polish = options_.polish;
    options.doubt = false;  // nothing names it for several subspaces
    options.seed = options_.seed;
    options.n_threads = options_.n_threads;
    Recoverer<One> one(start_tracker<One>(data, dimensions_[0], fit_rule_, Loss{}, metric_,
                                          Start::random, options_.seed, observer),
                       dimensions_[0], options);
    one.run(data, observer);
    FitState<One>& reached = one.state();
    reached.hand_back(stream_rule_);
    begin_from(reached.tracker);
    bases_ = {reached.basis};
    status_ = reached.status;
    estimated_angles_ = {reached.estimated_angle()};
    history_ = reached.history;
    timings_.refine = clock.seconds();
  }

  template <class Data, class Observer>
  Status stream(const Data& data, const StreamOptions& options, Observer& observer) {
    return stream_passes(*stream_, data, options, observer, [&](const PassRecord& record) {
      bases_ = stream_->bases();
      add(record, observer);
    });
  }

  /// Rounds of assignment and polish until all subspaces have settled. Repairs missed clusters on
  /// the way.
  template <class Data, class Observer>
  Status polish(const Data& data, Observer& observer) {
    KPolisher<T> polisher(bases_);
    const auto rounds = [&](int count) {
      for (int i = 0; i < count; ++i) polish_round(polisher, data, observer);
    };
    rounds(rounds_before_repair);
    for (int i = 0; i < most_repairs; ++i) {
      const uword count = std::max(repair_candidates, size());
      if (seeder_->repair_into(polisher, count, options_.n_neighbors, parallel(observer)).empty())
        break;
      rounds(rounds_before_repair);
    }
    for (uword i = 0; i < 2 * options_.max_passes && !polisher.settled(); ++i) rounds(1);
    if (!polisher.settled()) return Status::max_passes;
    return verdict<T>(estimated_angles_, options_.tol);
  }

  template <class Data, class Observer>
  void polish_round(KPolisher<T>& polisher, const Data& data, Observer& observer) {
    KPolishOptions options;
    options.tol = options_.tol;
    polisher.round(data, options, parallel(observer));
    bases_ = polisher.bases();
    polished_ = true;
    PassRecord record;
    record.stage = Stage::polish;
    record.moved.set_size(size());
    record.members.set_size(size());
    for (uword k = 0; k < size(); ++k) {
      const ClusterFit& cluster = polisher.clusters()[k];
      estimated_angles_[k] = cluster.estimated_angle;
      record.moved[k] = cluster.change;
      record.members[k] = cluster.members;
    }
    record.estimated_angle = estimated_angles_;
    record.n_samples = data.n_cols;
    add(record, observer);
  }

  template <class Observer>
  void add(const PassRecord& record, Observer& observer) {
    history_.push_back(record);
    observer.pass(record);
  }

  template <class Observer>
  Parallel parallel(Observer& observer) const {
    return Parallel(options_.n_threads, [&observer] { return observer.poll(); });
  }

  std::vector<uword> dimensions_;
  Rule fit_rule_, stream_rule_;
  Metric metric_;
  UnionRunOptions options_;
  std::optional<Seeder<T>> seeder_;
  std::optional<Stream> stream_;
  std::vector<arma::Mat<T>> bases_;
  arma::vec estimated_angles_;
  std::vector<PassRecord> history_;
  UnionTimings timings_;
  Status status_ = Status::interrupted;
  double first_step_ = 0;  // 0 = not chosen from the data
  bool polished_ = false;  // the subspaces have left the stream behind
};

}  // namespace gasg21
