// recovery/fit.hpp and recovery/start.hpp: a fit composed of any rule, loss and metric, from any
// start, of linear and affine subspaces.
#include <cmath>
#include <gasg21/recover.hpp>
#include <gasg21/recovery/fit.hpp>
#include <utility>

#include "polish_support.hpp"

using gasg21::AdaptiveStep;
using gasg21::default_plan;
using gasg21::DenseView;
using gasg21::Fit;
using gasg21::largest_angle;
using gasg21::LiftedData;
using gasg21::PassRecord;
using gasg21::RecoverOptions;
using gasg21::Status;
using gasg21::Tracker;
using gasg21::TrackerPlan;
using gasg21::Unobserved;
using support::gaussian;
using support::Problem;
using support::Random;
using support::same_bits;
using support::uword;

namespace {

using View = DenseView<double>;
using Grasta = Tracker<double, gasg21::MultiLevelStep, gasg21::L1Loss, gasg21::NoScaling>;

/// Samples about a point far from the origin.
Problem<double> shifted(std::uint64_t seed, arma::vec& point) {
  Problem<double> p(40, 600, 3, 0, 0, 0, seed);
  point = 5 * gaussian<double>(40, p.random);
  p.X.each_col() += point;
  return p;
}

/// Distance of a point from the flat through `point` along U.
double distance_to_flat(const arma::vec& x, const arma::vec& point, const arma::mat& U) {
  const arma::vec off = x - point;
  return arma::norm(off - U * (U.t() * off));
}

/// Counts the passes that are shown, and stops after some of them.
struct Counting : Unobserved {
  uword passes = 0, hidden = 0, most = 0;
  bool shown = true, over = false;

  void pass(const PassRecord& /*record*/) { ++(shown ? passes : hidden); }
  void show_passes(bool show) { shown = show; }
  void go_on() { over = true; }
  bool poll() { return !over && most > 0 && passes >= most; }
  bool step(const gasg21::StepReport& /*report*/) { return poll(); }
};

}  // namespace

TEST_CASE("recover is a Fit with the default plan") {
  arma::vec point;
  Problem<double> p = shifted(1, point);
  for (const bool center : {false, true}) {
    CAPTURE(center);
    RecoverOptions options;
    options.center = center;
    options.seed = 5;
    Fit<Tracker<double>, View> fit(LiftedData<double, View>(View(p.X), center, true), 3,
                                   default_plan<double>(options), options);
    Unobserved nobody;
    fit.run(nobody);
    const auto found = fit.hand_over(nobody);
    const auto expected = recover(p.X, 3, options);
    const gasg21::Subspace<double> subspace(found.basis, found.lift, found.evidence, found.kind);
    CHECK(same_bits(subspace.axes().components, expected.basis));
    CHECK(same_bits(found.tracker.basis(), expected.tracker.basis()));
    CHECK(found.status == expected.status);
    CHECK(found.estimated_angle == expected.estimated_angle);
    CHECK(bool(found.lift) == center);
  }
}

TEST_CASE("an affine fit under a loss of single entries moves the centre onto the subspace") {
  arma::vec point;
  Problem<double> p = shifted(2, point);
  for (double& entry : p.X)
    if (p.random.uniform() < 0.1) entry += std::abs(p.random.normal());
  RecoverOptions options;
  options.center = true;
  options.polish = false;
  TrackerPlan<Grasta> plan;
  plan.seed = 1;
  const LiftedData<double, View> data(View(p.X), true, false);
  const double before = distance_to_flat(data.lift()->centre, point, p.truth);
  Fit<Grasta, View> fit(data, 3, plan, options);
  Counting observer;
  fit.run(observer);
  const auto found = fit.hand_over(observer);
  CHECK(found.basis.n_cols == 3);  // no constant: the loss would take it for a corrupted entry
  CHECK(found.lift->n_appended() == 0);
  CHECK(distance_to_flat(found.lift->centre, point, p.truth) < 0.05 * before);
  CHECK(p.angle(found.basis) < 0.01);
  CHECK(observer.passes == found.history.size());
  CHECK(observer.hidden > 0);
}

TEST_CASE("a fit that is stopped hands over what it has reached") {
  const Problem<double> p(40, 600, 3, 0.3, 0.2, 0.01, 3);
  const RecoverOptions options;
  Fit<Tracker<double>, View> fit(LiftedData<double, View>(View(p.X), false, true), 3,
                                 default_plan<double>(options), options);
  Counting observer;
  observer.most = 3;
  fit.run(observer);
  const auto found = fit.hand_over(observer);
  CHECK(observer.over);
  CHECK(found.status == Status::interrupted);
  CHECK(found.history.size() == 3);
  CHECK(largest_angle(found.tracker.basis(), found.basis) <= 1e-12);
  CHECK(found.evidence.fits.size() > 100);
}

TEST_CASE("the start may be given; a lift adds the axis of its constant") {
  arma::vec point;
  const Problem<double> p = shifted(4, point);
  RecoverOptions options;
  TrackerPlan<Tracker<double>> plan = default_plan<double>(options);
  plan.init = p.truth;
  Unobserved nobody;
  for (const bool center : {false, true}) {
    const LiftedData<double, View> data(View(p.X), center, true);
    const auto tracker = plan.start_on(data, 3, nobody);
    CHECK(tracker.d() == (center ? 4 : 3));
    CHECK(tracker.has_constant() == center);
    CHECK(largest_angle<double>(tracker.basis().head_cols(3).eval().head_rows(40), p.truth) <=
          1e-7);
    if (center) CHECK(std::abs(tracker.basis()(40, 3)) == doctest::Approx(1));
  }
  plan.init.col(1) = plan.init.col(0);
  const LiftedData<double, View> data(View(p.X), false, true);
  CHECK_THROWS_AS(plan.start_on(data, 3, nobody), std::invalid_argument);
}

TEST_CASE("other samples are lifted as those of the fit") {
  arma::vec point;
  const Problem<double> p = shifted(5, point);
  const LiftedData<double, View> affine(View(p.X), true, true), linear(View(p.X), false, true);
  const arma::mat others = p.X.head_cols(7);
  CHECK(affine.lift_like(View(others)).n_rows == 41);
  CHECK(affine.lift_like(View(others)).lift == affine.lift().get());
  CHECK(linear.lift_like(View(others)).n_rows == 40);
  CHECK(affine.n_features() == 40);
  CHECK(affine.more() == 1);
  const LiftedData<double, View> moved = affine;  // a copy has the same lift
  CHECK(moved.view().lift == affine.lift().get());
}

TEST_CASE("a second sample is wanted if the first has failed") {
  const Problem<double> good(40, 600, 3, 0.3, 0.2, 0.01, 7), noise(40, 600, 3, 1, 0, 0, 8);
  const RecoverOptions options;
  Unobserved nobody;
  const auto wanted = [&](const Problem<double>& p) {
    Fit<Tracker<double>, View> fit(LiftedData<double, View>(View(p.X), false, true), 3,
                                   default_plan<double>(options), options);
    fit.solve(nobody);
    return fit.second_sample(10'000);
  };
  CHECK(wanted(good) == 0);
  CHECK(wanted(noise) == 2400);
}

TEST_CASE("a share of the variance chooses among the axes of a fit") {
  Problem<double> p(40, 1, 4, 0, 0, 0, 6);
  arma::mat weights = gaussian<double>(4, 800, p.random);
  weights.each_col() %= arma::vec{3, 2, 1, 0.1};  // shares 0.64, 0.29, 0.07, 0.001
  const arma::mat X = p.truth * weights;
  const LiftedData<double, View> data(View(X), false, true);
  const RecoverOptions options;
  Unobserved nobody;
  const auto chosen = [&](double share) {
    return gasg21::dimension_of_share(data, share, 4, default_plan<double>(options), options,
                                      nobody);
  };
  CHECK(chosen(0.5) == 1);
  CHECK(chosen(0.8) == 2);
  CHECK(chosen(0.98) == 3);
}
