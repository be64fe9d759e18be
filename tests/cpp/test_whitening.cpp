// union/whitening.hpp: principal coordinates in which no direction dominates.
#include <cmath>
#include <gasg21/union/fit_screening.hpp>
#include <gasg21/union/whitening.hpp>
#include <vector>

#include "union_support.hpp"

using gasg21::fit_whitening;
using gasg21::may_whiten;
using gasg21::PrincipalCoordinates;
using gasg21::Whitening;
using gasg21::whitening_of;
using support::uword;

namespace {

const std::vector<uword> dimensions{2, 3};

/// Two subspaces in badly scaled coordinates.
support::Union<double> scaled(double missing, uword outliers) {
  support::Union<double> given(30, dimensions, 80, outliers, missing, 1e-3, 31);
  for (uword i = 0; i < 30; ++i) {
    const double factor = std::pow(10, -double(i) / 30);
    for (uword j = 0; j < given.X.n_cols; ++j)
      if (given.labels[j] < 2) given.X(i, j) *= factor;  // outliers point everywhere
    for (auto& U : given.truth) U.row(i) *= factor;
  }
  for (auto& U : given.truth) REQUIRE(gasg21::orthonormalize(U));
  return given;
}

}  // namespace

TEST_CASE("the directions are the singular vectors of the samples") {
  const auto given = scaled(0, 0);
  const Whitening found =
      whitening_of(given.X, PrincipalCoordinates(given.X, dimensions), dimensions, std::nullopt);
  arma::mat U, V;
  arma::vec s;
  REQUIRE(arma::svd_econ(U, s, V, given.X));
  REQUIRE(found.n_coordinates() == 10);  // 2 sum d_k
  CHECK(found.n_rows() == 30);
  for (uword c = 0; c < 5; ++c)
    CHECK(std::abs(arma::dot(found.directions.col(c), U.col(c))) == doctest::Approx(1));
  CHECK(support::distance(found.spread, arma::vec(s.head(10))) < 1e-9);

  SUBCASE("and the coordinates are theirs, divided by the root of the spread") {
    const arma::mat A = found.apply(given.X);
    for (uword j = 0; j < 5; ++j) {
      const arma::vec expected = (found.directions.t() * given.X.col(j)) / arma::sqrt(found.spread);
      CHECK(arma::norm(arma::normalise(expected) - arma::normalise(A.col(j))) < 1e-9);
    }
    const std::vector<bool> outlier = found.is_outlier(given.X);  // no screening
    CHECK(std::count(outlier.begin(), outlier.end(), true) == 0);
  }
  SUBCASE("a subspace of the coordinates comes back as one of the data") {
    const arma::mat A = found.apply(given.X.cols(arma::find(given.labels == 0)));
    arma::mat P, W;
    REQUIRE(arma::svd_econ(P, s, W, A));
    const arma::mat back = found.original(P.head_cols(2));
    CHECK(gasg21::orthonormality_error(back) < 1e-12);
    CHECK(gasg21::largest_angle(back, given.truth[0]) < 0.02);
  }
}

TEST_CASE("outliers and missing entries do not matter: the screening takes care of them") {
  const auto given = scaled(0.2, 40);
  const Whitening found = fit_whitening(given.X, dimensions, 5);
  const std::vector<bool> outlier = found.is_outlier(given.X);
  uword lost = 0, passed = 0;
  for (uword j = 0; j < given.X.n_cols; ++j) {
    lost += given.labels[j] < 2 && outlier[j];
    passed += given.labels[j] == 2 && !outlier[j];
  }
  CHECK(lost == 0);
  CHECK(passed <= 2);  // of 40
  CHECK(found.apply(given.X).is_finite());
  const auto clean = scaled(0, 0);  // the same subspaces
  const Whitening oracle =
      whitening_of(clean.X, PrincipalCoordinates(clean.X, dimensions), dimensions, std::nullopt);
  CHECK(gasg21::largest_angle(arma::mat(found.directions.head_cols(5)),
                              arma::mat(oracle.directions.head_cols(5))) < 0.05);
}

TEST_CASE("coordinates do not overflow") {
  const auto given = scaled(0, 0);
  const Whitening found =
      whitening_of(given.X, PrincipalCoordinates(given.X, dimensions), dimensions, std::nullopt);
  CHECK(found.apply(arma::mat(1e300 * given.X)).is_finite());
  CHECK(support::same_bits(found.apply(arma::mat(30, 1, arma::fill::zeros)),
                           arma::mat(10, 1, arma::fill::zeros)));
}

TEST_CASE("samples with fewer than 1.5 sum d_k observed entries are not to be whitened") {
  CHECK(may_whiten(scaled(0, 0).X, dimensions));
  CHECK(may_whiten(scaled(0.5, 0).X, dimensions));        // 15 entries
  CHECK_FALSE(may_whiten(scaled(0.8, 0).X, dimensions));  // 6 entries, for 1.5 (2 + 3)
}

TEST_CASE("a rank that is no larger than one subspace is refused") {
  support::Random random(1);
  const arma::mat U = gasg21::random_basis<double>(20, 3, random);
  const arma::mat X = U * support::gaussian<double>(3, 50, random);
  CHECK(support::contains(support::complaint([&] { fit_whitening(X, {3, 3}, 1); }), "rank above"));
}
