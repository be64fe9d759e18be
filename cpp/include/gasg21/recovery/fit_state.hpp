// The state of a fit of one subspace. It is usable at any time, also after an interruption.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "gasg21/inliers/subspace.hpp"
#include "gasg21/polish/round.hpp"
#include "gasg21/recovery/block_sums.hpp"
#include "gasg21/recovery/doubts.hpp"
#include "gasg21/recovery/options.hpp"
#include "gasg21/recovery/report.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/tracker.hpp"

namespace gasg21 {

template <class Tracker>
struct FitState {
  using T = typename Tracker::value_type;
  using Rule = std::decay_t<decltype(std::declval<Tracker>().rule())>;

  Tracker tracker;
  uword d;                     // of the result; the tracker may fit more
  arma::Mat<T> basis;          // n x d, in no particular coordinates
  std::optional<Usage> usage;  // of all samples, if the stream has not seen all
  std::vector<PassRecord> history;
  Status status = Status::interrupted;
  Doubts doubts;
  double error = arma::datum::pi / 2;  // standard error of the largest angle, without the doubts
  uword polish_passes = 0;

  FitState(Tracker started, uword dimension, const RecoverOptions& options)
      : tracker(std::move(started)), d(dimension), options_(options) {
    require(d >= 1 && d <= tracker.d(), "d = ", d, " must be in [1, ", tracker.d(), "]");
    tracker.follow(Following::none());  // shuffled passes need no more
    basis = first_columns();
  }

  /// The paper's algorithm: it checks nothing.
  bool is_paper() const { return !tracker.metric().scaled() && !options_.polish; }

  double estimated_angle() const {
    return std::max({error, doubts.determined.angle, doubts.other.bent ? doubts.other.angle : 0.0});
  }

  FitKind kind() const {
    return {gasg21::exact_residual(std::numeric_limits<T>::epsilon(), status == Status::converged,
                                   error)};
  }

  /// Takes over the basis after a pass of the stream.
  template <class Observer>
  void take_stream(const PassRecord& record, Observer& observer) {
    set_basis(first_columns());
    add(record, observer);
  }

  /// Takes over the basis and its error after a round of the polish.
  template <class Observer>
  void take_round(const Round<T>& round, double median_residual, uword n_samples,
                  Observer& observer) {
    set_basis(round.kept());
    error = round.estimated_angle();
    ++polish_passes;
    PassRecord record;
    record.stage = Stage::polish;
    record.moved = {round.moved()};
    record.median_residual = median_residual;
    record.estimated_angle = {error};
    record.n_samples = n_samples;
    add(record, observer);
  }

  void set_basis(arma::Mat<T> U) {
    basis = std::move(U);
    fits_.reset();
  }

  /// The fits of some samples to the basis, made once.
  template <class Data, class Observer>
  const Fitted& fits_of_some(const Data& data, Observer& observer) {
    if (!fits_) fits_ = fit_some(basis, data, parallel(observer), samples_to_describe());
    return *fits_;
  }

  /// Lets the tracker continue from the result, with steps as long as the result may be off: the
  /// step of `stream_rule` at the estimated angle, if it has levels.
  void hand_back(const Rule& stream_rule) {
    if (usage) tracker.set_usage(usage->counters, usage->entries_used);
    const bool trimmed = d < tracker.d();
    const bool in_stream = polish_passes == 0;
    const bool stopped_in_stream = status == Status::interrupted && in_stream && !trimmed;
    if (is_paper() || stopped_in_stream) {
      arma::Mat<T> reached = tracker.basis();  // further than `basis` if a pass was stopped
      if (!std::equal(reached.begin(), reached.end(), basis.begin(), basis.end()))
        set_basis(std::move(reached));
      return;
    }
    Rule rule = rule_after_fit(stream_rule, tracker.rule(), error);
    if (trimmed)
      tracker = tracker.continued(basis, std::move(rule));
    else
      tracker.restart(basis, std::move(rule));
  }

  /// The inliers of the result, described from some samples. The tracker takes over their fits and
  /// some of the samples, and follows the stream from here.
  template <class Data, class Observer>
  Evidence evidence(const Data& data, Observer& observer) {
    Evidence found;
    try {
      if (status == Status::interrupted && observer.poll()) throw Stopped{};
      found = collect_evidence(basis, data, fits_of_some(data, observer));
    } catch (const Stopped&) {
      status = Status::interrupted;
      found = collect_little_evidence(basis, data);
    }
    tracker.set_recent_fits(found.fits);
    tracker.follow_after_fit(options_.following, data, is_converged(status));
    return found;
  }

  template <class Observer>
  Parallel parallel(Observer& observer) const {
    return Parallel(options_.n_threads, [&observer] { return observer.poll(); });
  }

 private:
  /// How many samples describe the inliers. The axes of the subspace are read off them. The paper's
  /// algorithm keeps its basis as it is: there fewer do, so that they take a small share of the
  /// fit.
  uword samples_to_describe() const {
    if (!is_paper()) return enough_described;
    constexpr uword share = 16, fewest = 250, per_dimension = 50;
    uword seen = 0;
    for (const PassRecord& record : history) seen += record.n_samples;
    const uword wanted = std::max(seen / share, per_dimension * d);
    return std::clamp(wanted, fewest, enough_described);
  }

  arma::Mat<T> first_columns() const {
    arma::Mat<T> U = tracker.basis();
    return d < U.n_cols ? arma::Mat<T>(U.head_cols(d)) : U;
  }

  template <class Observer>
  void add(const PassRecord& record, Observer& observer) {
    history.push_back(record);
    observer.pass(record);
  }

  RecoverOptions options_;
  std::optional<Fitted> fits_;  // of some samples to the basis
};

}  // namespace gasg21
