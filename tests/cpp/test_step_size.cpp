// step_size.hpp: the laws of Alg. 2 and of the other rules, and the options that they refuse.
#include <cmath>
#include <gasg21/step_size.hpp>
#include <limits>

#include "support.hpp"

using gasg21::AdaptiveStep;
using gasg21::AdaptiveStepOptions;
using gasg21::ConstantStep;
using gasg21::DiminishingStep;
using gasg21::GradientSummary;
using gasg21::GreedyStep;
using gasg21::MultiLevelStep;
using gasg21::MultiLevelStepOptions;
using support::complaint;
using support::contains;

namespace {

const double inf = std::numeric_limits<double>::infinity();

AdaptiveStepOptions other_options() {
  AdaptiveStepOptions o;
  o.eta0 = 0.3;
  o.mu_min = 1;
  o.mu_max = 6;
  o.f_min = -0.7;
  o.f_max = 0.4;
  o.omega = 0.02;
  return o;
}

/// The options of the paper's rule: eta0 = 0.5, mu in [0, 15], no bound on the level.
AdaptiveStepOptions paper_options() { return AdaptiveStepOptions::defaults(false, false); }

/// The number of updates with this agreement until the level changes.
int updates_to_change(AdaptiveStep rule, double agreement) {
  const auto level = rule.level();
  for (int count = 1; count <= 10000; ++count) {
    rule.next(agreement);
    if (rule.level() != level) return count;
  }
  return 0;
}

/// The message for one option set to an invalid value.
std::string refusing(double AdaptiveStepOptions::* option, double value) {
  AdaptiveStepOptions o = paper_options();
  o.*option = value;
  return complaint([&] { AdaptiveStep rule(o); });
}

}  // namespace

TEST_CASE("the sigmoid vanishes at zero") {
  CHECK(AdaptiveStep{}.sigmoid(0) == 0);
  CHECK(AdaptiveStep::paper().sigmoid(0) == 0);
  CHECK(std::abs(AdaptiveStep(other_options()).sigmoid(0)) <= 2e-16);  // rounding of the quotient
}

TEST_CASE("the sigmoid rises from f_min to f_max and stays between them") {
  for (const auto& options : {AdaptiveStepOptions{}, paper_options(), other_options()}) {
    const AdaptiveStep rule(options);
    double last = options.f_min;
    for (double x = -5 * options.omega; x <= 5 * options.omega; x += options.omega / 10) {
      const double value = rule.sigmoid(x);
      CHECK(value > last);
      CHECK(value < options.f_max);
      last = value;
    }
    for (const double huge : {1e3, 1e10, 1e300, inf}) {
      CHECK(rule.sigmoid(-huge) == options.f_min);
      CHECK(rule.sigmoid(huge) == doctest::Approx(options.f_max).epsilon(1e-15));
    }
  }
}

TEST_CASE("the sigmoid is Eq. (11), and omega scales its argument") {
  const AdaptiveStepOptions o = other_options();
  for (const double x : {-0.05, -0.01, 0.003, 0.04}) {
    const double expected =
        o.f_min + (o.f_max - o.f_min) / (1 - (o.f_max / o.f_min) * std::exp(-x / o.omega));
    CHECK(AdaptiveStep(o).sigmoid(x) == doctest::Approx(expected).epsilon(1e-14));
    AdaptiveStepOptions wide = o;
    wide.omega *= 8;
    CHECK(AdaptiveStep(wide).sigmoid(8 * x) == AdaptiveStep(o).sigmoid(x));
  }
}

TEST_CASE("a rule starts at level 0 with mu in the middle") {
  const AdaptiveStep rule(other_options());
  CHECK(rule.level() == 0);
  CHECK(rule.mu() == 3.5);
  CHECK(rule.eta() == 0.3);
}

TEST_CASE("an agreement of zero changes nothing") {
  for (const AdaptiveStep& start : {AdaptiveStep{}, AdaptiveStep::paper()}) {
    AdaptiveStep rule = start;
    for (int i = 0; i < 1000; ++i) CHECK(rule.next(0) == start.options().eta0);
    CHECK(rule.mu() == start.mu());
    CHECK(rule.level() == 0);
  }
}

TEST_CASE("a negative agreement raises the level, and each level halves the step") {
  AdaptiveStep rule = AdaptiveStep::paper();
  double last_mu = rule.mu();
  for (std::int64_t level = 0; level < 5; ++level) {
    const double eta = rule.eta();
    CHECK(eta == std::ldexp(0.5, -int(level)));
    while (rule.level() == level) {
      last_mu = rule.mu();
      rule.next(-1);
      if (rule.level() == level) CHECK(rule.mu() > last_mu);
    }
    CHECK(rule.level() == level + 1);
    CHECK(rule.eta() == eta / 2);
    CHECK(rule.mu() == 7.5);  // back in the middle
  }
}

TEST_CASE("a positive agreement lowers the level") {
  AdaptiveStep rule(paper_options(), 7.5, 3);
  while (rule.level() == 3) rule.next(1);
  CHECK(rule.level() == 2);
  CHECK(rule.mu() == 7.5);
  CHECK(rule.eta() == 0.125);
}

TEST_CASE("mu changes by the sigmoid of minus the agreement, Eq. (10)") {
  AdaptiveStep rule = AdaptiveStep::paper();
  for (const double agreement : {0.02, -0.03, 0.2, -0.4}) {
    const double expected = rule.mu() + rule.sigmoid(-agreement);
    rule.next(agreement);
    CHECK(rule.mu() == expected);
  }
}

TEST_CASE("f_min and f_max determine the number of updates to the next level") {
  // From the middle of [0, 15], mu rises by 0.5 or falls by 1 per update.
  const AdaptiveStep rule(paper_options(), 7.5, 2);
  CHECK(updates_to_change(rule, -1e6) == 15);
  CHECK(updates_to_change(rule, 1e6) == 8);
}

TEST_CASE("the level never falls below zero") {
  AdaptiveStep rule = AdaptiveStep::paper();
  for (int i = 0; i < 1000; ++i) {
    CHECK(rule.next(1e6) == 0.5);
    CHECK(rule.level() == 0);
    CHECK(rule.mu() > 0);  // mu still returns to the middle
  }
}

TEST_CASE("outliers do not lengthen the step") {
  support::Random random(1);
  AdaptiveStep rule(AdaptiveStepOptions::defaults(true, true)),
      plain(AdaptiveStepOptions::defaults(true, false));
  rule = rule.at_level(10);
  plain = plain.at_level(10);
  const double chance = 1 / std::sqrt(17.0 * 3.0);  // n = 20, d = 3
  for (int i = 0; i < 20'000; ++i) {
    const double agreement = chance * random.normal();
    rule.next(GradientSummary{agreement, 1, 1, 1, chance, false});
    plain.next(GradientSummary{agreement, 1, 1, 1, chance, false});
  }
  CHECK(rule.level() >= 10);
  CHECK(plain.level() <= 2);
  // Near vectors vote as in Alg. 2.
  AdaptiveStep near(AdaptiveStepOptions::defaults(true, true)),
      paper(AdaptiveStepOptions::defaults(true, false));
  for (int i = 0; i < 100; ++i) {
    const double agreement = 0.2 * random.normal();
    CHECK(near.next(GradientSummary{agreement, 1, 1, 1}) ==
          paper.next(GradientSummary{agreement, 1, 1, 1}));
  }
}

TEST_CASE("a rule returns to its start") {
  CHECK(at_start(AdaptiveStep{}.at_level(7)).level() == 0);
  CHECK(at_start(DiminishingStep(5, 10)).eta() == 5);
  CHECK(at_start(gasg21::MultiLevelStep({}, 1, 1, 3, 0.1)).level() == 0);
  CHECK(at_start(gasg21::ConstantStep(0.3)).eta() == 0.3);
}

TEST_CASE("a step at a huge level is zero, not an error") {
  CHECK(AdaptiveStep(paper_options(), 7.5, 1000).eta() == std::ldexp(0.5, -1000));
  CHECK(AdaptiveStep(paper_options(), 7.5, std::numeric_limits<std::int64_t>::max()).eta() == 0);
}

TEST_CASE("an adaptive rule resumes from mu and level") {
  AdaptiveStep rule(other_options());
  for (int i = 0; i < 30; ++i) rule.next(i % 3 ? -0.05 : 0.02);
  AdaptiveStep resumed(rule.options(), rule.mu(), rule.level());
  for (int i = 0; i < 30; ++i) CHECK(resumed.next(-0.01) == rule.next(-0.01));
  CHECK(resumed.mu() == rule.mu());
}

TEST_CASE("an option out of range is refused, and the message names it") {
  using O = AdaptiveStepOptions;
  const double nan = support::quiet_nan<double>;
  for (const double bad : {0.0, -1.0, inf, nan}) {
    CHECK(contains(refusing(&O::eta0, bad), "eta0="));
    CHECK(contains(refusing(&O::omega, bad), "omega="));
    CHECK(contains(refusing(&O::f_max, bad), "f_max="));
    CHECK(contains(complaint([&] { ConstantStep rule(bad); }), "eta0="));
    CHECK(contains(complaint([&] { DiminishingStep rule(bad); }), "eta0="));
  }
  for (const double bad : {0.0, 1.0, -inf, nan})
    CHECK(contains(refusing(&O::f_min, bad), "f_min="));
  for (const double bad : {0.0, -1.0, inf, nan})  // mu_min is 0
    CHECK(contains(refusing(&O::mu_max, bad), "mu_max="));
  for (const double bad : {15.0, 20.0, -inf, nan})
    CHECK(contains(refusing(&O::mu_min, bad), "mu_min="));
  CHECK(contains(complaint([&] { AdaptiveStep rule(paper_options(), nan, 0); }), "mu="));
  CHECK(contains(complaint([&] { AdaptiveStep rule(paper_options(), 1, -1); }), "level=-1"));
  CHECK(contains(complaint([&] { DiminishingStep rule(1, -1); }), "taken=-1"));
}

TEST_CASE("the diminishing step is eta0 / (1 + j), for any gradients") {
  DiminishingStep rule(3);
  CHECK(rule.eta() == 3);
  for (int j = 0; j < 100; ++j) {
    CHECK(rule.next(j % 2 ? 1 : -1) == 3.0 / (1 + j));
    CHECK(rule.eta() == 3.0 / (1 + j));
    CHECK(rule.taken() == j + 1);
  }
  CHECK(DiminishingStep(3, rule.taken()).next(0) == 3.0 / 101);
}

TEST_CASE("the constant step is constant") {
  ConstantStep rule(0.2);
  for (const double agreement : {-1e6, 0.0, 1e6}) CHECK(rule.next(agreement) == 0.2);
}

TEST_CASE("the level rises to max_level and no further, and falls from there") {
  AdaptiveStepOptions options = paper_options();
  options.max_level = 3;
  AdaptiveStep rule(options);
  for (int i = 0; i < 500; ++i) {
    rule.next(-1e6);
    CHECK(rule.level() <= 3);
    CHECK(rule.mu() < options.mu_max);  // mu still returns to the middle
  }
  CHECK(rule.level() == 3);
  CHECK(rule.eta() == 0.0625);
  CHECK(updates_to_change(rule, 1e6) <= 15);
  options.max_level = 0;  // a constant step
  AdaptiveStep constant(options);
  for (int i = 0; i < 100; ++i) CHECK(constant.next(-1e6) == 0.5);
  options.max_level = -1;
  CHECK(contains(complaint([&] { AdaptiveStep refused(options); }), "max_level=-1"));
}

TEST_CASE("at_level returns the same rule at another level, with mu in the middle") {
  AdaptiveStepOptions options = other_options();
  options.max_level = 8;
  AdaptiveStep rule(options);
  for (int i = 0; i < 3; ++i) rule.next(-0.05);
  REQUIRE(rule.mu() != 3.5);
  for (const std::int64_t level : {0, 5, 8}) {
    const AdaptiveStep moved = rule.at_level(level);
    CHECK(moved.level() == level);
    CHECK(moved.mu() == 3.5);
    CHECK(moved.eta() == std::ldexp(0.3, -int(level)));
    CHECK(moved.sigmoid(0.01) == rule.sigmoid(0.01));
    CHECK(moved.options().max_level == 8);
  }
  CHECK(rule.at_level(-4).level() == 0);
  CHECK(rule.at_level(9).level() == 8);
}

TEST_CASE("the defaults are those of a stream on the scaled metric, and the paper has its own") {
  const AdaptiveStepOptions stream, scaled_fit = AdaptiveStepOptions::defaults(true, false);
  for (const auto& options : {stream, scaled_fit, AdaptiveStepOptions::defaults(true, true)}) {
    CHECK(options.eta0 == 1);
    CHECK(options.mu_max == 6);
  }
  CHECK(stream.max_level == 32);
  CHECK(AdaptiveStepOptions::defaults(true, true).max_level == 32);
  CHECK(scaled_fit.max_level == AdaptiveStepOptions::unbounded);
  for (const bool is_stream : {false, true}) {
    const auto paper = AdaptiveStepOptions::defaults(false, is_stream);
    CHECK(paper.eta0 == 0.5);
    CHECK(paper.mu_max == 15);
    CHECK(paper.max_level == AdaptiveStepOptions::unbounded);
  }
  CHECK(AdaptiveStep::paper().eta() == 0.5);
  CHECK(AdaptiveStep::paper().mu() == 7.5);
}

TEST_CASE("at_angle sets the step to the angle, to the nearest power of two") {
  const AdaptiveStep rule(other_options());
  for (const double angle : {0.3, 0.11, 1e-3, 2e-6}) {
    const AdaptiveStep moved = rule.at_angle(angle);
    CHECK(moved.eta() <= std::sqrt(2) * angle);
    CHECK(moved.eta() >= angle / std::sqrt(2));
    CHECK(moved.mu() == 3.5);
  }
  CHECK(rule.at_angle(1.5).level() == 0);  // never longer than the first step
  CHECK(rule.at_angle(0).level() == rule.at_angle(1e-12).level());
  CHECK(AdaptiveStep{}.at_angle(1e-12).level() == 32);  // never beyond max_level
}

TEST_CASE("after a fit an adaptive rule takes the length of the error, another rule continues") {
  const AdaptiveStep stream_rule, current(AdaptiveStepOptions::defaults(true, false), 1, 50);
  const AdaptiveStep after = gasg21::rule_after_fit(stream_rule, current, std::ldexp(1.0, -7));
  CHECK(after.level() == 7);
  CHECK(after.options().max_level == 32);
  CHECK(gasg21::rule_after_fit(DiminishingStep(1), DiminishingStep(3, 4), 0.1).next(0) == 3.0 / 5);
}

TEST_CASE("the data may choose the first step of an adaptive rule, and of no other") {
  AdaptiveStep rule(other_options(), 2, 3);
  const AdaptiveStep first = gasg21::with_first_step(rule, 0.07);
  CHECK(first.eta() == 0.07);
  CHECK(first.level() == 0);
  CHECK(first.mu() == 3.5);
  CHECK(first.sigmoid(0.01) == rule.sigmoid(0.01));
  CHECK(rule.with_eta0(0.07).eta() == 0.07);
  CHECK(gasg21::with_first_step(ConstantStep(0.2), 0.07).next(0) == 0.2);
}

TEST_CASE("an eta0 above 1e6 is refused") {
  const auto refused = [](double eta0) {
    const bool adaptive = contains(refusing(&AdaptiveStepOptions::eta0, eta0), "eta0=");
    CHECK(contains(complaint([&] { ConstantStep rule(eta0); }), "eta0=") == adaptive);
    CHECK(contains(complaint([&] { DiminishingStep rule(eta0); }), "eta0=") == adaptive);
    return adaptive;
  };
  CHECK_FALSE(refused(1e6));
  CHECK_FALSE(refused(std::numeric_limits<double>::denorm_min()));
  CHECK(refused(std::nextafter(1e6, 2e6)));
  CHECK(refused(1e300));
}

TEST_CASE("the first gradient sets the scale of the multi-level step") {
  for (const double length : {1e-3, 1.0, 40.0}) {
    MultiLevelStep rule;
    CHECK(rule.eta() == 0);
    const double eta = rule.next({0, length, 0, 1});
    CHECK(eta * length == doctest::Approx(0.1 * 2).epsilon(1e-14));  // first_angle (1 + mu_min)
    CHECK(rule.eta() == eta);
    CHECK(rule.level() == 0);
  }
}

TEST_CASE("the multi-level step compares directions, not lengths") {
  MultiLevelStep by_one, by_many;
  by_one.next({0, 1, 0, 1});
  by_many.next({0, 50, 0, 1});
  by_one.next({0.5, 1, 1, 1});
  by_many.next({0.5 * 50 * 30, 30, 50, 1});
  CHECK(by_one.mu() == doctest::Approx(by_many.mu()).epsilon(1e-14));
  MultiLevelStep tiny;  // very short gradients count as orthogonal
  tiny.next({0, 1e-4, 0, 1});
  const double mu = tiny.mu();
  tiny.next({-1e-8, 1e-4, 1e-4, 1});
  CHECK(tiny.mu() == mu);
}

TEST_CASE("the multi-level step uses its level, then adapts it within its bounds") {
  MultiLevelStepOptions options;
  options.max_level = 3;
  MultiLevelStep rule(options);
  double last = rule.next({0, 1, 0, 1});
  CHECK(rule.mu() == 7);  // mu reached mu_min and became (mu_max - 1) / 2
  int rises = 0;
  for (int j = 0; j < 400; ++j) {
    const auto level = rule.level();
    const double eta = rule.next({-1, 1, 1, 1});  // opposite gradients
    CHECK(eta == std::ldexp(rule.scale(), -int(level)));
    CHECK(eta <= last);
    last = eta;
    if (rule.level() > level) {
      ++rises;
      CHECK(rule.mu() == 7);
    }
  }
  CHECK(rises == 3);
  CHECK(rule.mu() == options.mu_max);  // mu stays at its maximum
  for (int j = 0; j < 400; ++j) rule.next({1, 1, 1, 1});
  CHECK(rule.level() == 1);  // the level does not return to 0
}

TEST_CASE("no sample rotates the subspace by more than max_angle") {
  MultiLevelStep rule;
  rule.next({0, 0.01, 0, 1});  // a short first gradient makes a large scale
  for (const double length : {1.0, 30.0})
    CHECK(rule.next({0, length, 1, 1}) * length == doctest::Approx(1).epsilon(1e-14));
}

TEST_CASE("the multi-level step refuses invalid options") {
  const auto refusing = [](double MultiLevelStepOptions::* option, double value) {
    MultiLevelStepOptions o;
    o.*option = value;
    return complaint([&] { MultiLevelStep rule(o); });
  };
  CHECK(contains(refusing(&MultiLevelStepOptions::first_angle, 0), "first_angle=0"));
  CHECK(contains(refusing(&MultiLevelStepOptions::max_angle, inf), "max_angle=inf"));
  CHECK(contains(refusing(&MultiLevelStepOptions::mu_max, 3), "mu_max=3 must exceed 2 mu_min + 1"));
  CHECK(contains(refusing(&MultiLevelStepOptions::mu_min, -1), "mu_min=-1"));
  CHECK(contains(refusing(&MultiLevelStepOptions::f_max, 0), "f_max=0"));
  CHECK(contains(complaint([] { MultiLevelStep({}, 1, 2, 21, 0); }), "not the state"));
}

TEST_CASE("the greedy step rotates by the angle between the sample and the subspace") {
  GreedyStep rule;
  for (const double slope : {1e-8, 0.3, 5.0})
    for (const double length : {1e-3, 2.0}) {
      CHECK(rule.next({0.2, length, 1, slope}) * length ==
            doctest::Approx(std::atan(slope)).epsilon(1e-14));
      CHECK(rule.level() == 0);
    }
}
