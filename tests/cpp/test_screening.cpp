// union/screening.hpp: samples outside the span of all clusters, and samples without neighbours.
#include <algorithm>
#include <gasg21/union/fit_screening.hpp>
#include <gasg21/union/neighbours.hpp>
#include <gasg21/union/screening.hpp>
#include <vector>

#include "union_support.hpp"

using gasg21::fit_screening;
using gasg21::has_neighbours;
using gasg21::PrincipalCoordinates;
using gasg21::Screening;
using support::uword;

TEST_CASE("samples outside the span of all clusters are left out") {
  for (const double missing : {0.0, 0.3}) {
    const std::vector<uword> dimensions{2, 3, 4};
    const support::Union<double> given(50, dimensions, 60, 60, missing, 1e-3, 21);
    const Screening screening = fit_screening(given.X, dimensions, 3);
    const std::vector<bool> kept = screening.keeps(given.X);
    uword wrong = 0;
    for (uword j = 0; j < given.X.n_cols; ++j) wrong += kept[j] != (given.labels[j] < 3);
    CHECK(wrong == 0);
    const arma::mat completed = screening.complete(given.X);
    CHECK_FALSE(completed.has_nan());
    for (uword j = 0; j < given.X.n_cols; ++j) {
      if (given.labels[j] == 3) continue;
      const arma::mat& U = given.truth[given.labels[j]];
      const arma::vec x = completed.col(j);
      CHECK(arma::norm(x - U * (U.t() * x)) < 0.05 * arma::norm(x));
    }
  }
}

TEST_CASE("the overall subspace has at most half of the dimensions that the samples span") {
  support::Random random(2);
  const arma::mat X = support::gaussian<double>(40, 12, random);
  const Screening few = fit_screening(X, {5, 5}, 1);
  CHECK(few.overall.basis.n_cols == 6);
  CHECK(few.overall.bound == gasg21::near_bound(12, 6));
  CHECK(
      fit_screening(support::gaussian<double>(20, 90, random), {4, 4, 4}, 1).overall.basis.n_cols ==
      10);
  CHECK(Screening::applies({5, 5}, 20));
  CHECK_FALSE(Screening::applies({5, 5}, 19));
}

TEST_CASE("samples in the span of all clusters but in none have no neighbours") {
  support::Random random(9);
  const std::vector<uword> dimensions{2, 2, 2, 2};
  support::Union<double> given(40, dimensions, 60, 30, 0, 1e-3, 22);
  for (uword j = 0; j < given.X.n_cols; ++j) {  // outliers move into the span of all
    if (given.labels[j] < 4) continue;
    given.X.col(j).zeros();
    for (const auto& U : given.truth) given.X.col(j) += U * support::gaussian<double>(2, random);
  }
  const PrincipalCoordinates unit(gasg21::unit_columns(given.X), dimensions);
  const std::vector<bool> kept = has_neighbours(given.X, unit, dimensions);
  uword lost = 0, passed = 0;
  for (uword j = 0; j < given.X.n_cols; ++j) {
    lost += given.labels[j] < 4 && !kept[j];
    passed += given.labels[j] == 4 && kept[j];
  }
  CHECK(lost == 0);
  CHECK(passed == 0);

  SUBCASE("without them all have") {
    const arma::mat members = given.X.cols(arma::find(given.labels < 4));
    const PrincipalCoordinates again(gasg21::unit_columns(members), dimensions);
    const std::vector<bool> all = has_neighbours(members, again, dimensions);
    CHECK(std::count(all.begin(), all.end(), false) == 0);
  }
}
