// principal_coordinates.hpp: unit columns, rotations, and how many coordinates matter.
#include <gasg21/union/principal_coordinates.hpp>
#include <vector>

#include "support.hpp"
#include "union_samples.hpp"

using gasg21::PrincipalCoordinates;
using support::gaussian;
using support::Random;
using support::uword;

TEST_CASE_TEMPLATE("unit columns do not overflow, and zeros stay zero", T, double, float) {
  Random random(1);
  arma::Mat<T> X = gaussian<T>(20, 4, random);
  X.col(1) *= std::numeric_limits<T>::max() / 8;
  X.col(2) *= std::numeric_limits<T>::min() * 8;
  X.col(3).zeros();
  const arma::Mat<T> A = gasg21::unit_columns(X);
  for (uword j = 0; j < 3; ++j)
    CHECK(double(arma::norm(A.col(j))) == doctest::Approx(1).epsilon(8 * double(support::eps<T>)));
  CHECK(arma::norm(A.col(3)) == 0);
}

TEST_CASE("a rotation keeps inner products in as many coordinates as there are samples") {
  Random random(2);
  arma::mat X = gaussian<double>(50, 7, random);
  X.col(3) = X.col(1);  // a lower rank
  X.col(5).zeros();
  const arma::mat R = gasg21::rotated(X);
  CHECK(R.n_rows == 7);
  CHECK(arma::abs(R.t() * R - X.t() * X).max() < 1e-12);
  const arma::mat tall = gaussian<double>(5, 9, random);
  CHECK(support::same_bits(gasg21::rotated(tall), tall));
}

TEST_CASE("coordinates are the right singular vectors, whitened by a power") {
  Random random(3);
  const arma::mat X = gaussian<double>(6, 40, random);
  const PrincipalCoordinates principal(X, {2, 1});
  REQUIRE(principal.rank() == 6);
  arma::mat U, V;
  arma::vec s;
  arma::svd_econ(U, s, V, X);
  CHECK(arma::abs(principal.singular_values() - s).max() < 1e-10);
  const arma::mat A = principal.whitened<double>(4, 0.5);
  CHECK(A.n_rows == 4);
  arma::mat expected = arma::diagmat(arma::sqrt(s.head(4))) * V.head_cols(4).t();
  for (uword j = 0; j < expected.n_cols; ++j) expected.col(j) /= arma::norm(expected.col(j));
  CHECK(arma::abs(arma::abs(A) - arma::abs(expected)).max() < 1e-10);  // up to signs of the rows
}

TEST_CASE("all clusters together span the sum of their dimensions, without noise as with it") {
  for (const double noise : {0.0, 1e-6, 1e-2}) {
    const auto samples = support::union_samples({100, 5, 3, 60, noise, 4});
    const PrincipalCoordinates principal(samples.X, std::vector<uword>(5, 3));
    CAPTURE(noise);
    CHECK(principal.n_span() == 15);
    CHECK(principal.n_wide() == (noise > 0 ? 60 : 15));
    CHECK(principal.rank() == (noise > 0 ? 61 : 15));
  }
}

TEST_CASE("the span is half of the coordinates if the subspaces depend on each other") {
  const auto samples = support::union_samples({12, 5, 3, 60, 1e-2, 5});
  CHECK(PrincipalCoordinates(samples.X, std::vector<uword>(5, 3)).n_span() == 6);
}
