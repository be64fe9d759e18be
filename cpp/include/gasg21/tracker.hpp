// Tracker: one subspace, one update per vector. Alg. 1.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <ostream>
#include <utility>
#include <variant>
#include <vector>

#include "gasg21/basis/tracked_basis.hpp"
#include "gasg21/data/observation.hpp"
#include "gasg21/geometry/grassmann.hpp"
#include "gasg21/inliers/fitted.hpp"
#include "gasg21/loss.hpp"
#include "gasg21/metric.hpp"
#include "gasg21/step_size.hpp"
#include "gasg21/stream/follower.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/random.hpp"

namespace gasg21 {

/// Use made of one vector. The first two count as used.
enum class StepOutcome {
  taken,            // the subspace moved
  in_subspace,      // r = 0: it lies in the subspace already, nothing to move
  zero,             // all observed entries are 0
  all_missing,      // no entry is observed
  too_few_entries,  // |Omega| <= d: any subspace fits it
  not_finite,       // an observed entry is infinite
  rank_deficient,   // U_Omega is singular: the weights are not determined
  orthogonal,       // w = 0: no direction to move in
};
inline constexpr std::size_t n_outcomes = 8;

struct StepReport {
  StepOutcome outcome;
  double residual;     // |r| of the unit-norm sample before the step; NaN if it was not fitted
  double eta;          // last step length
  std::int64_t level;  // of the adaptive rule
  StreamStatus status = StreamStatus::starting;  // of the stream, if it is watched
  bool changed = false;                          // this vector showed that the subspace has changed
};

/// How many vectors had which outcome.
class Counters {
 public:
  std::uint64_t operator[](StepOutcome o) const { return count_[std::size_t(o)]; }
  std::uint64_t& operator[](StepOutcome o) { return count_[std::size_t(o)]; }
  std::uint64_t used() const {
    return (*this)[StepOutcome::taken] + (*this)[StepOutcome::in_subspace];
  }
  std::uint64_t seen() const {
    std::uint64_t total = 0;
    for (auto c : count_) total += c;
    return total;
  }
  std::uint64_t skipped() const { return seen() - used(); }

 private:
  std::array<std::uint64_t, n_outcomes> count_{};
};

/// Name of a StepOutcome in reports.
inline const char* to_string(StepOutcome outcome) {
  constexpr std::array<const char*, n_outcomes> names{"taken",          "in_subspace", "zero",
                                                      "all_missing",    "too_few",     "nonfinite",
                                                      "rank_deficient", "orthogonal"};
  return names[std::size_t(outcome)];
}

inline std::ostream& operator<<(std::ostream& out, const Counters& counters) {
  out << counters.seen() << " seen";
  for (std::size_t o = 0; o < n_outcomes; ++o)
    if (counters[StepOutcome(o)] > 0)
      out << ", " << counters[StepOutcome(o)] << " " << to_string(StepOutcome(o));
  return out;
}

/// Everything a stream needs to go on. A stream that is resumed from a copy of its state continues
/// bit for bit.
template <class T, class StepRule, class Metric>
struct TrackerState {
  arma::Mat<T> U;  // n x d, orthonormal
  StepRule rule;
  Metric metric;
  RankOneGradient<T> previous;  // weight 0 until the first step
  Random random;
  Counters counters;
  std::uint64_t entries_used = 0;         // observed entries of all used vectors
  std::uint64_t steps_since_check = 0;    // of orthonormality
  BasisLayout<T> layout{};                // of U, for resuming bit by bit; clear it to change U
  RecentFits recent{U.n_cols};            // describes the inliers
  std::shared_ptr<const Lift<T>> lift{};  // of the samples; none = a linear subspace
  FollowerState<T, StepRule, Metric> following{};
};

/// One subspace that follows a stream of vectors. The defaults are scaled GASG21, which replays
/// vectors where their order matters and starts anew when the subspace changes (`Following`);
/// `PaperTracker` below is the paper's algorithm.
template <class T = double, class StepRule = AdaptiveStep, class Loss = L21Loss,
          class Metric = CovarianceScaling>
class Tracker {
 public:
  using State = TrackerState<T, StepRule, Metric>;
  using Fit = decltype(std::declval<const Loss&>().template make_fit<T>(0, 0));
  using FixedFitOfLoss =
      decltype(std::declval<const Loss&>().template make_fixed_fit<T>(arma::Mat<T>()));
  using value_type = T;

  /// Starts from a uniformly random d-dimensional subspace of R^n.
  Tracker(uword n, uword d, StepRule rule = StepRule{}, std::uint64_t seed = 0, Loss loss = {},
          Metric metric = {})
      : Tracker(initial(n, d, std::move(rule), std::move(metric), seed), loss) {}

  /// Starts from the span of the columns of U.
  Tracker(arma::Mat<T> U, StepRule rule = StepRule{}, std::uint64_t seed = 0, Loss loss = {},
          Metric metric = {})
      : Tracker(initial(std::move(U), std::move(rule), std::move(metric), seed), loss) {}

  /// Starts an affine subspace of dimension d: the samples are lifted as they come. `choose_lift`
  /// finds a lift for the first samples.
  Tracker(Lift<T> lift, uword d, StepRule rule = StepRule{}, std::uint64_t seed = 0, Loss loss = {},
          Metric metric = {})
      : Tracker(lift.n_rows(), d + lift.n_appended(), std::move(rule), seed, std::move(loss),
                std::move(metric)) {
    set_lift(std::move(lift));
  }

  /// Resumes.
  explicit Tracker(const State& state, Loss loss = {})
      : U_(checked(state).U, state.previous.e, state.layout),
        rule_(state.rule),
        metric_(state.metric),
        previous_{state.previous.w, state.previous.weight},
        random_(state.random),
        counters_(state.counters),
        entries_used_(state.entries_used),
        steps_since_check_(state.steps_since_check),
        recent_(state.recent),
        lift_(state.lift),
        loss_(std::move(loss)),
        x_(U_.n()),
        fit_(loss_.template make_fit<T>(U_.n(), U_.d())),
        gradient_{arma::Col<T>(U_.d())},
        direction_(U_.d()),
        follower_(state.following, U_.n(), U_.d()),
        previous_length_(previous_.weight * double(arma::norm(previous_.w))) {}

  /// One step for one vector; NaN = missing.
  StepReport update(const arma::Col<T>& x) {
    require(x.n_elem == n_features(), "the vector has ", x.n_elem,
            " entries, but n = ", n_features());
    return update(DenseSample<T>{x.memptr()});
  }

  /// One step for one vector given by its observed entries.
  StepReport update(const arma::Col<T>& values, const arma::uvec& rows) {
    require(values.n_elem == rows.n_elem, "there are ", values.n_elem, " values for ", rows.n_elem,
            " rows");
    return update(SparseSample<T, uword>{values.memptr(), rows.memptr(), values.n_elem});
  }

  /// One step for one borrowed vector.
  StepReport update(DenseSample<T> x) {
    if (lift_) x.lift = lift_.get();
    return step(x);
  }
  template <class Index>
  StepReport update(SparseSample<T, Index> x) {
    if (lift_) x.lift = lift_.get();
    return step(x);
  }
  StepReport update(AnySample<T> x) {
    if (lift_) std::visit([this](auto& sample) { sample.lift = lift_.get(); }, x);
    return step(x);
  }

  /// Starts to follow the stream in another way: with an empty reservoir and no status.
  void follow(const Following& options) { follower_.start(options, n(), d()); }
  /// The subspace is one that a fit has found on these samples: some of them fill the reservoir,
  /// and the recent fits say what residuals to expect. `settled`: the fit has converged.
  template <class Data>
  void follow_after_fit(const Following& options, const Data& data, bool settled) {
    follow(options);
    if (settled && options.watch) follower_.start_after_fit(near_residuals());
    if (options.replay == 0) return;
    const auto some = about(data, options.replay);
    for (uword j = 0; j < some.n_cols; ++j)
      if (x_.read(some.sample(j)) == Usable::yes) follower_.fill_reservoir(x_, data.n_cols);
  }
  /// How the stream fares, and the numbers of vectors after which its subspace was seen to change,
  /// the last 1000 of them.
  StreamStatus status() const { return follower_.detector().status(); }
  const std::vector<std::uint64_t>& changes() const { return follower_.detector().changes(); }
  const Following& following() const { return follower_.state().options; }
  /// Whether updates use vectors drawn from the reservoir.
  bool is_replaying() const { return follower_.reservoir().is_ready(); }

  /// Announces the vector after the next one, so that it can be prefetched.
  void expect(const DenseSample<T>& x) { U_.expect(x.values); }
  void expect(const AnySample<T>& x) {
    if (const auto* dense = std::get_if<DenseSample<T>>(&x)) expect(*dense);
  }
  template <class Index>
  void expect(const SparseSample<T, Index>& /*x*/) {}

  /// Continues from another basis with another rule. The metric and the previous gradient, which
  /// belong to the coordinates of the old basis, start anew.
  void restart(arma::Mat<T> U, StepRule rule) {
    require(U.n_rows == n() && U.n_cols == d(), "the basis must stay ", n(), " x ", d());
    require(orthonormalize(U), "the columns of the basis must be finite and independent");
    U_.set(U);
    rule_ = std::move(rule);
    forget_steps();
    recent_ = RecentFits(d());
    steps_since_check_ = 0;
    follow(following());
  }

  /// n x d, orthonormal. After a change the basis before it, until the new subspace is found.
  arma::Mat<T> basis() const { return follower_.backup() ? follower_.backup()->U : U_.matrix(); }
  /// Writes entry (i, c) of the basis to out[i * row_stride + c * column_stride].
  void copy_basis(T* out, uword row_stride, uword column_stride) {
    U_.copy_to(out, row_stride, column_stride);
  }
  State state() const {
    return {U_.matrix(),   rule_,
            metric_,       RankOneGradient<T>{U_.direction(), previous_.w, previous_.weight},
            random_,       counters_,
            entries_used_, steps_since_check_,
            U_.layout(),   recent_,
            lift_,         follower_.state()};
  }
  /// The same state for a basis of fewer columns: the counters and random numbers go on.
  Tracker continued(arma::Mat<T> U, StepRule rule) const {
    check_dimensions(U.n_rows, U.n_cols);
    require(orthonormalize(U), "the columns of the basis must be finite and independent");
    Metric metric = metric_;
    metric.forget();
    State state = initial(std::move(U), std::move(rule), std::move(metric), random_);
    state.counters = counters_;
    state.entries_used = entries_used_;
    state.lift = lift_;
    return Tracker(state, loss_);
  }
  const StepRule& rule() const { return rule_; }
  const Metric& metric() const { return metric_; }
  const Counters& counters() const { return counters_; }
  std::uint64_t entries_used() const { return entries_used_; }
  /// Replaces the counts, for a fit that has used samples in other ways than by updates.
  void set_usage(const Counters& counters, std::uint64_t entries_used) {
    counters_ = counters;
    entries_used_ = entries_used;
  }
  Random& random() { return random_; }
  const Loss& loss() const { return loss_; }
  /// Size of the basis: of the lifted samples if there is a lift.
  uword n() const { return U_.n(); }
  uword d() const { return U_.d(); }
  /// Entries of a vector before it is lifted.
  uword n_features() const { return lift_ ? lift_->centre.n_elem : n(); }
  const std::shared_ptr<const Lift<T>>& lift() const { return lift_; }
  /// The basis has a row for the constant of the lift.
  bool has_constant() const { return lift_ && lift_->n_appended() > 0; }
  void set_lift(Lift<T> lift) {
    require(lift.n_rows() == n(), "the lift makes samples of ", lift.n_rows(),
            " entries, but n = ", n());
    lift_ = std::make_shared<const Lift<T>>(std::move(lift));
  }
  /// The fits of the last vectors, each from before its update.
  Fitted recent_fits() const {
    return (follower_.backup() ? follower_.backup()->recent : recent_).fitted(n());
  }
  /// Replaces them, for a basis that was not found vector by vector.
  void set_recent_fits(const Fitted& fitted) {
    require(fitted.d() == d(), "the fits have ", fitted.d(), " weights, but d = ", d());
    recent_.assign(fitted);
  }

 private:
  /// A step drifts off orthonormality by about 1e-18. The basis is checked this often, and repaired
  /// when the drift exceeds the bound.
  static constexpr std::uint64_t check_interval = 1000;
  static constexpr T drift_bound = 64 * std::numeric_limits<T>::epsilon();

  /// Alg. 1, the body of the loop.
  template <class Sample>
  StepReport step(const Sample& sample) {
    const Usable usable = x_.read(sample);  // step 2
    if (usable != Usable::yes) return skipped(usable);
    const Solved solved = fit_.solve(U_, x_);  // step 3
    if (solved != Solved::yes) return skipped(solved);
    recent_.add(fit_.w().memptr(), double(fit_.residual()), double(x_.count()), double(x_.scale()));
    const StepOutcome outcome = fitted_outcome();
    const double residual = double(fit_.residual());
    if (outcome != StepOutcome::orthogonal) entries_used_ += x_.count();
    const std::uint64_t n_changes = follower_.detector().n_changes();
    if (follower_.watches())
      follow_and_learn(outcome);
    else if (outcome == StepOutcome::taken)
      learn();
    StepReport done = report(outcome, residual);
    done.changed = follower_.detector().n_changes() > n_changes;
    return done;
  }

  /// Outcome of a vector, by its fit.
  StepOutcome fitted_outcome() const {
    if (fit_.exact()) return StepOutcome::in_subspace;
    return fit_.size() <= std::numeric_limits<T>::epsilon() ? StepOutcome::orthogonal
                                                            : StepOutcome::taken;
  }

  /// Updates with the fitted vector, or with one of the reservoir, and looks for changes.
  void follow_and_learn(StepOutcome outcome) {
    const StreamEvent event = follower_.see(x_, double(fit_.distance()), loss_);
    if (event == StreamEvent::returned) return restore();
    if (const T* drawn = follower_.replay(x_)) {
      const bool solved =
          x_.read(DenseSample<T>{drawn}) == Usable::yes && fit_.solve(U_, x_) == Solved::yes;
      outcome = solved ? fitted_outcome() : StepOutcome::rank_deficient;
    }
    if (outcome == StepOutcome::taken) learn();
    if (event == StreamEvent::changed) start_anew();
  }

  /// Alg. 1, steps 4 to 6, for the fitted vector.
  void learn() {
    std::copy(fit_.w().begin(), fit_.w().end(), gradient_.w.begin());  // step 4
    gradient_.weight = loss_.weight(double(fit_.length()));
    metric_.learn(gradient_, double(fit_.residual()), rule_.eta());
    const GradientSummary now = summary(double(fit_.size()));
    const double eta = rule_.next(now);  // step 5, Alg. 2
    const double theta = metric_.step(gradient_, eta, direction_);
    fit_.move(U_, x_, direction_, theta);  // step 6
    std::copy(gradient_.w.begin(), gradient_.w.end(), previous_.w.begin());
    previous_.weight = gradient_.weight;
    previous_length_ = now.length;
    keep_orthonormal();
  }

  /// The subspace has changed: search with long steps, from where it is.
  void start_anew() {
    follower_.keep_backup(U_.matrix(), rule_, metric_, recent_);
    recent_ = RecentFits(d());
    rule_ = at_start(rule_);
    forget_steps();
  }
  /// The subspace of before the change is back.
  void restore() {
    const auto backup = follower_.take_backup();
    U_.set(backup.U);
    rule_ = backup.rule;
    forget_steps();
    metric_ = backup.metric;
    recent_ = backup.recent;
  }
  /// The metric and the previous gradient belong to the coordinates of a basis.
  void forget_steps() {
    metric_.forget();
    previous_.weight = previous_length_ = 0;
  }

  /// The logarithms of the recent residuals that are nearer than random directions.
  std::vector<double> near_residuals() {
    std::vector<double> near;
    const Fitted fits = recent_.fitted(n());
    for (uword j = 0; j < fits.size(); ++j)
      if (tells(fits, j) && std::sqrt(fits.r2[j]) < follower_.null(uword(fits.count[j])).residual)
        near.push_back(std::log(std::max(std::sqrt(fits.r2[j]), 1e-16)));
    return near;
  }

  static const State& checked(const State& state) {
    const uword n = state.U.n_rows, d = state.U.n_cols;
    check_dimensions(n, d);
    require(state.previous.e.n_elem == n && state.previous.w.n_elem == d,
            "the previous gradient does not fit a ", n, " x ", d, " basis");
    require(state.recent.d() == d, "the recent fits do not fit a basis of ", d, " columns");
    require(!state.lift || state.lift->n_rows() == n, "the lift does not fit a basis of ", n,
            " rows");
    require(state.metric.fits(d), "the metric does not fit a basis of ", d, " columns");
    require(double(orthonormality_error(state.U)) < 1e-3, "the basis is not orthonormal");
    const RowMajorState<T>& rows = state.layout.by_rows;
    require(state.layout.Ue.empty() || state.layout.Ue.size() == d, "the layout has no ", d,
            " columns");
    if (rows.rows.empty()) return state;
    require(rows.rows.n_rows == d && rows.rows.n_cols == n && rows.A.n_rows == d &&
                rows.A.n_cols == d && rows.inverse.n_rows == d && rows.inverse.n_cols == d,
            "the layout does not fit a ", n, " x ", d, " basis");
    // The basis by rows is the one in use, so it must equal U up to the rounding errors of another
    // instruction set.
    const T off = arma::accu(arma::abs(RowMajorBasis<T>(rows, state.previous.e.memptr()).matrix() -
                                       state.U));  // keeps a NaN
    require(off <= 100 * std::numeric_limits<T>::epsilon() * std::sqrt(T(n)) * T(d),
            "the layout is not that of the basis");
    const arma::Mat<T> unit = rows.A * rows.inverse - arma::eye<arma::Mat<T>>(d, d);
    require(arma::accu(arma::abs(unit)) <= std::sqrt(std::numeric_limits<T>::epsilon()),
            "the layout is not invertible");
    return state;
  }

  static void check_dimensions(uword n, uword d) {
    require(d >= 1 && d < n, "d = ", d, " must be in [1, n - 1 = ", double(n) - 1, "]");
  }

  static State initial(uword n, uword d, StepRule rule, Metric metric, std::uint64_t seed) {
    check_dimensions(n, d);
    Random random(seed);
    arma::Mat<T> U = random_basis<T>(n, d, random);
    return initial(std::move(U), std::move(rule), std::move(metric), random);
  }

  static State initial(arma::Mat<T> U, StepRule rule, Metric metric, std::uint64_t seed) {
    check_dimensions(U.n_rows, U.n_cols);
    require(orthonormalize(U), "the columns of the initial basis must be finite and independent");
    return initial(std::move(U), std::move(rule), std::move(metric), Random(seed));
  }

  static State initial(arma::Mat<T> U, StepRule rule, Metric metric, const Random& random) {
    const uword n = U.n_rows, d = U.n_cols;
    const Following following = Following::defaults(metric.scaled());
    State state{
        std::move(U),
        std::move(rule),
        std::move(metric),
        RankOneGradient<T>{arma::Col<T>(n, arma::fill::zeros), arma::Col<T>(d, arma::fill::zeros)},
        random,
        Counters{},
        0,
        0};
    state.following = {following, {}, Reservoir<T>(n, following.replay), false, {}};
    return state;
  }

  /// The gradient for the step rule; `w` is |w|.
  GradientSummary summary(double w) {
    GradientSummary now{agreement(), gradient_.weight * w, previous_length_,
                        double(fit_.residual()) / w};
    if (!follower_.watches()) return now;
    const NullLaw::Null& null = follower_.null(x_.count());
    now.chance = null.chance;
    now.near = follower_.both_near(double(fit_.distance()) < null.residual);
    return now;
  }

  /// Departs from Alg. 2: the first vector has no previous gradient and leaves mu and level alone.
  double agreement() const {
    return previous_.weight > 0 ? metric_.agreement(previous_, gradient_, fit_.overlap()) : 0;
  }

  void keep_orthonormal() {
    if (++steps_since_check_ < check_interval) return;
    steps_since_check_ = 0;
    arma::Mat<T> U = U_.matrix();
    if (orthonormality_error(U) <= drift_bound) return;
    if (!orthonormalize(U)) throw NumericalError("the basis lost its rank");
    U_.set(U);
  }

  StepReport skipped(Usable why) {
    return report(why == Usable::zero          ? StepOutcome::zero
                  : why == Usable::all_missing ? StepOutcome::all_missing
                                               : StepOutcome::not_finite,
                  std::numeric_limits<double>::quiet_NaN());
  }

  StepReport skipped(Solved why) {
    return report(
        why == Solved::too_few_entries ? StepOutcome::too_few_entries : StepOutcome::rank_deficient,
        std::numeric_limits<double>::quiet_NaN());
  }

  StepReport report(StepOutcome outcome, double residual) {
    ++counters_[outcome];
    return {outcome, residual, rule_.eta(), rule_.level(), status()};
  }

  TrackedBasis<T> U_;
  StepRule rule_;
  Metric metric_;
  Weights<T> previous_;  // of the last step; weight 0 until the first
  Random random_;
  Counters counters_;
  std::uint64_t entries_used_, steps_since_check_;
  RecentFits recent_;
  std::shared_ptr<const Lift<T>> lift_;
  Loss loss_;
  // Scratch, reused by every update.
  Observation<T> x_;
  Fit fit_;
  Weights<T> gradient_;
  arma::Col<T> direction_;
  Follower<T, StepRule, Metric, FixedFitOfLoss> follower_;
  double previous_length_;
};

/// The paper's algorithm: use it with AdaptiveStep::paper().
template <class T = double>
using PaperTracker = Tracker<T, AdaptiveStep, L21Loss, NoScaling>;

}  // namespace gasg21
