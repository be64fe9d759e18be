// KSubspaces: a union of subspaces, one update per vector. Alg. 3, steps 3 to 11.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "gasg21/fit/subspace_bank.hpp"
#include "gasg21/inliers/null_bounds.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/tracker.hpp"

namespace gasg21 {

/// The outcome of one vector, and the subspace that took it: their number when none could.
struct ClusterReport : StepReport {
  uword cluster;
};

/// Each vector goes to the nearest of K trackers, which takes one step of its own: own dimension,
/// own step rule, own metric.
template <class T = double, class StepRule = AdaptiveStep, class Loss = L21Loss,
          class Metric = CovarianceScaling>
class KSubspaces {
 public:
  using One = Tracker<T, StepRule, Loss, Metric>;
  using value_type = T;

  /// Everything a stream needs to go on.
  struct State {
    std::vector<typename One::State> trackers;
    Random random;
    Counters skipped;            // vectors that went to no subspace
    std::uint64_t followed = 0;  // vectors since the stream is followed
    std::vector<std::vector<std::uint64_t>>
        changes{};  // `followed` at the changes of each subspace
  };

  /// Starts from the spans of the given matrices, n x d_k. The functions in seeding/ find good
  /// ones.
  KSubspaces(std::vector<arma::Mat<T>> bases, const StepRule& rule = StepRule{},
             std::uint64_t seed = 0, const Metric& metric = {})
      : random_(seed), bank_(bases), scratch_(bank_) {
    for (uword k = 0; k < bases.size(); ++k) {
      trackers_.emplace_back(std::move(bases[k]), rule, seed, Loss{}, metric);
      keep_up(k);
    }
    changes_.resize(size());
  }

  /// Resumes.
  explicit KSubspaces(const State& state)
      : random_(state.random),
        skipped_(state.skipped),
        followed_(state.followed),
        changes_(state.changes),
        bank_(bases_of(state.trackers)),
        scratch_(bank_) {
    for (const auto& one : state.trackers) trackers_.emplace_back(one);
    changes_.resize(size());
  }

  /// A union of one subspace, which goes on where a tracker is.
  static KSubspaces from_tracker(const One& tracker) {
    const auto state = tracker.state();
    return KSubspaces(State{{state}, state.random, Counters{}, 0, {}});
  }

  /// One step for one vector; NaN = missing.
  ClusterReport update(const arma::Col<T>& x) {
    require(x.n_elem == n(), "the vector has ", x.n_elem, " entries, but n = ", n());
    return update(DenseSample<T>{x.memptr()});
  }

  /// One step for one vector given by its observed entries.
  ClusterReport update(const arma::Col<T>& values, const arma::uvec& rows) {
    require(values.n_elem == rows.n_elem, "there are ", values.n_elem, " values for ", rows.n_elem,
            " rows");
    return update(SparseSample<T, uword>{values.memptr(), rows.memptr(), values.n_elem});
  }

  /// One step for one borrowed vector.
  template <class Sample>
  ClusterReport update(const Sample& sample) {
    ++followed_;
    const uword k = find_nearest(sample);
    if (k == size()) return skip();                         // steps 5 and 6
    const StepReport report = trackers_[k].update(sample);  // steps 7 to 10
    keep_up(k);
    if (report.changed) remember_change(changes_[k], followed_);
    return {report, k};
  }

  /// As Tracker::expect. Prefetching gains nothing here.
  template <class Sample>
  void expect(const Sample& /*sample*/) {}

  /// The nearest subspace. Nothing moves.
  template <class Sample>
  Nearest<T> nearest(const Sample& sample) {
    if (scratch_.read(sample) != Usable::yes) return {size(), std::numeric_limits<T>::quiet_NaN()};
    bank_.fit_all(scratch_);
    return bank_.nearest(scratch_);
  }

  /// Continues from other bases of the same dimensions with other rules.
  void restart(const std::vector<arma::Mat<T>>& bases, const std::vector<StepRule>& rules) {
    require(bases.size() == size() && rules.size() == size(), "there must be ", size(),
            " bases and rules");
    for (uword k = 0; k < size(); ++k) {
      trackers_[k].restart(bases[k], rules[k]);
      keep_up(k);
    }
  }

  /// Starts to follow the stream in another way, each subspace by itself.
  void follow(Following options) {
    options.null_level = level_of_each(options.null_level, size());
    for (One& one : trackers_) one.follow(options);
    followed_ = 0;
    changes_.assign(size(), {});
  }
  /// The subspaces are those that a fit has found on these samples. `settled`: it has converged.
  template <class Data>
  void follow_after_fit(Following options, const Data& data, bool settled) {
    follow(options);
    options.null_level = level_of_each(options.null_level, size());
    const std::vector<std::vector<uword>> members = some_members(data);
    for (uword k = 0; k < size(); ++k) {
      const SubsetView<Data> own(data, members[k]);
      trackers_[k].set_recent_fits(fit_all(trackers_[k].basis(), own, Parallel(1)));
      trackers_[k].follow_after_fit(options, own, settled);
    }
  }
  /// The number of samples that `follow_after_fit` looks at.
  uword samples_to_follow() const { return members_to_see * size(); }
  /// After how many vectors of the stream each subspace was seen to change.
  const std::vector<std::vector<std::uint64_t>>& changes() const { return changes_; }
  /// How the stream fares: as the subspace that fares worst.
  StreamStatus status() const {
    const auto any = [this](StreamStatus status) {
      return std::any_of(trackers_.begin(), trackers_.end(),
                         [=](const One& one) { return one.status() == status; });
    };
    for (const StreamStatus status :
         {StreamStatus::lost, StreamStatus::changed, StreamStatus::starting})
      if (any(status)) return status;
    return StreamStatus::tracking;
  }

  uword size() const { return trackers_.size(); }
  uword n() const { return bank_.n(); }
  const One& tracker(uword k) const { return trackers_[k]; }
  /// n x d_k, orthonormal.
  arma::Mat<T> basis(uword k) const { return trackers_[k].basis(); }
  std::vector<arma::Mat<T>> bases() const {
    std::vector<arma::Mat<T>> all;
    for (const One& one : trackers_) all.push_back(one.basis());
    return all;
  }
  Random& random() { return random_; }

  Counters counters() const {
    Counters all = skipped_;
    for (const One& one : trackers_)
      for (std::size_t o = 0; o < n_outcomes; ++o)
        all[StepOutcome(o)] += one.counters()[StepOutcome(o)];
    return all;
  }

  State state() const {
    State s{{}, random_, skipped_, followed_, changes_};
    for (const One& one : trackers_) s.trackers.push_back(one.state());
    return s;
  }

 private:
  static constexpr uword members_to_see = 512;  // per subspace, after a fit

  /// Samples of each subspace, out of some of the data.
  template <class Data>
  std::vector<std::vector<uword>> some_members(const Data& data) {
    std::vector<std::vector<uword>> members(size());
    for (const uword j : about(data, samples_to_follow()).columns) {
      const uword k = nearest(data.sample(j)).cluster;
      if (k < size()) members[k].push_back(j);
    }
    return members;
  }

  static std::vector<arma::Mat<T>> bases_of(const std::vector<typename One::State>& trackers) {
    std::vector<arma::Mat<T>> bases;
    for (const auto& one : trackers) bases.push_back(one.U);
    return bases;
  }

  /// Steps 5 and 6. Their number if none is nearest.
  template <class Sample>
  uword find_nearest(const Sample& sample) {
    if (scratch_.read(sample) != Usable::yes) return size();
    bank_.fit_all(scratch_);
    return bank_.nearest_cluster(scratch_);
  }

  /// Copies the basis of tracker k into the bank.
  void keep_up(uword k) {
    const auto lane = bank_.overwrite(k);
    trackers_[k].copy_basis(lane.first, lane.row_stride, lane.column_stride);
  }

  ClusterReport skip() {
    const Usable usable = scratch_.usable();
    const StepOutcome outcome = usable == Usable::zero          ? StepOutcome::zero
                                : usable == Usable::all_missing ? StepOutcome::all_missing
                                : usable == Usable::not_finite  ? StepOutcome::not_finite
                                : scratch_.x().count() <= smallest_dimension()
                                    ? StepOutcome::too_few_entries
                                    : StepOutcome::rank_deficient;
    ++skipped_[outcome];
    return {{outcome, std::numeric_limits<double>::quiet_NaN(), 0, 0, status()}, size()};
  }

  uword smallest_dimension() const {
    uword d = n();
    for (const One& one : trackers_) d = std::min(d, one.d());
    return d;
  }

  Random random_;
  Counters skipped_;
  std::uint64_t followed_ = 0;
  std::vector<std::vector<std::uint64_t>> changes_;
  SubspaceBank<T> bank_;
  typename SubspaceBank<T>::Scratch scratch_;
  std::vector<One> trackers_;
};

/// Lets a stream continue from subspaces that a fit found, with steps as long as each may be off.
template <class T, class StepRule, class Loss, class Metric>
void continue_from(KSubspaces<T, StepRule, Loss, Metric>& stream,
                   const std::vector<arma::Mat<T>>& bases, const arma::vec& estimated_angles,
                   const StepRule& stream_rule) {
  std::vector<StepRule> rules;
  for (uword k = 0; k < stream.size(); ++k)
    rules.push_back(rule_after_fit(stream_rule, stream.tracker(k).rule(), estimated_angles[k]));
  stream.restart(bases, rules);
}

}  // namespace gasg21
