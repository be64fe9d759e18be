// scaling.hpp: the canonical metric.
#include <gasg21/scaling.hpp>

#include "support.hpp"

using gasg21::NoScaling;
using gasg21::RankOneGradient;
using support::eps;

namespace {

template <class T>
RankOneGradient<T> random_gradient(double weight, support::Random& random) {
  RankOneGradient<T> g{arma::normalise(support::gaussian<T>(20, random)),
                       support::gaussian<T>(3, random), weight};
  return g;
}

}  // namespace

TEST_CASE_TEMPLATE("without scaling a step turns along w by eta times the gradient's norm", T,
                   double, float) {
  support::Random random(1);
  const auto g = random_gradient<T>(0.7, random);
  arma::Col<T> v;
  const double theta = NoScaling{}.turn(g, 0.3, v);
  const arma::Mat<T> gradient = T(-g.weight) * g.e * g.w.t();
  CHECK(theta == doctest::Approx(0.3 * double(arma::norm(gradient, "fro"))).epsilon(10 * eps<T>));
  CHECK(double(arma::norm(v)) == doctest::Approx(1.0).epsilon(10 * eps<T>));
  CHECK(support::distance<T>(v * arma::norm(g.w), g.w) <= 10 * double(eps<T>));
}

TEST_CASE_TEMPLATE("without scaling agreement is the inner product, whatever was learned", T,
                   double, float) {
  support::Random random(2);
  const auto a = random_gradient<T>(1.0, random), b = random_gradient<T>(0.5, random);
  NoScaling metric;
  metric.learn(a, 0.1, 0.5);
  CHECK(metric.agreement(a, b) == gasg21::inner(a, b));
  // A gradient agrees with itself by its squared norm, and never less than with its opposite.
  CHECK(metric.agreement(a, a) == doctest::Approx(double(arma::dot(a.w, a.w))).epsilon(1e-5));
}
