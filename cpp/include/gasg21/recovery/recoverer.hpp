// A fit of one subspace: the stream, the polish, and the doubts about the result. `recover` runs
// it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "gasg21/data/views.hpp"
#include "gasg21/geometry/grassmann.hpp"
#include "gasg21/geometry/jacobi_svd.hpp"
#include "gasg21/geometry/products.hpp"
#include "gasg21/inliers/subspace.hpp"
#include "gasg21/polish/polisher.hpp"
#include "gasg21/recovery/block_sums.hpp"
#include "gasg21/recovery/doubts.hpp"
#include "gasg21/recovery/leading.hpp"
#include "gasg21/recovery/options.hpp"
#include "gasg21/recovery/report.hpp"
#include "gasg21/recovery/sampling.hpp"
#include "gasg21/recovery/self_check.hpp"
#include "gasg21/recovery/stream.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/tracker.hpp"

namespace gasg21 {

/// A fit under way: a tracker for the stream, then the polish. What it has reached is usable at any
/// time, also after an interruption.
template <class Tracker>
class Recoverer {
 public:
  using T = typename Tracker::value_type;
  using Rule = std::decay_t<decltype(std::declval<Tracker>().rule())>;

  /// Keeps d dimensions of those that the tracker fits. The dimensions of a lifted basis count.
  Recoverer(Tracker tracker, uword d, const RecoverOptions& options)
      : tracker_(std::move(tracker)),
        d_(d),
        options_(options),
        most_polish_passes_(2 * options.max_passes) {
    require(d >= 1 && d <= tracker_.d(), "d = ", d, " must be in [1, ", tracker_.d(), "]");
    tracker_.follow(Following::none());  // shuffled passes need no more
    basis_ = first_columns();
  }

  /// Runs to the end, or until the observer stops it.
  template <class Data, class Observer>
  void run(const Data& data, Observer& observer) {
    until_stopped([&] {
      status_ = options_.polish ? stream_and_polish(data, observer) : stream_alone(data, observer);
      conclude(data, 1, observer);
    });
  }

  // For data in blocks: `solve` on a sample of it, `round` with the sums of all blocks until it
  // returns true, then `conclude`.

  /// Stream and polish on a sample of the data.
  template <class Data, class Observer>
  void solve(const Data& sample, Observer& observer) {
    until_stopped([&] {
      status_ = solve_all(sample, observer);
      most_polish_passes_ = polish_passes_ + 2 * options_.max_passes;
    });
  }

  /// One round, with the sums over all blocks for `working_basis` and `scatter`. Returns whether it
  /// was the last.
  template <class Observer>
  bool round(const BlockSums& sums, Observer& observer) {
    scatter_ = Scatter(sums.scatter);
    estimated_angle_ = error_of_kept(sums.information, scatter_.C, working_);
    const double moved = advance(working_, sums.rows<T>(), scatter_, secant_, parallel(observer));
    keep(working_, scatter_.C, moved, sums.residuals.quantile(0.5), sums.usage.counters.seen(),
         observer);
    usage_ = sums.usage;
    const bool settled = has_settled(0), last = polish_passes_ >= most_polish_passes_;
    status_ =
        judged(settled ? settled_status<T>(estimated_angle_, options_.tol) : Status::max_passes);
    return settled || last;
  }

  /// Looks for reasons not to believe the result, in samples that are a share of the data.
  template <class Data, class Observer>
  void conclude(const Data& data, double share, Observer& observer) {
    if (!spans(fits_of_some(data, observer))) status_ = Status::rank_deficient;
    if (options_.doubt && is_converged(status_) && !is_paper()) doubt(data, share, observer);
  }

  /// As `conclude`, after the rounds over blocks.
  template <class Data, class Observer>
  void conclude_rounds(const Data& sample, double share, Observer& observer) {
    if (status_ != Status::interrupted) until_stopped([&] { conclude(sample, share, observer); });
  }

  void interrupt() { status_ = Status::interrupted; }

  /// Whether the polish may go on over all blocks: the sample has not shown that it fails.
  bool may_go_on() const { return status_ != Status::interrupted && !working_.empty(); }
  /// What is polished: with more columns than `basis` if working_components asks for them.
  const arma::Mat<T>& working_basis() const { return working_; }
  const Scatter& scatter() const { return scatter_; }

  /// Lets the tracker continue from the result, with steps as long as the result may be off: that
  /// of `stream_rule` at the estimated angle, if it has levels.
  void hand_back(const Rule& stream_rule) {
    if (usage_) tracker_.set_usage(usage_->counters, usage_->entries_used);
    const bool trimmed = d_ < tracker_.d();
    const bool in_stream = polish_passes_ == 0;
    const bool stopped_in_stream = status_ == Status::interrupted && in_stream && !trimmed;
    if (is_paper() || stopped_in_stream) {
      arma::Mat<T> reached = tracker_.basis();  // further than basis_ if a pass was stopped
      if (!std::equal(reached.begin(), reached.end(), basis_.begin(), basis_.end()))
        set_basis(std::move(reached));
      return;
    }
    Rule rule = rule_after_fit(stream_rule, tracker_.rule(), estimated_angle_);
    if (trimmed)
      tracker_ = tracker_.continued(basis_, std::move(rule));
    else
      tracker_.restart(basis_, std::move(rule));
  }

  /// What the samples say about the inliers of the result. The tracker takes over their fits and
  /// some of the samples, and follows the stream from here.
  template <class Data, class Observer>
  Evidence evidence(const Data& data, Observer& observer) {
    Evidence found;
    try {
      if (status_ == Status::interrupted && observer.poll()) throw Stopped{};
      found = collect_evidence(basis_, data, fits_of_some(data, observer));
    } catch (const Stopped&) {
      status_ = Status::interrupted;
      found = collect_little_evidence(basis_, data);
    }
    tracker_.set_recent_fits(found.fits);
    tracker_.follow_after_fit(options_.following, data, is_converged(status_));
    return found;
  }

  FitKind kind() const {
    return {gasg21::exact_residual(std::numeric_limits<T>::epsilon(), status_ == Status::converged,
                                   estimated_angle_)};
  }

  /// n x d, in no particular coordinates.
  const arma::Mat<T>& basis() const { return basis_; }
  Status status() const { return status_; }
  double estimated_angle() const {
    return std::max({estimated_angle_, doubts_.determined.angle,
                     doubts_.other.bent ? doubts_.other.angle : 0.0});
  }
  const std::vector<PassRecord>& history() const { return history_; }
  const Doubts& doubts() const { return doubts_; }
  Tracker& tracker() { return tracker_; }

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
    const bool may_stall = tracker_.metric().scaled() && options_.tol > 0;
    const Status status =
        stream(data, {options_.max_passes, options_.tol, may_stall ? stall_alone : 0}, observer);
    const bool lost = is_lost(data, observer);
    return lost && status != Status::max_passes ? Status::undetermined : status;
  }

  template <class Data, class Observer>
  Status stream_and_polish(const Data& data, Observer& observer) {
    const uword enough = enough_samples(data.n_rows, tracker_.d(), observed_per_sample<T>(data));
    if (!is_worth_sampling(data.n_cols, enough)) return solve_all(data, observer);
    const Tracker start = tracker_;
    const std::vector<uword> columns = random_columns(data.n_cols, enough, options_.seed);
    if (is_converged(solve_some(data, columns, observer))) {
      for (const uword more : stages_between(enough, data.n_cols))
        polish_on(SubsetView<Data>(data, random_columns(data.n_cols, more, options_.seed)),
                  observer);
      return polish_on(data, observer);
    }
    tracker_ = start;  // the sample does not suffice
    most_polish_passes_ = polish_passes_ + 2 * options_.max_passes;
    return solve_all(data, observer);
  }

  /// Polishes on more samples what was found on some, by rounds: these take no memory per sample.
  template <class Samples, class Observer>
  Status polish_on(const Samples& samples, Observer& observer) {
    secant_ = Secant<T>();
    most_polish_passes_ = polish_passes_ + 2 * options_.max_passes;
    while (!round(block_sums(working_, scatter_, samples, parallel(observer)), observer)) {
    }
    return status_;
  }

  template <class Data, class Observer>
  Status solve_all(const Data& data, Observer& observer) {
    const HeldOut held_out = hold_out<T>(data, tracker_.d(), options_.seed);
    return solve_on(without(data, held_out), data, data, held_out, observer);
  }

  template <class Data, class Observer>
  Status solve_some(const Data& data, const std::vector<uword>& columns, Observer& observer) {
    const SubsetView<Data> some(data, columns);
    HeldOut held_out;
    for (auto& [k, hidden] : hold_out<T>(some, tracker_.d(), options_.seed).rows)
      held_out.rows.emplace(columns[k], hidden);
    const Data seen = without(data, held_out);
    return solve_on(SubsetView<Data>(seen, columns), some, data, held_out, observer);
  }

  /// Stream, polish and self-check on the samples `all`; `seen` are the same without the held-out
  /// entries. The numbers of the samples in `held_out` are those of `data`.
  template <class Samples, class Data, class Observer>
  Status solve_on(const Samples& seen, const Samples& all, const Data& data,
                  const HeldOut& held_out, Observer& observer) {
    const double n_observed = observed_per_sample<T>(all);
    const bool dense = n_observed >= dense_share * double(data.n_rows);
    const uword most = dense ? passes_if_dense : passes_if_sparse;
    const uword passes = std::max<uword>(1, std::min(most, options_.max_passes / 2));
    stream(seen, {passes, options_.tol, tracker_.metric().scaled() ? stall_before_polish : 0},
           observer);
    const arma::Mat<T> found = tracker_.basis();
    Polisher<T> polisher(found, all.n_cols);
    polish(polisher, seen, good_enough, observer);
    if (found.n_cols == d_ &&
        has_swallowed_coordinate(basis_, found, data_rows(data), n_observed)) {
      estimated_angle_ = std::max(estimated_angle_, largest_angle(found, basis_));
      set_basis(found);
      return Status::undetermined;
    }
    confirmed_ = predicts(basis_, data, held_out);
    polisher.change_data();
    const Status status = polish(polisher, all, 0, observer);
    working_ = polisher.basis();
    scatter_ = polisher.scatter();
    return judged(status);
  }

  /// The status of a polish, by all that is known.
  Status judged(Status status) const {
    const double eps = 10.0 * std::numeric_limits<T>::epsilon();
    const arma::vec spread = singular_values(scatter_.C);
    if (spread[d_ - 1] <= std::max(1e-13, eps * eps) * spread[0]) return Status::rank_deficient;
    return !confirmed_ || estimated_angle_ > lost_angle ? Status::undetermined : status;
  }

  template <class Data, class Observer>
  Status stream(const Data& data, const StreamOptions& options, Observer& observer) {
    return stream_passes(tracker_, data, options, observer, [&](const PassRecord& record) {
      set_basis(first_columns());
      add(record, observer);
    });
  }

  /// The paper's algorithm: it checks nothing.
  bool is_paper() const { return !tracker_.metric().scaled() && !options_.polish; }

  /// Looks for reasons not to believe a fit that seems to have converged.
  template <class Data, class Observer>
  void doubt(const Data& data, double share, Observer& observer) {
    const Parallel threads = parallel(observer);
    doubts_.determined = check_identifiability(basis_, data, options_.seed, threads);
    doubts_.determined.angle *= std::sqrt(share);  // all samples know more than some
    if (!doubts_.determined.is_determined()) {
      status_ = Status::undetermined;
      return;
    }
    doubts_.other = find_other_answer(basis_, data, estimated_angle_, options_.seed, threads);
    if (doubts_.other.is_as_good()) status_ = Status::ambiguous;
  }

  /// Whether the result of the stream alone is not to be believed. Sets the estimated angle.
  template <class Data, class Observer>
  bool is_lost(const Data& data, Observer& observer) {
    if (!tracker_.loss().is_least_squares()) {
      estimated_angle_ = arma::datum::nan;  // the error of least squares says nothing of an L1 fit
      return !predicts_some(basis_, data, hold_out<T>(data, d_, options_.seed), tracker_.loss());
    }
    const Fitted& fits = fits_of_some(data, observer);
    const double share = double(fits.size()) / double(data.n_cols);
    const double error =
        error_of(information(fits, data.n_rows) / share, basis_, tracker_.has_constant());
    estimated_angle_ = std::max(error, history_.back().largest_move());
    return estimated_angle_ > lost_angle;
  }

  /// Passes of the polish until one moves the subspace by less than tol, `at_least`, or a share of
  /// the estimated error.
  template <class Data, class Observer>
  Status polish(Polisher<T>& polisher, const Data& data, double at_least, Observer& observer) {
    while (polish_passes_ < most_polish_passes_) {
      polish_pass(polisher, data, observer);
      scatter_ = polisher.scatter();
      if (has_settled(at_least)) return settled_status<T>(estimated_angle_, options_.tol);
    }
    return Status::max_passes;
  }

  /// Whether the last pass moved the subspace too little for another one to matter.
  bool has_settled(double at_least) const {
    const double tol = std::max(reachable<T>(options_.tol), at_least);
    return history_.back().largest_move() <= std::max(tol, stop_share * estimated_angle_);
  }

  template <class Data, class Observer>
  void polish_pass(Polisher<T>& polisher, const Data& data, Observer& observer) {
    const Parallel threads = parallel(observer);
    polisher.fit(data, threads);
    polisher.weigh([&] { return observer.poll(); });
    estimated_angle_ =
        error_of_kept(polisher.information(), polisher.scatter().C, polisher.basis());
    polisher.add(data, threads);
    const double moved = polisher.update(threads);
    keep(polisher.basis(), polisher.scatter().C, moved, median(polisher.residuals()), data.n_cols,
         observer);
  }

  /// Takes over the basis U that a pass has reached, or its leading directions, and records the
  /// pass.
  template <class Observer>
  void keep(const arma::Mat<T>& U, const arma::mat& C, double moved, double median_residual,
            uword n_samples, Observer& observer) {
    arma::Mat<T> kept = U;
    if (d_ < U.n_cols) {
      kept = product(U, arma::conv_to<arma::Mat<T>>::from(
                            leading_directions(C, U, d_, tracker_.has_constant())));
      moved = largest_angle(basis_, kept);  // the other directions never settle
    }
    set_basis(std::move(kept));
    ++polish_passes_;
    PassRecord record;
    record.stage = Stage::polish;
    record.moved = {moved};
    record.median_residual = median_residual;
    record.estimated_angle = {estimated_angle_};
    record.n_samples = n_samples;
    add(record, observer);
  }

  /// The standard error of the directions that are kept: all of U, or the leading ones.
  double error_of_kept(const arma::mat& information, const arma::mat& C,
                       const arma::Mat<T>& U) const {
    return error_of_leading(information, C, U, d_, tracker_.has_constant());
  }

  void set_basis(arma::Mat<T> U) {
    basis_ = std::move(U);
    fits_.reset();
  }

  /// The fits of some samples to the basis, made once.
  template <class Data, class Observer>
  const Fitted& fits_of_some(const Data& data, Observer& observer) {
    if (!fits_) fits_ = fit_some(basis_, data, parallel(observer), samples_to_describe());
    return *fits_;
  }

  /// How many samples describe the inliers. The axes of the subspace are read off them. The paper's
  /// algorithm keeps its basis as it is: there fewer do, so that they take a small share of the
  /// fit.
  uword samples_to_describe() const {
    if (!is_paper()) return enough_described;
    constexpr uword share = 16, fewest = 250, per_dimension = 50;
    uword seen = 0;
    for (const PassRecord& record : history_) seen += record.n_samples;
    const uword wanted = std::max(seen / share, per_dimension * d_);
    return std::clamp(wanted, fewest, enough_described);
  }

  arma::Mat<T> first_columns() const {
    arma::Mat<T> U = tracker_.basis();
    return d_ < U.n_cols ? arma::Mat<T>(U.head_cols(d_)) : U;
  }

  template <class Observer>
  void add(const PassRecord& record, Observer& observer) {
    history_.push_back(record);
    observer.pass(record);
  }

  template <class Work>
  void until_stopped(Work&& work) {
    try {
      work();
    } catch (const Stopped&) {
      status_ = Status::interrupted;
    }
  }

  template <class Observer>
  Parallel parallel(Observer& observer) const {
    return Parallel(options_.n_threads, [&observer] { return observer.poll(); });
  }

  Tracker tracker_;
  uword d_;
  RecoverOptions options_;
  arma::Mat<T> basis_;          // n x d
  std::optional<Fitted> fits_;  // of some samples to it
  std::vector<PassRecord> history_;
  Status status_ = Status::interrupted;
  Doubts doubts_;
  double estimated_angle_ = arma::datum::pi / 2;
  bool confirmed_ = true;       // the self-check has not failed
  arma::Mat<T> working_;        // n x tracker_.d(): what the polish has reached; empty = nothing
  Scatter scatter_;             // of it
  Secant<T> secant_;            // of rounds over blocks
  std::optional<Usage> usage_;  // of all samples, if the stream has not seen all
  uword polish_passes_ = 0, most_polish_passes_;
};

}  // namespace gasg21
