// metric.hpp: the canonical metric and the metric of the covariance of the weights.
#include <cmath>
#include <gasg21/metric.hpp>
#include <gasg21/tracker.hpp>

#include "support.hpp"

using gasg21::CovarianceScaling;
using gasg21::NoScaling;
using gasg21::RankOneGradient;
using support::eps;
using support::uword;

namespace {

template <class T>
RankOneGradient<T> random_gradient(double weight, support::Random& random) {
  RankOneGradient<T> g{arma::normalise(support::gaussian<T>(20, random)),
                       support::gaussian<T>(3, random), weight};
  return g;
}

/// The agreement of a and b. In a tracker, the fit provides the product of the directions.
template <class Metric, class T>
double agreement(const Metric& metric, const RankOneGradient<T>& a, const RankOneGradient<T>& b) {
  return metric.agreement(a, b, double(arma::dot(a.e, b.e)));
}

}  // namespace

TEST_CASE_TEMPLATE("without scaling a step rotates along w by eta times the norm of the gradient",
                   T, double, float) {
  support::Random random(1);
  const auto g = random_gradient<T>(0.7, random);
  arma::Col<T> v;
  const double theta = NoScaling{}.step(g, 0.3, v);
  const arma::Mat<T> gradient = T(-g.weight) * g.e * g.w.t();
  CHECK(theta == doctest::Approx(0.3 * double(arma::norm(gradient, "fro"))).epsilon(10 * eps<T>));
  CHECK(double(arma::norm(v)) == doctest::Approx(1.0).epsilon(10 * eps<T>));
  CHECK(support::distance<T>(v * arma::norm(g.w), g.w) <= 10 * double(eps<T>));
}

TEST_CASE_TEMPLATE("without scaling the agreement is the Frobenius product of the gradients", T,
                   double, float) {
  support::Random random(2);
  for (const double weight : {1.3, 0.5, 0.0}) {  // weight 0: no gradient
    const auto a = random_gradient<T>(0.7, random), b = random_gradient<T>(weight, random);
    NoScaling metric;
    metric.learn(a, 0.1, 0.5);  // changes nothing
    const arma::Mat<T> A = T(-0.7) * a.e * a.w.t(), B = T(-weight) * b.e * b.w.t();
    const double size = double(arma::norm(A, "fro") * arma::norm(B, "fro"));
    CHECK(std::abs(agreement(metric, a, b) - double(arma::accu(A % B))) <=
          10 * double(eps<T>) * size);
    CHECK(agreement(metric, a, b) == agreement(metric, b, a));
  }
}

TEST_CASE("covariance scaling equals the literal recursion of R, S, C^-1 w, agreement and angle") {
  support::Random random(3);
  for (const double lambda : {0.998, 0.9}) {
    const uword d = 3;
    CovarianceScaling metric(lambda);
    arma::mat R = 1e-3 * arma::eye(d, d);
    double S = 0;
    auto previous = random_gradient<double>(1, random);
    for (int j = 0; j < 100; ++j) {
      const auto g = random_gradient<double>(1, random);
      const double residual = random.uniform(), eta = std::ldexp(1.0, -j / 10);
      metric.learn(g, residual, eta);

      const double om = 1 / (eta * eta + residual * residual);
      R = lambda * R + om * g.w * g.w.t();
      S = lambda * S + om;
      const arma::mat C = double(d) * R / S;
      const arma::vec v = arma::solve(C, g.w), before = arma::solve(C, previous.w);
      const double q = arma::dot(g.w, v);
      const double ip = arma::dot(g.e, previous.e) * arma::dot(previous.w, v) /
                        std::sqrt(q * arma::dot(previous.w, before));
      const double theta = std::atan(eta / std::max(1.0, std::sqrt(q)) * arma::norm(v));

      // The first C is nearly singular: one vector plus 1e-3 times the identity. The metric also
      // adds a ridge of 1e-12. The error is up to 1e-8 at first and 1e-11 later.
      const double tolerance = j < 5 ? 1e-7 : 1e-10;
      arma::vec direction;
      CHECK(metric.step(g, eta, direction) == doctest::Approx(theta).epsilon(tolerance));
      CHECK(support::distance<double>(direction, v / arma::norm(v)) <= tolerance);
      CHECK(std::abs(agreement(metric, previous, g) - ip) <= tolerance);
      CHECK(support::distance(metric.sums(), R) <= 1e-13 * R.max());
      CHECK(metric.weight() == doctest::Approx(S).epsilon(1e-13));
      CHECK(metric.trace() == doctest::Approx(arma::trace(R)).epsilon(1e-13));
      previous = g;
    }
  }
}

TEST_CASE("the metric stays regular if weights lie in a plane or change their size by 1e10") {
  support::Random random(8);
  const uword d = 5;
  const arma::mat plane = support::gaussian<double>(d, 2, random);
  CovarianceScaling metric(0.9);
  arma::mat R = 1e-3 * arma::eye(d, d);
  auto g = RankOneGradient<double>{arma::normalise(support::gaussian<double>(20, random)),
                                   arma::vec(d), 1};
  for (int j = 0; j < 1000; ++j) {
    g.w = plane * support::gaussian<double>(2, random);
    const double near = j % 100 == 50 ? 1e-10 : 1;  // one vector has 1e20 times the weight
    metric.learn(g, near, near);
    R = 0.9 * R + g.w * g.w.t() / (2 * near * near);
    const double least = 1e-12 * arma::trace(R) / double(d);
    arma::vec pivots = 1 / metric.factor().diag();
    CHECK(pivots.min() >= 0.999 * least);
    // The ridge is no larger than necessary.
    CHECK(support::distance(metric.sums(), R) <= 1e-10 * R.max());
    R = metric.sums();
    arma::vec v;
    CHECK(metric.step(g, near, v) <= arma::datum::pi / 2);
    CHECK(arma::norm(v) == doctest::Approx(1));
    CHECK(agreement(metric, g, g) == doctest::Approx(1).epsilon(1e-3));
  }
}

TEST_CASE("the agreement is at most 1, and 1 for a gradient with itself") {
  support::Random random(4);
  CovarianceScaling metric;
  for (int j = 0; j < 50; ++j) {
    const auto g = random_gradient<double>(1, random), other = random_gradient<double>(1, random);
    metric.learn(g, 0.3, 0.5);
    CHECK(agreement(metric, g, g) == doctest::Approx(1).epsilon(1e-10));
    CHECK(std::abs(agreement(metric, other, g)) <= 1);
  }
}

TEST_CASE_TEMPLATE("the scale of the weights does not change the agreement", T, double, float) {
  support::Random random(5);
  // Weights with a spread of 1, 30 and 1000. C^-1/2 removes the spread.
  const arma::Col<T> spread = {1, 30, 1000};
  CovarianceScaling plain, stretched;
  for (int j = 0; j < 3000; ++j) {
    auto g = random_gradient<T>(1, random);
    plain.learn(g, 0.5, 0.5);
    const double expected = agreement(plain, g, g);
    g.w %= spread;
    stretched.learn(g, 0.5, 0.5);
    CHECK(agreement(stretched, g, g) == doctest::Approx(expected).epsilon(1e-6));
  }
  const arma::mat ratio = stretched.sums() / plain.sums();
  for (uword c = 0; c < 3; ++c)  // 0.998^3000: the initial 1e-3 I is forgotten
    CHECK(ratio(c, c) == doctest::Approx(double(spread[c]) * double(spread[c])).epsilon(1e-3));
}

TEST_CASE("forget resets the metric, and a resumed metric continues with the same bits") {
  support::Random random(6);
  CovarianceScaling metric(0.95), fresh(0.95);
  for (int j = 0; j < 30; ++j) metric.learn(random_gradient<double>(1, random), 0.2, 0.1);
  CovarianceScaling resumed(metric.forgetting(), metric.factor(), metric.weight(), metric.trace());
  CovarianceScaling forgetful = metric;
  forgetful.forget();
  CHECK(forgetful.factor().empty());
  CHECK(forgetful.sums().empty());
  CHECK(forgetful.weight() == 0);
  CHECK(forgetful.forgetting() == 0.95);
  const auto same = [](const CovarianceScaling& a, const CovarianceScaling& b, const auto& g) {
    arma::vec v, u;
    return a.step(g, 0.1, v) == b.step(g, 0.1, u) && support::same_bits<double>(v, u) &&
           agreement(a, g, g) == agreement(b, g, g) && support::same_bits(a.factor(), b.factor()) &&
           a.weight() == b.weight();
  };
  for (int j = 0; j < 10; ++j) {
    const auto g = random_gradient<double>(1, random);
    for (CovarianceScaling* each : {&metric, &resumed, &forgetful, &fresh})
      each->learn(g, 0.2, 0.1);
    CHECK(same(resumed, metric, g));
    CHECK(same(forgetful, fresh, g));
    CHECK_FALSE(same(fresh, metric, g));
  }
}

TEST_CASE("an invalid state is refused") {
  const double nan = support::quiet_nan<double>, inf = std::numeric_limits<double>::infinity();
  for (const double bad : {0.0, 1.0, -0.5, 1.5, inf, nan})
    CHECK(support::contains(support::complaint([&] { CovarianceScaling metric(bad); }),
                            "forgetting="));
  const auto refused = [](const arma::mat& factor, double weight, double trace = 1) {
    return !support::complaint([&] {
              CovarianceScaling metric(0.9, factor, weight, trace);
            }).empty();
  };
  const arma::mat I(3, 3, arma::fill::eye);
  CHECK_FALSE(refused(I, 1));
  CHECK_FALSE(refused(arma::mat(), 0));
  CHECK(refused(I.head_cols(2), 1));
  CHECK(refused(nan * I, 1));
  for (const double bad : {-1.0, 0.0, inf, nan}) {
    CHECK(refused(I, bad));
    CHECK(refused(I, 1, bad));
  }
  CHECK(refused(arma::mat(), 1));
  CHECK(refused(-I, 1));
  CHECK(refused(I + 0.1, 1));  // not triangular
}

TEST_CASE("at condition 100 the scaled stream converges, and that of the paper does not") {
  support::Stream<double> stream(100, 5, 0, 0, 7);
  const arma::vec spread = arma::exp10(arma::linspace(0, 2, 5));
  gasg21::PaperTracker<> plain(100, 5, gasg21::AdaptiveStep::paper());
  gasg21::Tracker<> scaled(100, 5);
  auto& random = stream.random;
  for (int j = 0; j < 6000; ++j) {
    arma::vec x = stream.truth * (spread % support::gaussian<double>(5, random));
    if (random.uniform() < 0.3) x = support::gaussian<double>(100, random);
    for (double& entry : x)
      if (random.uniform() < 0.3) entry = support::quiet_nan<double>;
    plain.update(x);
    scaled.update(x);
  }
  CHECK(gasg21::largest_angle(scaled.basis(), stream.truth) <= 1e-6);
  CHECK(gasg21::largest_angle(plain.basis(), stream.truth) > 0.1);
}
