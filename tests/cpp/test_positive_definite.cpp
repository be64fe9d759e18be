// geometry/positive_definite.hpp: inverse and root of small matrices.
#include <gasg21/geometry/positive_definite.hpp>

#include "support.hpp"

using gasg21::positive_inverse;
using gasg21::positive_root;
using support::gaussian;
using support::Random;
using support::uword;

namespace {

arma::mat definite(uword d, Random& random) {
  const arma::mat A = gaussian<double>(2 * d, d, random);
  return A.t() * A;
}

}  // namespace

TEST_CASE("the inverse and the root of a definite matrix") {
  Random random(1);
  for (const uword d : {1u, 2u, 5u, 12u, 30u}) {
    CAPTURE(d);
    const arma::mat A = definite(d, random), eye(d, d, arma::fill::eye);
    arma::mat inverse;
    positive_inverse(A, inverse, 0);
    CHECK(support::distance<double>(A * inverse, eye) <= 1e-11);
    const arma::mat R = positive_root(A);
    CHECK(support::distance<double>(R * R.t(), A) <= 1e-12 * arma::trace(A));
    CHECK(support::same_bits<double>(R, arma::trimatl(R)));
  }
}

TEST_CASE("a singular matrix gets a ridge that is small beside it") {
  Random random(2);
  const arma::mat A = gaussian<double>(6, 2, random), C = A * A.t();
  const arma::mat R = positive_root(C);
  CHECK(R.is_finite());
  CHECK(support::distance<double>(R * R.t(), C) <= 1e-9 * arma::trace(C));
  arma::mat inverse;
  positive_inverse(C, inverse, 1e-13);
  CHECK(inverse.is_finite());
  const arma::vec inside = A.col(0);
  CHECK(support::distance<double>(C * (inverse * inside), inside) <= 1e-2 * arma::norm(inside));
}

TEST_CASE("a matrix with a negative eigenvalue is refused") {
  CHECK_THROWS_AS(positive_root(arma::mat{{1, 0}, {0, -5}}), gasg21::NumericalError);
}
