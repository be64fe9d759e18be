// large_products.hpp: products equal BLAS's, for sizes around those of tiles and blocks; their bits
// do not depend on the number of threads.
#include <gasg21/geometry/large_products.hpp>

#include "instruction_sets.hpp"
#include "support.hpp"

using gasg21::Parallel;
using support::complaint;
using support::contains;
using support::distance;
using support::eps;
using support::gaussian;
using support::Random;
using support::same_bits;
using support::uword;

TEST_CASE_TEMPLATE("large products equal those of BLAS", T, double, float) {
  support::for_each_set([] {
    Random random(1);
    for (const uword rows : {1u, 9u, 257u, 600u})
      for (const uword left : {1u, 7u, 49u, 200u})
        for (const uword right : {1u, 8u, 33u, 205u}) {
          CAPTURE(rows);
          CAPTURE(left);
          CAPTURE(right);
          const arma::Mat<T> A = gaussian<T>(rows, left, random),
                             B = gaussian<T>(rows, right, random);
          const arma::Mat<T> At = A.t();
          const arma::Mat<T> expected = A.t() * B;
          const double rounding = 4 * double(eps<T>) * double(rows + 4);
          CHECK(distance<T>(gasg21::large_transposed_product(A, B), expected) < rounding);
          CHECK(distance<T>(gasg21::large_product(At, B), expected) < rounding);
        }
  });
}

TEST_CASE_TEMPLATE("Gram matrices equal those of BLAS and are symmetric", T, double, float) {
  support::for_each_set([] {
    Random random(2);
    for (const uword rows : {3u, 300u})
      for (const uword columns : {1u, 31u, 64u, 500u}) {
        CAPTURE(rows);
        CAPTURE(columns);
        const arma::Mat<T> A = gaussian<T>(rows, columns, random), At = A.t();
        const arma::Mat<T> G = gasg21::gram(A);
        CHECK(distance<T>(G, A.t() * A) < 8 * double(eps<T>) * double(rows + 4));
        CHECK(same_bits<T>(G, G.t()));
        CHECK(distance<T>(gasg21::outer_gram(At), G) < 8 * double(eps<T>) * double(rows + 4));
      }
  });
}

TEST_CASE_TEMPLATE("the number of threads changes no bit", T, double, float) {
  Random random(3);
  const arma::Mat<T> A = gaussian<T>(700, 500, random);
  const arma::Mat<T> thin = gaussian<T>(700, 9, random);
  const Parallel three(3);
  CHECK(same_bits(gasg21::gram(A), gasg21::gram(A, three)));
  CHECK(same_bits(gasg21::large_transposed_product(A, A),
                  gasg21::large_transposed_product(A, A, three)));
  CHECK(same_bits(gasg21::large_transposed_product(A, thin),
                  gasg21::large_transposed_product(A, thin, three)));
}

TEST_CASE("large products refuse matrices that do not fit together") {
  const arma::mat A(5, 2, arma::fill::ones), B(4, 2, arma::fill::ones);
  CHECK(contains(complaint([&] { gasg21::large_transposed_product(A, B); }), "5 and 4 rows"));
  CHECK(contains(complaint([&] { gasg21::large_product(A, B); }), "2 columns times one of 4 rows"));
}
