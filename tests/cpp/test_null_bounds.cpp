// inliers/null_bounds.hpp: what counts as nearer than a random direction, to one subspace or many.
#include <cmath>
#include <gasg21/inliers/null_bounds.hpp>

#include "support.hpp"

using gasg21::level_of_each;
using gasg21::near_bound;
using gasg21::NearBounds;
using gasg21::null_residual;
using support::uword;

TEST_CASE("a random direction is near to one of K subspaces with the level of one") {
  support::Random random(5);
  // Coordinate subspaces of their own axes: their residuals are all but independent.
  constexpr uword n = 60, d = 2, K = 6;
  const double bound = null_residual(n, d, level_of_each(0.1, K));
  int near = 0;
  constexpr int draws = 20'000;
  for (int i = 0; i < draws; ++i) {
    const arma::vec x = arma::normalise(support::gaussian<double>(n, random));
    bool any = false;
    for (uword k = 0; k < K; ++k)
      any = any || 1 - arma::accu(arma::square(x.subvec(k * d, k * d + d - 1))) < bound * bound;
    near += any;
  }
  // Four standard deviations of a binomial share, and the dependence of the residuals.
  CHECK(std::abs(near / double(draws) - 0.1) < 4 * std::sqrt(0.09 / draws) + 0.003);
}

TEST_CASE("one subspace keeps the level to the bit") {
  CHECK(level_of_each(1e-3, 1) == 1e-3);
  CHECK(level_of_each(1e-3, 20) == doctest::Approx(1e-3 / 20).epsilon(1e-3));
  CHECK(1 - std::pow(1 - level_of_each(0.05, 7), 7) == doctest::Approx(0.05).epsilon(1e-12));
}

TEST_CASE("bounds as SciPy computes them") {
  // sqrt(betaincinv((N - d) / 2, d / 2, 1 - (1 - p)^(1 / K))), p = 1e-3.
  CHECK(near_bound(50, 3) == doctest::Approx(0.8425765644083335).epsilon(1e-9));
  CHECK(near_bound(50, 3, 4) == doctest::Approx(0.8170462505248209).epsilon(1e-9));
  CHECK(near_bound(1024, 9, 20) == doctest::Approx(0.9827569328450605).epsilon(1e-9));
}

TEST_CASE("in few dimensions small residuals are near, if random directions seldom have them") {
  CHECK(null_residual(4, 2, 1e-3) < 0.1);
  CHECK(near_bound(4, 2) == 0.1);  // one in a hundred has less
  CHECK(near_bound(3, 2) < 0.1);   // one in ten would have
  CHECK(near_bound(3, 2) == doctest::Approx(null_residual(3, 2, 0.05)));
  CHECK(near_bound(2, 2) == 0);
  CHECK(near_bound(1.5, 2) == 0);
  CHECK(near_bound(2.5, 2) == near_bound(3, 2));
}

TEST_CASE("bounds are kept by count and dimension") {
  NearBounds bounds({2, 3, 2});
  CHECK(bounds.at(30, 0) == near_bound(30, 2, 3));
  CHECK(bounds.at(30, 1) == near_bound(30, 3, 3));
  CHECK(bounds.at(30, 2) == bounds.at(30, 0));
  CHECK(bounds.at(10, 1) == near_bound(10, 3, 3));
  CHECK(bounds.is_near(bounds.at(30, 0), 30, 0));
  CHECK_FALSE(bounds.is_near(std::nextafter(bounds.at(30, 0), 1.0), 30, 0));
  CHECK_FALSE(bounds.is_near(0, 30, 3));  // assigned to no subspace
  CHECK_FALSE(bounds.is_near(support::quiet_nan<double>, 30, 0));
}
