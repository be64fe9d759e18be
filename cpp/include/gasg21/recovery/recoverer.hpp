// A fit of one subspace: the stream, the polish, and the doubts about the result, in their order.
// `Fit` composes and runs it.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "gasg21/data/views.hpp"
#include "gasg21/geometry/grassmann.hpp"
#include "gasg21/geometry/jacobi_svd.hpp"
#include "gasg21/polish/polisher.hpp"
#include "gasg21/recovery/block_sums.hpp"
#include "gasg21/recovery/fit_state.hpp"
#include "gasg21/recovery/options.hpp"
#include "gasg21/recovery/report.hpp"
#include "gasg21/recovery/sampling.hpp"
#include "gasg21/recovery/self_check.hpp"
#include "gasg21/recovery/stream.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/median.hpp"
#include "gasg21/support/parallel.hpp"

namespace gasg21 {

/// A fit under way: a tracker for the stream, then the polish.
template <class Tracker>
class Recoverer {
 public:
  using T = typename Tracker::value_type;

  /// Keeps d dimensions of those that the tracker fits. The dimensions of a lifted basis count.
  Recoverer(Tracker tracker, uword d, const RecoverOptions& options)
      : state_(std::move(tracker), d, options),
        options_(options),
        most_polish_passes_(2 * options.max_passes) {}

  /// Runs to the end, or until the observer stops it.
  template <class Data, class Observer>
  void run(const Data& data, Observer& observer) {
    until_stopped([&] {
      state_.status =
          options_.polish ? stream_and_polish(data, observer) : stream_alone(data, observer);
      look_for_doubts(data, 1, observer);
    });
  }

  // For data in blocks: `solve` on a sample of it, `round` with the sums of all blocks until it
  // returns true, then `conclude`.

  /// Stream and polish on a sample of the data.
  template <class Data, class Observer>
  void solve(const Data& sample, Observer& observer) {
    until_stopped([&] {
      state_.status = solve_all(sample, observer);
      allow_passes();
    });
  }

  /// One round, with the sums over all blocks for `working_basis` and `scatter`. Returns whether it
  /// was the last.
  template <class Observer>
  bool round(const BlockSums& sums, Observer& observer) {
    end_round(*round_, sums, state_.parallel(observer));
    state_.take_round(*round_, sums.residuals.quantile(0.5), sums.usage.counters.seen(), observer);
    state_.usage = sums.usage;
    const bool settled = round_->has_settled(options_.tol);
    state_.status = judged(settled ? settled_status() : Status::max_passes, round_->scatter());
    return settled || state_.polish_passes >= most_polish_passes_;
  }

  /// After the rounds: looks for doubts in samples that are a share of the data.
  template <class Data, class Observer>
  void conclude(const Data& sample, double share, Observer& observer) {
    if (state_.status == Status::interrupted) return;
    until_stopped([&] { look_for_doubts(sample, share, observer); });
  }

  void interrupt() { state_.status = Status::interrupted; }

  /// Whether the polish may go on over all blocks: the sample has not shown that it fails.
  bool may_go_on() const { return state_.status != Status::interrupted && round_; }
  /// The basis under polish: with more columns than the result if working_components asks for them.
  const arma::Mat<T>& working_basis() const { return round_->basis(); }
  const Scatter& scatter() const { return round_->scatter(); }

  const FitState<Tracker>& state() const { return state_; }
  FitState<Tracker>& state() { return state_; }

 private:
  // Passes of the stream before the polish. The polish does the rest; where less than a share of
  // the entries is observed, more passes give it a start that it can rely on.
  static constexpr uword passes_if_dense = 2, passes_if_sparse = 5;
  static constexpr double dense_share = 0.3;
  // The stream hands over, or ends, when its residuals have stalled after this many passes.
  static constexpr uword stall_before_polish = 3, stall_alone = 4;
  // How much a pass may still move the subspace when it is checked on the held-out entries.
  static constexpr double good_enough = 1e-3;

  template <class Data, class Observer>
  Status stream_alone(const Data& data, Observer& observer) {
    const bool may_stall = state_.tracker.metric().scaled() && options_.tol > 0;
    const Status status =
        stream(data, {options_.max_passes, options_.tol, may_stall ? stall_alone : 0}, observer);
    const bool lost = is_lost(data, observer);
    return lost && status != Status::max_passes ? Status::undetermined : status;
  }

  template <class Data, class Observer>
  Status stream_and_polish(const Data& data, Observer& observer) {
    const uword enough =
        enough_samples(data.n_rows, state_.tracker.d(), observed_per_sample<T>(data));
    if (!is_worth_sampling(data.n_cols, enough)) return solve_all(data, observer);
    const Tracker start = state_.tracker;
    const std::vector<uword> columns = random_columns(data.n_cols, enough, options_.seed);
    if (is_converged(solve_some(data, columns, observer))) {
      for (const uword more : stages_between(enough, data.n_cols))
        polish_on(SubsetView<Data>(data, random_columns(data.n_cols, more, options_.seed)),
                  observer);
      return polish_on(data, observer);
    }
    state_.tracker = start;  // the sample does not suffice
    allow_passes();
    return solve_all(data, observer);
  }

  /// Polishes on more samples what was found on some, by rounds: these take no memory per sample.
  template <class Samples, class Observer>
  Status polish_on(const Samples& samples, Observer& observer) {
    round_->change_data();
    allow_passes();
    while (!round(block_sums(working_basis(), scatter(), samples, state_.parallel(observer)),
                  observer)) {
    }
    return state_.status;
  }

  template <class Data, class Observer>
  Status solve_all(const Data& data, Observer& observer) {
    const HeldOut held_out = hold_out<T>(data, state_.tracker.d(), options_.seed);
    return solve_on(without(data, held_out), data, data, held_out, observer);
  }

  template <class Data, class Observer>
  Status solve_some(const Data& data, const std::vector<uword>& columns, Observer& observer) {
    const SubsetView<Data> some(data, columns);
    HeldOut held_out;
    for (auto& [k, hidden] : hold_out<T>(some, state_.tracker.d(), options_.seed).rows)
      held_out.rows.emplace(columns[k], hidden);
    const Data seen = without(data, held_out);
    return solve_on(SubsetView<Data>(seen, columns), some, data, held_out, observer);
  }

  /// Stream, polish and self-check on the samples `all`; `seen` are the same without the held-out
  /// entries. `held_out` numbers the samples as `data` does.
  template <class Samples, class Data, class Observer>
  Status solve_on(const Samples& seen, const Samples& all, const Data& data,
                  const HeldOut& held_out, Observer& observer) {
    const double n_observed = observed_per_sample<T>(all);
    const bool dense = n_observed >= dense_share * double(data.n_rows);
    const uword most = dense ? passes_if_dense : passes_if_sparse;
    const uword passes = std::max<uword>(1, std::min(most, options_.max_passes / 2));
    const bool scaled = state_.tracker.metric().scaled();
    stream(seen, {passes, options_.tol, scaled ? stall_before_polish : 0}, observer);
    const arma::Mat<T> found = state_.tracker.basis();
    RoundOptions kept;
    kept.kept = state_.d;
    kept.has_constant = state_.tracker.has_constant();
    Polisher<T> polisher(Round<T>(found, kept), all.n_cols);
    polish(polisher, seen, std::max(options_.tol, good_enough), observer);
    if (found.n_cols == state_.d &&
        has_swallowed_coordinate(state_.basis, found, data_rows(data), n_observed)) {
      state_.error = std::max(state_.error, double(largest_angle(found, state_.basis)));
      state_.set_basis(found);
      return Status::undetermined;
    }
    confirmed_ = predicts(state_.basis, data, held_out);
    polisher.change_data();
    const Status status = polish(polisher, all, options_.tol, observer);
    round_ = polisher.round();
    round_->change_data();
    return judged(status, polisher.scatter());
  }

  template <class Data, class Observer>
  Status stream(const Data& data, const StreamOptions& options, Observer& observer) {
    return stream_passes(state_.tracker, data, options, observer,
                         [&](const PassRecord& record) { state_.take_stream(record, observer); });
  }

  /// Passes of the polish until the subspace has settled to `tol`.
  template <class Data, class Observer>
  Status polish(Polisher<T>& polisher, const Data& data, double tol, Observer& observer) {
    while (state_.polish_passes < most_polish_passes_) {
      polisher.pass(data, state_.parallel(observer));
      state_.take_round(polisher.round(), median(polisher.residuals()), data.n_cols, observer);
      if (polisher.round().has_settled(tol)) return settled_status();
    }
    return Status::max_passes;
  }

  Status settled_status() const { return gasg21::settled_status<T>(state_.error, options_.tol); }

  /// The status of a polish, by all that is known.
  Status judged(Status status, const Scatter& scatter) const {
    const double rounding = reachable<T>(0);
    const arma::vec spread = singular_values(scatter.C);
    if (spread[state_.d - 1] <= std::max(1e-13, rounding * rounding) * spread[0])
      return Status::rank_deficient;
    return !confirmed_ || state_.error > lost_angle ? Status::undetermined : status;
  }

  /// Looks for reasons not to believe the result, in samples that are a share of the data.
  template <class Data, class Observer>
  void look_for_doubts(const Data& data, double share, Observer& observer) {
    if (!spans(state_.fits_of_some(data, observer))) state_.status = Status::rank_deficient;
    if (options_.doubt && is_converged(state_.status) && !state_.is_paper())
      doubt(data, share, observer);
  }

  template <class Data, class Observer>
  void doubt(const Data& data, double share, Observer& observer) {
    const Parallel threads = state_.parallel(observer);
    Doubts& doubts = state_.doubts;
    doubts.determined = check_identifiability(state_.basis, data, options_.seed, threads);
    doubts.determined.angle *= std::sqrt(share);  // all samples know more than some
    if (!doubts.determined.is_determined()) {
      state_.status = Status::undetermined;
      return;
    }
    doubts.other = find_other_answer(state_.basis, data, state_.error, options_.seed, threads);
    if (doubts.other.is_as_good()) state_.status = Status::ambiguous;
  }

  /// Whether the result of the stream alone is not to be believed. Sets the estimated error.
  template <class Data, class Observer>
  bool is_lost(const Data& data, Observer& observer) {
    const auto& loss = state_.tracker.loss();
    if (!loss.is_least_squares()) {
      state_.error = arma::datum::nan;  // the error of least squares says nothing of an L1 fit
      return !predicts_some(state_.basis, data, hold_out<T>(data, state_.d, options_.seed), loss);
    }
    const Fitted& fits = state_.fits_of_some(data, observer);
    const double share = double(fits.size()) / double(data.n_cols);
    const double error = error_of(information(fits, data.n_rows) / share, state_.basis,
                                  state_.tracker.has_constant());
    state_.error = std::max(error, state_.history.back().largest_move());
    return state_.error > lost_angle;
  }

  void allow_passes() { most_polish_passes_ = state_.polish_passes + 2 * options_.max_passes; }

  template <class Work>
  void until_stopped(Work&& work) {
    try {
      work();
    } catch (const Stopped&) {
      state_.status = Status::interrupted;
    }
  }

  FitState<Tracker> state_;
  RecoverOptions options_;
  std::optional<Round<T>> round_;  // after the polish; empty = there was none
  uword most_polish_passes_;
  bool confirmed_ = true;  // the self-check has not failed
};

}  // namespace gasg21
