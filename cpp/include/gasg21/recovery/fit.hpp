// A whole fit of one subspace, composed: lift, start, stream, polish, doubts, and the result.
// `recover` and the Python module run it, for data in memory and in blocks.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gasg21/inliers/subspace.hpp"
#include "gasg21/recovery/doubts.hpp"
#include "gasg21/recovery/options.hpp"
#include "gasg21/recovery/recentre.hpp"
#include "gasg21/recovery/recoverer.hpp"
#include "gasg21/recovery/report.hpp"
#include "gasg21/recovery/sampling.hpp"
#include "gasg21/recovery/self_check.hpp"
#include "gasg21/recovery/start.hpp"
#include "gasg21/support/config.hpp"

namespace gasg21 {

/// The result of a fit: a subspace by its parts, and the tracker that goes on from it.
template <class Tracker>
struct Found {
  using T = typename Tracker::value_type;

  arma::Mat<T> basis;  // in no particular coordinates; of lifted samples if there is a lift
  std::shared_ptr<const Lift<T>> lift;
  Evidence evidence;
  FitKind kind;
  Tracker tracker;
  Status status;
  double estimated_angle;  // standard error of the largest angle to the true subspace, radians
  std::vector<PassRecord> history;
  Doubts doubts;
};

template <class Tracker, class Data>
class Fit {
 public:
  using T = typename Tracker::value_type;

  Fit(LiftedData<T, Data> data, uword d, TrackerPlan<Tracker> plan, const RecoverOptions& options)
      : data_(std::move(data)), d_(d), plan_(std::move(plan)), options_(options) {}

  /// Stream, polish and doubts, to the end or until the observer stops it. Then `hand_over`.
  template <class Observer>
  void run(Observer& observer) {
    if (options_.center && !plan_.loss.is_least_squares()) centre_on_subspace(observer);
    begin(observer).run(data_.view(), observer);
  }

  // For data in blocks: `solve` on the samples of the constructor, rounds by the `recoverer`, then
  // `conclude` and `hand_over`.

  template <class Observer>
  void solve(Observer& observer) {
    begin(observer).solve(data_.view(), observer);
  }
  /// The size of a second sample, of `most` at hand, if the first does not suffice; else 0.
  uword second_sample(uword most) const {
    const FitState<Tracker>& state = recoverer_->state();
    const bool found = is_converged(state.status) || state.status == Status::interrupted ||
                       state.status == Status::rank_deficient;
    return gasg21::second_sample(data_.n_features(), state.tracker.d(),
                                 observed_per_sample<T>(data_.view()), data_.view().n_cols, found,
                                 most);
  }
  /// Doubts, from samples that are a share of the data.
  template <class Observer>
  void conclude(const Data& samples, double share, Observer& observer) {
    recoverer_->conclude(data_.lift_like(samples), share, observer);
  }

  /// The result, described by the samples of the fit or by others.
  template <class Observer>
  Found<Tracker> hand_over(Observer& observer) {
    return found_in(data_.view(), observer);
  }
  template <class Observer>
  Found<Tracker> hand_over(const Data& samples, Observer& observer) {
    return found_in(data_.lift_like(samples), observer);
  }

  /// After `run` or `solve`.
  Recoverer<Tracker>& recoverer() { return *recoverer_; }
  const Recoverer<Tracker>& recoverer() const { return *recoverer_; }
  const LiftedData<T, Data>& data() const { return data_; }

 private:
  template <class Observer>
  Recoverer<Tracker>& begin(Observer& observer) {
    const uword working = std::max(d_, options_.working_components);
    return recoverer_.emplace(plan_.start_on(data_, working, observer), d_ + data_.more(),
                              options_);
  }

  /// Moves the centre onto the subspace by some fits, each about the centre that the last one
  /// found. Each brings it about ten times nearer.
  template <class Observer>
  void centre_on_subspace(Observer& observer) {
    constexpr int rounds = 4;
    observer.show_passes(false);
    data_.move_to({data_.lift()->centre, T(0)});
    for (int round = 0; round < rounds; ++round) {
      begin(observer).run(data_.view(), observer);
      const FitState<Tracker>& state = recoverer_->state();
      if (state.status == Status::interrupted) break;
      const arma::Col<T> off = median_residuals(state.basis, data_.view(), plan_.loss);
      data_.move_to({data_.lift()->centre + off, T(0)});
    }
    observer.show_passes(true);
  }

  template <class Observer>
  Found<Tracker> found_in(const Data& samples, Observer& observer) {
    observer.go_on();
    FitState<Tracker>& state = recoverer_->state();
    state.hand_back(plan_.stream_rule);
    Evidence evidence = state.evidence(samples, observer);
    return {state.basis,  state.tracker.lift(),    std::move(evidence), state.kind(), state.tracker,
            state.status, state.estimated_angle(), state.history,       state.doubts};
  }

  LiftedData<T, Data> data_;
  uword d_;
  TrackerPlan<Tracker> plan_;
  RecoverOptions options_;
  std::optional<Recoverer<Tracker>> recoverer_;
};

}  // namespace gasg21
