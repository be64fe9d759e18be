// tracker.hpp: one update of the paper's tracker is Alg. 1; a stream can be stopped, resumed and
// repeated, with the default metric and with the paper's.
#include <cmath>
#include <gasg21/tracker.hpp>
#include <sstream>
#include <type_traits>

#include "instruction_sets.hpp"
#include "support.hpp"

using gasg21::AdaptiveStep;
using gasg21::ConstantStep;
using gasg21::largest_angle;
using gasg21::orthonormality_error;
using gasg21::PaperTracker;
using gasg21::random_basis;
using gasg21::StepOutcome;
using gasg21::Tracker;
using support::eps;
using support::gaussian;
using support::quiet_nan;
using support::Random;
using support::same_bits;
using support::Stream;
using support::uword;

namespace {

/// The paper's tracker with other losses and rules.
template <class T, class Rule, class Loss = gasg21::L21Loss>
using Unscaled = Tracker<T, Rule, Loss, gasg21::NoScaling>;

/// The default rule of a tracker, or the paper's.
template <class Any>
AdaptiveStep rule_of() {
  const bool scaled = std::is_same_v<Any, Tracker<typename Any::value_type>>;
  return scaled ? AdaptiveStep() : AdaptiveStep::paper();
}

bool same_metric(const gasg21::NoScaling&, const gasg21::NoScaling&) { return true; }
bool same_metric(const gasg21::CovarianceScaling& a, const gasg21::CovarianceScaling& b) {
  return same_bits(a.factor(), b.factor()) && a.weight() == b.weight() && a.trace() == b.trace();
}

template <class State>
bool same_state(const State& a, const State& b) {
  using T = typename decltype(a.U)::elem_type;
  return same_metric(a.metric, b.metric) && same_bits(a.U, b.U) &&
         same_bits<T>(a.previous.e, b.previous.e) && same_bits<T>(a.previous.w, b.previous.w) &&
         a.previous.weight == b.previous.weight && a.rule.mu() == b.rule.mu() &&
         a.rule.level() == b.rule.level() && a.random.state() == b.random.state() &&
         a.counters.seen() == b.counters.seen() && a.entries_used == b.entries_used &&
         a.steps_since_check == b.steps_since_check;
}

/// Alg. 1, steps 2 to 4, by plain Armadillo: e and w of one vector.
struct Literal {
  arma::vec e, w;
  double residual;
  Literal(const arma::mat& U, const arma::vec& sample) : e(U.n_rows, arma::fill::zeros) {
    const arma::uvec omega = arma::find_finite(sample);
    const arma::vec x = arma::normalise(arma::vec(sample.elem(omega)));
    w = arma::solve(U.rows(omega), x);
    const arma::vec r = x - U.rows(omega) * w;
    residual = arma::norm(r);
    e.elem(omega) = r / residual;
  }
  /// Eq. (9), for the gradient -weight e w'.
  arma::mat step(const arma::mat& U, double eta, double weight) const {
    const double sigma = arma::norm(w), angle = eta * weight * sigma;
    return U + ((std::cos(angle) - 1) * U * w / sigma + std::sin(angle) * e) * w.t() / sigma;
  }
};

}  // namespace

TEST_CASE("with the squared loss a step is GROUSE, with L21 it is Eq. (9)") {
  for (const double missing : {0.0, 0.4}) {
    Stream<double> stream(30, 3, 0.5, missing, 1);
    const arma::mat U = random_basis<double>(30, 3, stream.random);
    const arma::vec x = 7 * stream.next();
    const Literal expected(U, x);
    Unscaled<double, ConstantStep, gasg21::SquaredLoss> grouse(U, ConstantStep(0.3));
    Unscaled<double, ConstantStep> robust(U, ConstantStep(0.3));
    const auto report = grouse.update(x);
    CHECK(report.outcome == StepOutcome::taken);
    CHECK(report.eta == 0.3);
    CHECK(report.residual == doctest::Approx(expected.residual).epsilon(1e-13));
    robust.update(x);
    CHECK(support::distance(grouse.basis(), expected.step(U, 0.3, expected.residual)) <= 1e-14);
    CHECK(support::distance(robust.basis(), expected.step(U, 0.3, 1)) <= 1e-14);
  }
}

TEST_CASE("a hundred updates are Algs. 1 and 2 written out") {
  Stream<double> stream(30, 3, 0.2, 0.3, 2);
  auto options = gasg21::AdaptiveStepOptions::defaults(false, false);
  options.mu_max = 3;  // so that the level rises and falls within a hundred updates
  options.omega = 0.02;
  PaperTracker<> tracker(30, 3, AdaptiveStep(options), 5);
  arma::mat U = tracker.basis(), previous;
  double mu = 1.5;
  int level = 0, highest = 0, falls = 0;
  for (int j = 0; j < 100; ++j) {
    const arma::vec x = stream.next();
    const Literal g(U, x);
    const arma::mat gradient = -g.e * g.w.t();
    if (j > 0) {  // the first vector has no previous gradient and leaves mu alone
      const double product = arma::accu(previous % gradient);
      mu = std::max(mu - 1 + 1.5 / (1 + 0.5 * std::exp(product / 0.02)), 0.0);
      if (mu >= 3 || mu <= 0) {
        falls += mu <= 0 && level > 0;
        level = std::max(level + (mu >= 3 ? 1 : -1), 0);
        highest = std::max(highest, level);
        mu = 1.5;
      }
    }
    U = g.step(U, std::ldexp(0.5, -level), 1);
    previous = gradient;
    CHECK(tracker.update(x).level == level);
    // The basis gains some eps of error per step; the sigmoid passes 1 / omega times that to mu.
    REQUIRE(support::distance(tracker.basis(), U) <= 1e-13);
    REQUIRE(tracker.state().rule.mu() == doctest::Approx(mu).epsilon(1e-11));
  }
  CHECK(highest > 0);  // else Alg. 2 has not been tested
  CHECK(falls > 0);
}

TEST_CASE_TEMPLATE("the subspace is found among outliers and missing entries", Any, Tracker<double>,
                   Tracker<float>, PaperTracker<double>, PaperTracker<float>) {
  using T = typename Any::value_type;
  Stream<T> stream(40, 3, 0.5, 0.3, 3);
  Any tracker(40, 3, rule_of<Any>(), 4);
  for (int j = 0; j < 5000; ++j) tracker.update(stream.next());
  CHECK(double(largest_angle(tracker.basis(), stream.truth)) <
        std::max(1e-9, 100 * double(eps<T>)));
  CHECK(tracker.state().counters.seen() == 5000);
}

TEST_CASE_TEMPLATE("the basis is orthonormal after any number of updates", Any,
                   Unscaled<double, ConstantStep>, Unscaled<float, ConstantStep>,
                   Tracker<double, ConstantStep>, Tracker<float, ConstantStep>) {
  using T = typename Any::value_type;
  Stream<T> stream(30, 4, 1.0, 0.2, 4);  // only outliers: every step is long
  Any tracker(30, 4, ConstantStep(1.0), 4);
  double worst = 0;
  for (int j = 0; j < 5000; ++j) {
    tracker.update(stream.next());
    worst = std::max(worst, double(orthonormality_error(tracker.basis())));
  }
  // Checked every 1000 steps, and repaired above 64 eps.
  CHECK(worst <= 2 * 64 * double(eps<T>));
  CHECK(tracker.state().counters[StepOutcome::taken] > 4900);
}

TEST_CASE("a drifted basis is repaired at the next check") {
  Stream<double> stream(30, 4, 0.5, 0, 5);
  auto state = Tracker<>(30, 4).state();
  state.U *= 1 + 1e-6;
  Tracker<> tracker(state);
  for (int j = 0; j < 1000; ++j) tracker.update(stream.next());
  CHECK(orthonormality_error(tracker.basis()) <= 64 * eps<double>);
}

TEST_CASE_TEMPLATE("a vector that cannot be used is counted and changes nothing else", Any,
                   Tracker<double>, PaperTracker<double>) {
  Stream<double> stream(30, 3, 0.5, 0.2, 6);
  Any tracker(30, 3, rule_of<Any>());
  for (int j = 0; j < 20; ++j) tracker.update(stream.next());

  const arma::vec clean = gaussian<double>(30, stream.random);
  arma::vec infinite = clean, missing = clean;
  infinite[4] = std::numeric_limits<double>::infinity();
  missing.fill(quiet_nan<double>);
  // On its first four coordinates this basis has rank 2: a singular U_Omega.
  auto blind_state = tracker.state();
  blind_state.U.zeros();
  blind_state.U(0, 0) = blind_state.U(1, 1) = blind_state.U(29, 2) = 1;
  Any blind(blind_state);

  const auto check = [&](Any& t, const arma::vec& x, StepOutcome outcome, bool fitted) {
    CAPTURE(int(outcome));
    auto before = t.state();
    const auto report = t.update(x);
    CHECK(report.outcome == outcome);
    CHECK(std::isnan(report.residual) != fitted);
    CHECK(t.state().counters[outcome] == before.counters[outcome] + 1);
    CHECK(t.state().counters.used() == before.counters.used());
    CHECK(t.state().counters.skipped() == before.counters.skipped() + 1);
    ++before.counters[outcome];
    CHECK(same_state(t.state(), before));
  };
  check(tracker, arma::vec(30, arma::fill::zeros), StepOutcome::zero, false);
  check(tracker, missing, StepOutcome::all_missing, false);
  check(tracker, infinite, StepOutcome::not_finite, false);
  check(tracker, support::only(clean, {2, 5, 9}), StepOutcome::too_few_entries, false);
  check(blind, support::only(clean, {0, 1, 2, 3}), StepOutcome::rank_deficient, false);
  arma::vec across(30, arma::fill::zeros);
  across[7] = 1;
  check(blind, across, StepOutcome::orthogonal, true);
}

TEST_CASE_TEMPLATE("a vector in the subspace is used, and moves nothing", Any, Tracker<double>,
                   Tracker<float>, PaperTracker<double>, PaperTracker<float>) {
  using T = typename Any::value_type;
  Stream<T> stream(30, 3, 0.5, 0.2, 7);
  Any tracker(30, 3, rule_of<Any>());
  for (int j = 0; j < 20; ++j) tracker.update(stream.next());
  const arma::Col<T> x = tracker.basis() * gaussian<T>(3, stream.random);
  for (const uword count : {12u, 30u}) {
    auto expected = tracker.state();
    const auto report =
        tracker.update(support::only<T>(x, arma::regspace<arma::uvec>(0, count - 1)));
    CHECK(report.outcome == StepOutcome::in_subspace);
    CHECK(report.residual <= 20 * double(eps<T>));
    ++expected.counters[StepOutcome::in_subspace];
    expected.entries_used += count;
    CHECK(same_state(tracker.state(), expected));
    CHECK(tracker.state().counters.used() == tracker.state().counters.seen());
  }
}

TEST_CASE_TEMPLATE("a stream resumed from a copy of the state is the same, bit for bit", Any,
                   Tracker<double>, Tracker<float>, PaperTracker<double>, PaperTracker<float>) {
  using T = typename Any::value_type;
  Stream<T> stream(30, 3, 0.5, 0.3, 8);
  Any tracker(30, 3, rule_of<Any>(), 3);
  for (int j = 0; j < 990; ++j) tracker.update(stream.next());  // just before a check of the basis
  Any resumed(tracker.state());
  for (int j = 0; j < 100; ++j) {
    const arma::Col<T> x = stream.next();
    tracker.update(x);
    resumed.update(x);
  }
  CHECK(same_state(resumed.state(), tracker.state()));
}

TEST_CASE("the same seed gives the same start, another seed another") {
  CHECK(same_state(Tracker<>(30, 3, AdaptiveStep{}, 3).state(),
                   Tracker<>(30, 3, AdaptiveStep{}, 3).state()));
  CHECK(largest_angle(Tracker<>(30, 3, AdaptiveStep{}, 3).basis(),
                      Tracker<>(30, 3, AdaptiveStep{}, 4).basis()) > 0.1);
}

TEST_CASE("a wrong call is refused and leaves the tracker as it was") {
  Tracker<> tracker(5, 2);
  tracker.update(arma::vec{1, 2, 3, 4, 6});
  const auto before = tracker.state();
  CHECK_THROWS_WITH_AS(tracker.update(arma::vec(4)), "the vector has 4 entries, but n = 5",
                       std::invalid_argument);
  CHECK_THROWS_AS(tracker.update(arma::vec{1, 2}, arma::uvec{1}), std::invalid_argument);
  CHECK_THROWS_AS(tracker.update(arma::vec{1, 2, 3}, arma::uvec{1, 2, 5}), std::invalid_argument);
  CHECK_THROWS_AS(tracker.update(arma::vec{1, 2, 3}, arma::uvec{1, 2, 1}), std::invalid_argument);
  CHECK(same_state(tracker.state(), before));
}

TEST_CASE("a tracker starts from the span of independent columns, and refuses others") {
  Random random(9);
  const arma::mat U = gaussian<double>(20, 3, random);
  CHECK(largest_angle(Tracker<>(U).basis(), arma::mat(arma::orth(U))) <= 1e-14);
  CHECK_THROWS_AS(Tracker<>(arma::mat(arma::join_rows(U, U.col(1)))), std::invalid_argument);
  CHECK_THROWS_AS(Tracker<>(arma::mat(3, 3, arma::fill::eye)), std::invalid_argument);
  CHECK_THROWS_AS(Tracker<>(5, 0), std::invalid_argument);
  CHECK_THROWS_AS(Tracker<>(5, 5), std::invalid_argument);
  CHECK_THROWS_AS(Tracker<>(5, 6), std::invalid_argument);
  CHECK_THROWS_AS(Tracker<>(0, 0), std::invalid_argument);
  auto state = Tracker<>(20, 3).state();
  state.previous.w.set_size(4);
  CHECK_THROWS_AS(Tracker<>{state}, std::invalid_argument);
  state = Tracker<>(20, 3).state();
  state.U.col(1) = state.U.col(0);
  CHECK_THROWS_AS(Tracker<>{state}, std::invalid_argument);
}

TEST_CASE("a stream by rows is resumed by every instruction set") {
  Stream<double> stream(20000, 10, 0, 0.9, 12);
  // Long steps do not use this layout.
  PaperTracker<> tracker(20000, 10, AdaptiveStep::paper().with_eta0(0.05));
  for (int j = 0; j < 300; ++j) tracker.update(stream.next());
  const auto state = tracker.state();
  REQUIRE_FALSE(state.layout.by_rows.rows.empty());
  support::for_each_set([&] {
    PaperTracker<> resumed(state);
    CHECK(support::distance(resumed.basis(), state.U) <= 1e-14);
  });
  auto wrong = state;
  wrong.layout.by_rows.rows(0, 0) += 1e-6;
  CHECK_THROWS_AS(PaperTracker<>{wrong}, std::invalid_argument);
}

TEST_CASE("a column of a matrix is a vector") {
  Stream<double> stream(30, 3, 0.5, 0.3, 10);
  arma::mat X(30, 20);
  for (uword j = 0; j < 20; ++j) X.col(j) = stream.next();
  Tracker<> tracker(30, 3), expected(30, 3);
  for (uword j = 0; j < 20; ++j) {
    const arma::vec x = X.col(j);
    CHECK(tracker.update(X.col(j)).outcome == expected.update(x).outcome);
  }
  CHECK(same_state(tracker.state(), expected.state()));
}

TEST_CASE("a restart continues from another basis as if it were the first") {
  Stream<double> stream(30, 3, 0.3, 0.2, 11);
  Tracker<> tracker(30, 3);
  for (int j = 0; j < 500; ++j) tracker.update(stream.next());
  const auto seen = tracker.state();
  CHECK_THROWS_AS(tracker.restart(gaussian<double>(30, 4, stream.random), AdaptiveStep{}),
                  std::invalid_argument);
  CHECK_THROWS_AS(tracker.restart(arma::mat(30, 3, arma::fill::ones), AdaptiveStep{}),
                  std::invalid_argument);
  CHECK(same_bits(tracker.basis(), seen.U));  // refused: nothing has changed
  CHECK(tracker.state().rule.level() == seen.rule.level());
  CHECK(tracker.state().metric.weight() == seen.metric.weight());

  const arma::mat U = gaussian<double>(30, 3, stream.random);
  const AdaptiveStep rule = AdaptiveStep{}.at_level(2);
  tracker.restart(U, rule);
  CHECK(tracker.state().metric.factor().empty());
  CHECK(tracker.state().counters.seen() == 500);  // the counters stay
  CHECK(tracker.state().random.state() == seen.random.state());
  Tracker<> fresh(U, rule);
  for (int j = 0; j < 100; ++j) {
    const arma::vec x = stream.next();
    tracker.update(x);
    fresh.update(x);
  }
  CHECK(same_bits(tracker.basis(), fresh.basis()));
  CHECK(tracker.state().rule.mu() == fresh.state().rule.mu());
  CHECK(same_bits(tracker.state().metric.factor(), fresh.state().metric.factor()));
}

TEST_CASE("a tracker continues from fewer columns, and keeps its counters and random numbers") {
  Stream<double> stream(30, 3, 0.3, 0.2, 13);
  Tracker<> tracker(30, 4, AdaptiveStep{}, 2);
  for (int j = 0; j < 200; ++j) tracker.update(stream.next());
  const auto seen = tracker.state();
  const AdaptiveStep rule = AdaptiveStep{}.at_level(3);
  Tracker<> smaller = tracker.continued(seen.U.head_cols(3), rule);
  CHECK(smaller.d() == 3);
  CHECK(smaller.state().counters.seen() == 200);
  CHECK(smaller.entries_used() == seen.entries_used);
  CHECK(smaller.state().random.state() == seen.random.state());
  CHECK(same_state(tracker.state(), seen));
  Tracker<> fresh(arma::mat(seen.U.head_cols(3)), rule);
  for (int j = 0; j < 100; ++j) {
    const arma::vec x = stream.next();
    smaller.update(x);
    fresh.update(x);
  }
  CHECK(same_bits(smaller.basis(), fresh.basis()));
  CHECK_THROWS_AS(tracker.continued(arma::mat(30, 2, arma::fill::ones), rule),
                  std::invalid_argument);
}

TEST_CASE("the counters print all outcomes that occurred") {
  Tracker<> tracker(5, 2);
  tracker.update(arma::vec{1, 2, 3, 4, 6});
  tracker.update(arma::vec(5, arma::fill::zeros));
  tracker.update(support::only<double>(arma::vec{1, 2, 3, 4, 6}, {0, 1}));
  std::ostringstream out;
  out << tracker.counters();
  CHECK(out.str() == "3 seen, 1 taken, 1 zero, 1 too_few");
}

TEST_CASE("after a greedy step the observed entries of the vector lie in the subspace") {
  for (const double missing : {0.0, 0.4}) {
    Stream<double> stream(30, 3, 0.5, missing, 11);
    Unscaled<double, gasg21::GreedyStep, gasg21::SquaredLoss> grouse(30, 3, gasg21::GreedyStep{},
                                                                     1);
    for (int j = 0; j < 20; ++j) {
      const arma::vec x = stream.next();
      CHECK(grouse.update(x).outcome == StepOutcome::taken);
      CHECK(Literal(grouse.basis(), x).residual <= 1e-13);
    }
  }
}
