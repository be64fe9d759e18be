// principal.hpp: leading singular vectors equal LAPACK's, over the whole range of double.
#include <gasg21/geometry/principal.hpp>
#include <utility>

#include "support.hpp"

using support::complaint;
using support::contains;
using support::eps;
using support::gaussian;
using support::Random;
using support::uword;

TEST_CASE_TEMPLATE("leading left singular vectors equal LAPACK's", T, double, float) {
  Random random(1);
  for (const auto& [n, m] :
       {std::pair<uword, uword>{30, 80}, {200, 90}, {700, 360}, {360, 700}, {5, 5}})
    for (const uword count : {1u, 4u, 40u, 200u}) {
      CAPTURE(n);
      CAPTURE(m);
      CAPTURE(count);
      arma::Mat<T> A = gaussian<T>(n, m, random);
      A.cols(0, 2) *= T(9);  // three directions that stand out
      const auto found = gasg21::leading_left_singular(A, count);
      const arma::mat exact = arma::conv_to<arma::mat>::from(A);
      const arma::vec s = arma::svd(exact);
      const uword k = std::min({n, m, uword(count)});
      REQUIRE(found.s.n_elem == k);
      const double rounding = 100 * double(eps<T>) * s[0] * s[0] / s[k - 1];  // of squares
      CHECK(arma::abs(arma::conv_to<arma::vec>::from(found.s) - s.head(k)).max() < rounding);
      CHECK(gasg21::orthonormality_error(found.U) < 100 * eps<T>);
      const arma::mat U = arma::conv_to<arma::mat>::from(found.U);
      const arma::mat off = exact * (exact.t() * U) - U * arma::diagmat(arma::square(s.head(k)));
      CHECK(arma::abs(off).max() < 100 * double(eps<T>) * s[0] * s[0]);
    }
}

TEST_CASE("small singular values and the rank are found") {
  Random random(2);
  const arma::vec s{1, 1e-3, 1e-6, 1e-8, 1e-10, 1e-12};
  const arma::mat P = gasg21::random_basis<double>(200, 6, random);
  const arma::mat Q = gasg21::random_basis<double>(300, 6, random);
  const arma::mat A = P * arma::diagmat(s) * Q.t();
  for (const auto& found : {gasg21::leading_left_singular(A, 20),
                            gasg21::leading_left_singular(arma::mat(1e200 * A.t()), 20)}) {
    REQUIRE(found.s.n_elem == 6);
    CHECK(gasg21::orthonormality_error(found.U) < 1e-14);
    for (uword i = 0; i < 6; ++i) {
      CHECK(found.s[i] / found.s[0] == doctest::Approx(s[i]).epsilon(1e-3));
      const arma::vec expected = found.U.n_rows == 200 ? P.col(i) : Q.col(i);
      CHECK(std::abs(arma::dot(found.U.col(i), expected)) > 1 - 1e-6);
    }
  }
  CHECK(gasg21::leading_left_singular(arma::mat(4, 3, arma::fill::zeros), 2).s.empty());
}

TEST_CASE_TEMPLATE("principal axes span a cluster", T, double, float) {
  Random random(3);
  for (const auto& [n, m] : {std::pair<uword, uword>{50, 20}, {50, 500}, {400, 90}})
    for (const uword d : {1u, 5u, 10u}) {
      CAPTURE(n);
      CAPTURE(m);
      CAPTURE(d);
      const auto U = gasg21::random_basis<T>(n, d, random);
      const arma::Mat<T> A = U * gaussian<T>(d, m, random);
      const arma::Mat<T> axes = gasg21::principal_axes(A, d);
      CHECK(gasg21::orthonormality_error(axes) < 100 * eps<T>);
      CHECK(gasg21::largest_angle(axes, U) < 200 * double(eps<T>));
    }
}

TEST_CASE("principal axes of too few samples are completed") {
  Random random(4);
  const arma::mat A = gaussian<double>(9, 2, random);
  const arma::mat axes = gasg21::principal_axes(A, 5);
  REQUIRE(axes.n_cols == 5);
  CHECK(gasg21::orthonormality_error(axes) < 1e-14);
  CHECK(arma::norm(A - axes.head_cols(2) * (axes.head_cols(2).t() * A)) < 1e-13);
  CHECK(contains(complaint([&] { gasg21::principal_axes(A, 10); }), "d = 10"));
}
