// recover(data, d, options): the default algorithm for one subspace. A few passes of the stream,
// then the polish, then a check whether to believe the result. GASG21.fit is this function.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "gasg21/data/views.hpp"
#include "gasg21/fit/projector.hpp"
#include "gasg21/geometry/affine.hpp"
#include "gasg21/geometry/grassmann.hpp"
#include "gasg21/geometry/jacobi_svd.hpp"
#include "gasg21/geometry/products.hpp"
#include "gasg21/inliers/subspace.hpp"
#include "gasg21/polish/polisher.hpp"
#include "gasg21/recovery/ambiguity.hpp"
#include "gasg21/recovery/dimension.hpp"
#include "gasg21/recovery/identifiability.hpp"
#include "gasg21/recovery/report.hpp"
#include "gasg21/recovery/self_check.hpp"
#include "gasg21/recovery/stream.hpp"
#include "gasg21/seeding/choose_lift.hpp"
#include "gasg21/seeding/spherical_pca.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/tracker.hpp"

namespace gasg21 {

/// Where a fit starts.
enum class Start { random, spherical_pca };

struct RecoverOptions {
  uword max_passes = 20;         // of the stream; the polish makes at most twice as many
  double tol = 1e-6;             // the angle to aim at, radians; 0 without polish = run all passes
  bool center = false;           // true = an affine subspace
  bool polish = true;            // false = the stream alone
  bool doubt = true;             // look for reasons not to believe a result
  uword working_components = 0;  // fit this many dimensions, then keep the best d; 0 = d
  Start start = Start::random;
  std::uint64_t seed = 0;
  unsigned n_threads = 1;  // of the polish; the result does not depend on it
  Following following{};   // how the tracker goes on after the fit
};

/// Why a fit that seems to have converged is not to be believed, if anything speaks against it.
struct Doubts {
  Identifiability determined;
  OtherAnswer other;
};

/// A fit under way: a tracker for the stream, then the polish. What it has reached is usable at any
/// time, also after an interruption.
template <class Tracker>
class Recoverer {
 public:
  using T = typename Tracker::value_type;
  using Rule = std::decay_t<decltype(std::declval<Tracker>().rule())>;

  /// Keeps d dimensions of those that the tracker fits. The dimensions of a lifted basis count.
  Recoverer(Tracker tracker, uword d, const RecoverOptions& options)
      : tracker_(std::move(tracker)), d_(d), options_(options) {
    require(d >= 1 && d <= tracker_.d(), "d = ", d, " must be in [1, ", tracker_.d(), "]");
    tracker_.follow(Following::none());  // shuffled passes need no more
    basis_ = first_columns();
  }

  /// Runs to the end, or until the observer stops it.
  template <class Data, class Observer>
  void run(const Data& data, Observer& observer) {
    try {
      status_ = options_.polish ? stream_and_polish(data, observer) : stream_alone(data, observer);
      if (!spans(basis_, data)) status_ = Status::rank_deficient;
      if (options_.doubt && is_converged(status_) && !is_paper()) doubt(data, observer);
    } catch (const Stopped&) {
      status_ = Status::interrupted;
    }
  }

  /// Lets the tracker continue from the result, with steps as long as the result may be off: that
  /// of `stream_rule` at the estimated angle, if it has levels.
  void hand_back(const Rule& stream_rule) {
    const bool trimmed = d_ < tracker_.d();
    const bool in_stream = polish_passes_ == 0;
    const bool stopped_in_stream = status_ == Status::interrupted && in_stream && !trimmed;
    if (is_paper() || stopped_in_stream) {
      basis_ = tracker_.basis();
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
      found = collect_evidence(basis_, data, parallel(observer));
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
    const HeldOut held_out = hold_out<T>(data, tracker_.d(), options_.seed);
    const Data seen = without(data, held_out);
    const double n_observed = observed_per_sample<T>(data);
    const bool dense = n_observed >= dense_share * double(data.n_rows);
    const uword most = dense ? passes_if_dense : passes_if_sparse;
    const uword passes = std::max<uword>(1, std::min(most, options_.max_passes / 2));
    stream(seen, {passes, options_.tol, tracker_.metric().scaled() ? stall_before_polish : 0},
           observer);
    const arma::Mat<T> found = tracker_.basis();
    Polisher<T> polisher(found, data.n_cols);
    polish(polisher, seen, good_enough, observer);
    if (found.n_cols == d_ &&
        has_swallowed_coordinate(basis_, found, data_rows(data), n_observed)) {
      estimated_angle_ = std::max(estimated_angle_, largest_angle(found, basis_));
      basis_ = found;
      return Status::undetermined;
    }
    const bool confirmed = predicts(basis_, data, held_out);
    const Status status = polish(polisher, data, 0, observer);
    if (status != Status::rank_deficient && (!confirmed || estimated_angle_ > lost_angle))
      return Status::undetermined;
    return status;
  }

  template <class Data, class Observer>
  Status stream(const Data& data, const StreamOptions& options, Observer& observer) {
    return stream_passes(tracker_, data, options, observer, [&](const PassRecord& record) {
      basis_ = first_columns();
      add(record, observer);
    });
  }

  /// The paper's algorithm: it checks nothing.
  bool is_paper() const { return !tracker_.metric().scaled() && !options_.polish; }

  /// Looks for reasons not to believe a fit that seems to have converged.
  template <class Data, class Observer>
  void doubt(const Data& data, Observer& observer) {
    const Parallel threads = parallel(observer);
    doubts_.determined = check_identifiability(basis_, data, options_.seed, threads);
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
    SampleFits<T> fits(tracker_.d(), data.n_cols);
    fit_samples(tracker_.basis(), data, fits, parallel(observer));
    const double error = error_of(information(fits, data.n_rows), tracker_.basis());
    estimated_angle_ = std::max(error, history_.back().largest_move());
    return estimated_angle_ > lost_angle;
  }

  /// Passes of the polish until one moves the subspace by less than tol, `at_least`, or a share of
  /// the estimated error.
  template <class Data, class Observer>
  Status polish(Polisher<T>& polisher, const Data& data, double at_least, Observer& observer) {
    Status status = Status::max_passes;
    const double tol = std::max(reachable<T>(options_.tol), at_least);
    while (polish_passes_ < 2 * options_.max_passes) {
      polish_pass(polisher, data, observer);
      if (history_.back().largest_move() <= std::max(tol, stop_share * estimated_angle_)) {
        status = settled_status<T>(estimated_angle_, options_.tol);
        break;
      }
    }
    const double eps = 10.0 * std::numeric_limits<T>::epsilon();
    const arma::vec spread = singular_values(polisher.scatter().C);
    return spread[d_ - 1] <= std::max(1e-13, eps * eps) * spread[0] ? Status::rank_deficient
                                                                    : status;
  }

  template <class Data, class Observer>
  void polish_pass(Polisher<T>& polisher, const Data& data, Observer& observer) {
    const Parallel threads = parallel(observer);
    const bool trimmed = d_ < polisher.basis().n_cols;
    polisher.fit(data, threads);
    polisher.weigh([&] { return observer.poll(); });
    estimated_angle_ =
        trimmed ? error_of_leading(polisher) : error_of(polisher.information(), polisher.basis());
    polisher.add(data, threads);
    double moved = polisher.update(threads);
    arma::Mat<T> kept = polisher.basis();
    if (trimmed) {
      kept = product(kept, arma::conv_to<arma::Mat<T>>::from(leading(polisher)));
      moved = largest_angle(basis_, kept);  // the other directions never settle
    }
    basis_ = std::move(kept);
    ++polish_passes_;
    PassRecord record;
    record.stage = Stage::polish;
    record.moved = {moved};
    record.median_residual = median(polisher.residuals());
    record.estimated_angle = {estimated_angle_};
    add(record, observer);
  }

  /// The d directions in which the inliers' weights vary most. The axis of a constant is one of
  /// them, whatever its share: without it a lifted subspace has no point.
  arma::mat leading(const Polisher<T>& polisher) const {
    const arma::mat& C = polisher.scatter().C;
    if (!tracker_.has_constant()) return thin_svd(C).V.eval().head_cols(d_);
    const arma::vec axis = constant_axis(polisher.basis());
    const arma::mat rest = orthogonal_complement(axis);
    const arma::mat V = thin_svd(transposed_product(rest, product(C, rest))).V.eval();
    return arma::join_rows(axis / std::max(arma::norm(axis), 1e-300),
                           product(rest, arma::mat(V.head_cols(d_ - 1))));
  }

  /// The standard error of the directions of U. That of the constant tells where an affine subspace
  /// lies, not how it is inclined.
  double error_of(const arma::mat& information, const arma::Mat<T>& U) const {
    return standard_error(
        tracker_.has_constant() ? information_besides(information, constant_axis(U)) : information,
        U.n_rows);
  }

  /// The standard error over the leading directions alone.
  double error_of_leading(const Polisher<T>& polisher) const {
    const arma::mat V = leading(polisher);
    const arma::mat kept = transposed_product(V, product(polisher.information(), V));
    return error_of(kept, product(polisher.basis(), arma::conv_to<arma::Mat<T>>::from(V)));
  }

  arma::Mat<T> first_columns() const {
    const arma::Mat<T> U = tracker_.basis();
    return U.head_cols(d_);
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

  Tracker tracker_;
  uword d_;
  RecoverOptions options_;
  arma::Mat<T> basis_;  // n x d
  std::vector<PassRecord> history_;
  Status status_ = Status::interrupted;
  Doubts doubts_;
  double estimated_angle_ = arma::datum::pi / 2;
  uword polish_passes_ = 0;
};

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

/// The result of `recover`.
template <class T>
struct Recovery {
  arma::Mat<T> basis;      // n x d, orthonormal: the principal axes, strongest first
  arma::Col<T> mean;       // n, of the inliers; zeros for a linear subspace
  arma::Mat<T> weights;    // d x m, of each sample in the basis; NaN where not determined
  arma::Col<T> residuals;  // m, of the unit-norm samples: 0 = in the subspace, 1 = orthogonal
  Subspace<T> subspace;    // what the fit knows about its inliers
  Status status;
  double estimated_angle;  // standard error of the largest angle to the true subspace, radians
  std::vector<PassRecord> history;
  Tracker<T> tracker;  // continues from here, one vector at a time

  bool converged() const { return is_converged(status); }
};

/// The dimension of a linear or affine subspace, chosen from the data.
template <class T, class Data, class Observer>
uword chosen_dimension(const Data& data, const RecoverOptions& options, Observer& observer) {
  DimensionOptions choice;
  choice.seed = options.seed;
  choice.n_threads = options.n_threads;
  return data.lift ? choose_affine_dimension<T>(data, choice, observer)
                   : choose_dimension<T>(data, choice, observer);
}

/// Finds the d-dimensional subspace that the good samples lie on. The data is a view (DenseView,
/// SparseView or AnyView). d = 0 chooses the dimension from the data.
template <class T, class Data, class Observer>
Recovery<T> recover(const Data& samples, uword d, const RecoverOptions& options,
                    Observer& observer) {
  const Lift<T> lift = options.center ? choose_lift<T>(samples) : Lift<T>{};
  const Data data = options.center ? lifted(samples, lift) : samples;
  if (d == 0) d = chosen_dimension<T>(data, options, observer);
  const uword more = options.center, working = std::max(d, options.working_components) + more;
  const AdaptiveStep fit_rule(AdaptiveStepOptions::defaults(true, false)), stream_rule;
  auto tracker = start_tracker<Tracker<T>>(data, working, fit_rule, L21Loss{}, CovarianceScaling{},
                                           options.start, options.seed, observer);
  if (options.center) tracker.set_lift(lift);
  Recoverer<Tracker<T>> fit(std::move(tracker), d + more, options);
  fit.run(data, observer);
  fit.hand_back(stream_rule);
  Subspace<T> subspace(fit.basis(), fit.tracker().lift(), fit.evidence(data, observer), fit.kind());
  Recovery<T> found{subspace.axes().components,
                    subspace.axes().mean,
                    arma::Mat<T>(d, data.n_cols),
                    arma::Col<T>(data.n_cols),
                    subspace,
                    fit.status(),
                    fit.estimated_angle(),
                    fit.history(),
                    fit.tracker()};
  const Lift<T> centred{found.mean, T(0)};
  const Data about_mean = options.center ? lifted(samples, centred) : samples;
  Projector<T> along(found.basis), to(fit.basis());
  for (uword j = 0; j < data.n_cols; ++j) {
    along.read(about_mean.sample(j));
    along.weights(found.weights.colptr(j));
    to.read(data.sample(j));
    found.residuals[j] = to.residual();
  }
  return found;
}

/// The same for an n x m matrix, one sample per column; NaN = missing.
template <class T>
Recovery<T> recover(const arma::Mat<T>& X, uword d, const RecoverOptions& options = {}) {
  Unobserved nobody;
  return recover<T>(DenseView<T>(X), d, options, nobody);
}

}  // namespace gasg21
