// quick_labels.hpp: labels by shape interaction, and a start from them.
#include <gasg21/union/quick_labels.hpp>
#include <vector>

#include "support.hpp"
#include "union_samples.hpp"

using gasg21::Parallel;
using gasg21::PrincipalCoordinates;
using gasg21::QuickLabels;
using support::uword;

TEST_CASE("two labellings are right, without noise as with it; then there are no more") {
  for (const double noise : {0.0, 1e-2}) {
    const auto made = support::union_samples({60, 5, 3, 40, noise, 1});
    const std::vector<uword> dimensions(5, 3);
    const PrincipalCoordinates of_unit(gasg21::unit_columns(made.X), dimensions);
    QuickLabels quick(of_unit, dimensions, 1, Parallel());
    CAPTURE(noise);
    const auto first = quick.next();
    REQUIRE(first);
    CHECK(gasg21::agreement_of(*first, made.labels) == doctest::Approx(1));
    CHECK(quick.next());
    CHECK_FALSE(quick.next());
  }
}

TEST_CASE("there are no quick labels if the rank is too low") {
  support::Random random(2);
  const arma::mat X =
      gasg21::random_basis<double>(20, 3, random) * support::gaussian<double>(3, 50, random);
  const PrincipalCoordinates of_unit(gasg21::unit_columns(X), {2, 2});
  CHECK_FALSE(QuickLabels(of_unit, {2, 2}, 1, Parallel()).next());
}

TEST_CASE("a spectral start has the principal axes of each cluster") {
  const auto made = support::union_samples({60, 4, 3, 40, 1e-3, 3});
  const auto start = gasg21::spectral_start(made.X, std::vector<uword>(4, 3), 1, Parallel());
  for (uword k = 0; k < 4; ++k) {
    const arma::mat own = made.X.cols(arma::find(made.labels == k));
    const arma::mat truth = gasg21::principal_axes(gasg21::unit_columns(own), 3);
    double least = 2;
    for (const arma::mat& U : start) least = std::min(least, gasg21::largest_angle(U, truth));
    CHECK(least < 1e-10);
  }
}

TEST_CASE("a spectral start needs enough samples of enough rank") {
  const auto made = support::union_samples({20, 2, 3, 3, 1e-3, 4});
  CHECK_THROWS_AS(gasg21::spectral_start(made.X, {3, 3}, 1, Parallel()), std::invalid_argument);
}
