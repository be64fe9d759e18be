// Follower: all that a stream does beyond the updates. It watches the residuals, keeps vectors to
// replay, and keeps the subspace of before a change, in case it comes back.
#pragma once

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "gasg21/data/observation.hpp"
#include "gasg21/fit/least_squares.hpp"
#include "gasg21/inliers/fitted.hpp"
#include "gasg21/stream/detector.hpp"
#include "gasg21/stream/null_law.hpp"
#include "gasg21/stream/reservoir.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"

namespace gasg21 {

struct Following {
  uword replay = 64;         // vectors to draw updates from while their order matters; 0 = use each
                             // vector once, as it comes
  bool restart = true;       // start anew when the subspace has changed
  bool watch = true;         // judge the stream: status and changes
  double null_level = 1e-3;  // share of random directions that pass for near

  /// All of it on the scaled metric; the paper's algorithm is only watched.
  static Following defaults(bool scaled) {
    return scaled ? Following{} : Following{0, false, true};
  }
  /// Updates and nothing else.
  static Following none() { return {0, false, false}; }
};

/// A stream as it was before a change. It is the one to believe until the new subspace is found.
template <class T, class StepRule, class Metric>
struct Backup {
  arma::Mat<T> U;
  StepRule rule;
  Metric metric;
  Fitness fitness;  // of the vectors since the change; typical residuals are those from before
  RecentFits recent;
};

template <class T, class StepRule, class Metric>
struct FollowerState {
  Following options{};
  Detector detector{};
  Reservoir<T> reservoir{};
  bool near = false;  // the vector of the last update was nearer than random ones
  std::optional<Backup<T, StepRule, Metric>> backup{};
};

/// Event of the stream at one vector.
enum class StreamEvent { none, changed, returned };

template <class T, class StepRule, class Metric, class FixedFit>
class Follower {
 public:
  using State = FollowerState<T, StepRule, Metric>;

  /// Follows vectors of n entries by a subspace of d dimensions.
  Follower(State state, uword n, uword d)
      : state_(std::move(state)), null_(n, d, state_.options.null_level) {
    const ReservoirState<T>& kept = state_.reservoir.state();
    require(kept.capacity == 0 || kept.n == n, "the reservoir does not fit vectors of ", n,
            " entries");
    require(!state_.backup || (state_.backup->U.n_rows == n && state_.backup->U.n_cols == d &&
                               state_.backup->recent.d() == d),
            "the backup does not fit a ", n, " x ", d, " basis");
  }

  bool watches() const { return state_.options.watch; }
  const NullLaw::Null& null(uword count) { return null_.at(count); }

  /// Takes note of how far a vector is from the subspace, before its update.
  template <class Loss>
  StreamEvent see(const Observation<T>& x, double distance, const Loss& loss) {
    if (state_.backup && judge_backup(x, loss)) return StreamEvent::returned;
    const Fitness before = state_.detector.fitness();
    const bool in_order = state_.reservoir.is_drawing();
    const bool changed = state_.detector.see(distance, null(x.count()).residual, in_order);
    if (state_.detector.is_found()) drop_backup();
    if (!changed || !state_.options.restart) return StreamEvent::none;
    typical_before_ = before.typical;
    return StreamEvent::changed;
  }

  /// Takes note of a vector. Returns the one to update with in its place, or null.
  const T* replay(const Observation<T>& x) {
    return state_.reservoir.arrive(x) ? state_.reservoir.draw() : nullptr;
  }

  /// Notes whether the vector of an update is near. Returns whether the one before was, too.
  bool both_near(bool near) {
    const bool both = near && state_.near;
    state_.near = near;
    return both;
  }

  /// Remembers the stream, unless it remembers an earlier one, and forgets its vectors.
  void keep_backup(arma::Mat<T> U, StepRule rule, Metric metric, RecentFits recent) {
    state_.reservoir.clear();
    if (state_.backup) return;
    state_.backup = {
        std::move(U), std::move(rule), std::move(metric), {typical_before_, 0}, std::move(recent)};
  }
  /// The stream of before the change, which has come back.
  Backup<T, StepRule, Metric> take_backup() {
    auto backup = std::move(*state_.backup);
    drop_backup();
    state_.detector.settle_as(backup.fitness);
    state_.reservoir.clear();
    return backup;
  }

  /// Starts anew with other options.
  void start(const Following& options, uword n, uword d) {
    state_ = State{options, {}, Reservoir<T>(n, options.replay), false, {}};
    null_ = NullLaw(n, d, options.null_level);
    drop_backup();
  }
  /// The subspace is one that a fit has found; `log_residuals` of vectors near it.
  void start_after_fit(std::vector<double> log_residuals) {
    state_.detector = Detector::after_fit(std::move(log_residuals));
  }
  void fill_reservoir(const Observation<T>& x, std::uint64_t arrived) {
    state_.reservoir.fill(x, arrived);
  }

  const std::optional<Backup<T, StepRule, Metric>>& backup() const { return state_.backup; }
  const Detector& detector() const { return state_.detector; }
  const Reservoir<T>& reservoir() const { return state_.reservoir; }
  const State& state() const { return state_; }

 private:
  /// Whether the vectors since the change lie near the subspace of before it.
  template <class Loss>
  bool judge_backup(const Observation<T>& x, const Loss& loss) {
    auto& backup = *state_.backup;
    if (!backup_fit_) backup_fit_.emplace(loss.template make_fixed_fit<T>(backup.U));
    if (backup_fit_->solve(backup.U, x) != Solved::yes) return false;
    const double distance = double(backup_fit_->distance());
    const bool near = distance < null(x.count()).residual;
    backup.fitness.weigh(backup.fitness.fits(std::log(std::max(distance, 1e-16)), near));
    return backup.fitness.evidence > Fitness::enough;
  }
  void drop_backup() {
    state_.backup.reset();
    backup_fit_.reset();
  }

  State state_;
  NullLaw null_;
  std::optional<FixedFit> backup_fit_;  // made on demand
  double typical_before_ = 0;           // from `see` to `keep_backup`
};

}  // namespace gasg21
