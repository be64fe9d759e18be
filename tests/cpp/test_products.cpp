// geometry/products.hpp: the products equal Armadillo's, and do not depend on BLAS.
#include <gasg21/geometry/products.hpp>

#include "support.hpp"

using support::complaint;
using support::contains;
using support::distance;
using support::eps;
using support::gaussian;
using support::Random;

TEST_CASE_TEMPLATE("products equal Armadillo's", T, double, float) {
  Random random(1);
  for (const gasg21::uword n : {1u, 3u, 40u, 300u})
    for (const gasg21::uword d : {1u, 2u, 5u, 9u}) {
      CAPTURE(n);
      CAPTURE(d);
      const arma::Mat<T> A = gaussian<T>(n, d, random), B = gaussian<T>(n, 4, random);
      const arma::Mat<T> C = gaussian<T>(d, 3, random);
      const double rounding = 4 * double(eps<T>) * double(n + d);
      CHECK(distance<T>(gasg21::transposed_product(A, B), A.t() * B) <= rounding);
      CHECK(distance<T>(gasg21::product(A, C), A * C) <= rounding);
      CHECK(double(gasg21::inner_product(A, A)) ==
            doctest::Approx(double(arma::accu(A % A))).epsilon(rounding));
      CHECK(double(gasg21::frobenius_norm(A)) ==
            doctest::Approx(double(arma::norm(A, "fro"))).epsilon(rounding));
    }
}

TEST_CASE("matrices that do not fit together are refused") {
  const arma::mat A(5, 2, arma::fill::ones), B(4, 2, arma::fill::ones);
  CHECK(contains(complaint([&] { gasg21::transposed_product(A, B); }), "5 and 4 rows"));
  CHECK(contains(complaint([&] { gasg21::product(A, B); }), "2 columns times one of 4 rows"));
  CHECK(contains(complaint([&] { gasg21::inner_product(A, B); }), "10 and 8 entries"));
}
