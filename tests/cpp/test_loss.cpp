// loss.hpp: the weight of a loss is the derivative of its cost.
#include <gasg21/loss.hpp>
#include <type_traits>

#include "support.hpp"

namespace {

/// d cost / d residual by a central difference.
template <class Cost>
double slope(Cost&& cost, double residual) {
  const double h = 1e-5;
  return (cost(residual + h) - cost(residual - h)) / (2 * h);
}

}  // namespace

TEST_CASE("the weight of a loss is the slope of its cost") {
  for (const double residual : {1e-3, 0.2, 0.9}) {
    // The difference quotient of both costs is exact up to rounding, eps / h = 2e-11.
    CHECK(gasg21::L21Loss{}.weight(residual) ==
          doctest::Approx(slope([](double r) { return r; }, residual)).epsilon(1e-9));
    CHECK(gasg21::SquaredLoss{}.weight(residual) ==
          doctest::Approx(slope([](double r) { return r * r / 2; }, residual)).epsilon(1e-6));
  }
}

TEST_CASE(
    "the residual does not change the weight under L21, and increases it under least squares") {
  CHECK(gasg21::L21Loss{}.weight(1.0) == gasg21::L21Loss{}.weight(1e-6));
  CHECK(gasg21::SquaredLoss{}.weight(1.0) > gasg21::SquaredLoss{}.weight(1e-6));
}

TEST_CASE("under L1 the weight is the length of the gradient, and each loss has its own fit") {
  CHECK(gasg21::L1Loss{}.weight(3.5) == 3.5);
  const gasg21::L1Loss loss{{1.5, 7, 1e-3}};
  gasg21::L1Admm<double> fit = loss.make_fit<double>(4, 1);
  static_assert(
      std::is_same_v<decltype(gasg21::L21Loss{}.make_fit<float>(4, 1)), gasg21::TrackedFit<float>>);
  gasg21::Observation<double> x(4);
  const arma::vec values = {1, -2, 3, 0.1};
  x.read(gasg21::DenseSample<double>{values.memptr()});
  REQUIRE(fit.solve(arma::mat{0.5, 0.5, 0.5, 0.5}.t(), x) == gasg21::Solved::yes);
  CHECK(fit.n_iter() <= 7);  // the fit uses the constants of the loss
}
