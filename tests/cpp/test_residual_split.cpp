// inliers/residual_split.hpp: members and outliers by their residuals alone.
#include <cmath>
#include <gasg21/inliers/residual_split.hpp>

#include "support.hpp"

using gasg21::ResidualSplit;
using gasg21::split_residuals;
using support::uword;

namespace {

/// Members about 1 with a deviation of 0.1, and outliers about `apart` with a deviation of 0.3.
arma::vec two_kinds(uword members, uword outliers, double apart) {
  support::Random random(2);
  arma::vec residuals(members + outliers);
  for (uword j = 0; j < residuals.n_elem; ++j)
    residuals[j] =
        std::abs(j < members ? 1 + 0.1 * random.normal() : apart + 0.3 * random.normal());
  return residuals;
}

}  // namespace

TEST_CASE("residuals of two kinds are split between them") {
  arma::vec residuals = two_kinds(300, 60, 5);
  const ResidualSplit split = split_residuals(residuals);
  for (uword j = 0; j < 360; ++j) CHECK(split.is_above(residuals[j]) == (j >= 300));

  SUBCASE("in any unit") {
    CHECK(split_residuals(1e-9 * residuals).cut == doctest::Approx(1e-9 * split.cut));
  }
  SUBCASE("whatever the others are") {
    residuals.insert_rows(7, arma::vec{support::quiet_nan<double>, arma::datum::inf});
    CHECK(split_residuals(residuals).cut == split.cut);
  }
  SUBCASE("at least some deviations above the members") {
    CHECK(split_residuals(residuals, 30).cut == doctest::Approx(1 + 30 * 0.1).epsilon(0.1));
  }
}

TEST_CASE("residuals of one kind are not split") {
  CHECK_FALSE(split_residuals(two_kinds(300, 0, 0)).is_above(1e300));
  CHECK_FALSE(split_residuals(two_kinds(300, 30, 1.3)).is_above(1e300));
  CHECK_FALSE(split_residuals(arma::vec(50, arma::fill::zeros)).is_above(1e300));
  CHECK_FALSE(split_residuals(arma::vec(50, arma::fill::ones)).is_above(1e300));
}

TEST_CASE("a majority of large residuals is not a kind of outliers") {
  CHECK_FALSE(split_residuals(two_kinds(100, 200, 5)).is_above(1e300));
}

TEST_CASE("few residuals tell nothing") {
  CHECK_FALSE(split_residuals(two_kinds(15, 4, 5)).is_above(1e300));
  CHECK(split_residuals(two_kinds(16, 4, 5)).is_above(5));
}
