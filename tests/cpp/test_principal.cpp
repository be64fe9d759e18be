// principal.hpp
#include <gasg21/geometry/principal.hpp>

#include "support.hpp"
using support::gaussian;
using support::Random;
using support::uword;
TEST_CASE_TEMPLATE("leading left singular vectors equal LAPACK's", T, double, float) {
  Random random(1);
  for (const auto& [n, m] : {std::pair<uword, uword>{30, 80}, {200, 90}, {500, 300}, {5, 5}})
    for (const uword count : {1u, 4u, 40u, 200u}) {
      CAPTURE(n);
      CAPTURE(m);
      CAPTURE(count);
      const arma::Mat<T> A = gaussian<T>(n, m, random);
      const auto found = gasg21::leading_left_singular(A, count);
      arma::mat U, V;
      arma::vec s;
      arma::svd_econ(U, s, V, arma::conv_to<arma::mat>::from(A));
      const uword k = std::min({n, m, count});
      REQUIRE(found.s.n_elem == k);
      CHECK(arma::abs(arma::conv_to<arma::vec>::from(found.s) - s.head(k)).max() <
            100 * double(support::eps<T>) * s[0] * double(s[0] / s[k - 1]));
      CHECK(gasg21::orthonormality_error(found.U) < 100 * support::eps<T>);
    }
}
TEST_CASE("ranks") {
  Random random(2);
  const arma::mat P = gasg21::random_basis<double>(200, 6, random),
                  Q = gasg21::random_basis<double>(300, 6, random);
  const arma::vec s{1, 1e-3, 1e-6, 1e-8, 1e-10, 1e-12};
  const arma::mat A = P * arma::diagmat(s) * Q.t();
  for (const auto& found : {gasg21::leading_left_singular(A, 20),
                            gasg21::leading_left_singular(arma::mat(A.t()), 20)}) {
    CHECK(found.s.n_elem == 6);
    found.s.print();
  }
}
