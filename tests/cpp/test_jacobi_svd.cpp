// geometry/jacobi_svd.hpp: the factors reproduce the matrix, and small singular values are
// accurate.
#include <cmath>
#include <gasg21/geometry/grassmann.hpp>
#include <gasg21/geometry/jacobi_svd.hpp>

#include "support.hpp"

using gasg21::orthonormality_error;
using gasg21::random_basis;
using gasg21::singular_values;
using gasg21::smallest_eigenvalue;
using gasg21::thin_svd;
using support::distance;
using support::eps;
using support::gaussian;
using support::Random;
using support::uword;

TEST_CASE_TEMPLATE("A = P diag(s) V' with orthonormal P and V and descending s", T, double, float) {
  Random random(1);
  for (const uword n : {1u, 5u, 17u, 40u})
    for (uword k = 1; k <= std::min<uword>(n, 9); ++k) {
      const arma::Mat<T> A = gaussian<T>(n, k, random);
      const auto svd = thin_svd(A);
      const double tolerance = 20 * double(k) * double(eps<T>);
      REQUIRE(distance<T>(svd.P * arma::diagmat(svd.s) * svd.V.t(), A) <=
              tolerance * double(svd.s[0]));
      REQUIRE(double(orthonormality_error(svd.P)) <= tolerance);
      REQUIRE(double(orthonormality_error(svd.V)) <= tolerance);
      REQUIRE(svd.s.is_sorted("descend"));
      REQUIRE(distance<T>(svd.s, arma::svd(A)) <= tolerance * double(svd.s[0]));
    }
}

TEST_CASE_TEMPLATE("small singular values of scaled columns have full relative accuracy", T, double,
                   float) {
  Random random(2);
  // Orthonormal columns times a diagonal matrix, with a condition far above 1 / eps.
  const arma::Col<T> expected = {1, T(1e-3), T(1e-9), T(1e-15)};
  const arma::Mat<T> A = random_basis<T>(30, 4, random) * arma::diagmat(expected);
  const arma::Col<T> s = singular_values(A);
  for (uword c = 0; c < 4; ++c)
    CHECK(double(s[c] / expected[c]) == doctest::Approx(1).epsilon(20 * eps<T>));
}

TEST_CASE_TEMPLATE("dependent and zero columns have singular values at rounding level", T, double,
                   float) {
  Random random(3);
  arma::Mat<T> A = gaussian<T>(20, 5, random);
  A.col(3) = A.col(0) + A.col(1);
  A.col(4).zeros();
  const auto svd = thin_svd(A);
  CHECK(svd.s[2] > T(1));
  CHECK(svd.s[3] <= 20 * eps<T> * svd.s[0]);
  CHECK(svd.s[4] <= 20 * eps<T> * svd.s[0]);
  CHECK(distance<T>(svd.P * arma::diagmat(svd.s) * svd.V.t(), A) <= 100 * double(eps<T>));

  const auto zero = thin_svd(arma::Mat<T>(6, 3, arma::fill::zeros));
  CHECK(zero.s.max() == T(0));
  CHECK(zero.P.is_zero());
  CHECK(double(orthonormality_error(zero.V)) == 0);
}

TEST_CASE("a matrix with NaN is an error, not an endless loop") {
  arma::mat A(5, 3, arma::fill::ones);
  A(2, 1) = support::quiet_nan<double>;
  CHECK_THROWS_AS(thin_svd(A), gasg21::NumericalError);
}

TEST_CASE("the smallest eigenvalue equals that of arma::eig_sym, for all signs") {
  Random random(4);
  for (const uword d : {1u, 2u, 5u, 12u})
    for (const double shift : {-30.0, 0.0, 30.0}) {  // negative definite, indefinite, positive
      CAPTURE(d);
      CAPTURE(shift);
      arma::mat A = gaussian<double>(d, d, random);
      A = A + A.t() + shift * arma::eye(d, d);
      const double size = arma::norm(A, "fro");
      CHECK(std::abs(smallest_eigenvalue(A) - arma::eig_sym(A).min()) <= 1e-14 * size);
      CHECK(smallest_eigenvalue(1e30 * A) / 1e30 ==
            doctest::Approx(smallest_eigenvalue(A)).epsilon(1e-12));
    }
  CHECK(smallest_eigenvalue(arma::mat(3, 3, arma::fill::zeros)) == 0);
  const arma::vec u = arma::normalise(gaussian<double>(6, random));
  CHECK(std::abs(smallest_eigenvalue(u * u.t())) <= 1e-15);  // singular: zero up to rounding
  CHECK(smallest_eigenvalue(-u * u.t()) == doctest::Approx(-1).epsilon(1e-14));
}
