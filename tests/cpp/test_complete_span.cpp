// union/complete_span.hpp: a robust fit of many dimensions to complete samples.
#include <gasg21/union/complete_span.hpp>
#include <gasg21/union/fit_one_subspace.hpp>

#include "union_support.hpp"

using gasg21::largest_angle;
using gasg21::Parallel;
using gasg21::robust_span;
using support::uword;

TEST_CASE("the span of several subspaces is found among outliers") {
  const support::Union<double> given(60, support::same(5, 3), 60, 150, 0, 1e-3, 4);
  arma::mat all;
  for (const auto& U : given.truth) all = arma::join_rows(all, U);
  REQUIRE(gasg21::orthonormalize(all));
  const arma::mat A = arma::normalise(given.X);
  const arma::mat span = robust_span(A, 15, 1);
  CHECK(gasg21::orthonormality_error(span) < 1e-12);
  CHECK(largest_angle(span, all) < 5e-3);  // noise of 1e-3 on weights of size 1
  SUBCASE("as `recover` finds it") {
    const auto other = gasg21::fit_one_subspace(A, 15, {});
    CHECK(largest_angle(span, other.basis) < 2e-3);
  }
  SUBCASE("for any number of threads") {
    CHECK(support::same_bits(span, robust_span(A, 15, 1, Parallel(3))));
  }
}

TEST_CASE("directions without samples stay, zeros do not count") {
  support::Random random(5);
  const arma::mat U = gasg21::random_basis<double>(30, 2, random);
  arma::mat A = arma::normalise(arma::mat(U * support::gaussian<double>(2, 40, random)));
  A.col(3).zeros();
  const arma::mat span = robust_span(A, 5, 2);
  CHECK(gasg21::orthonormality_error(span) < 1e-12);
  CHECK(arma::norm(U - span * (span.t() * U)) < 1e-9);
  CHECK(support::contains(
      support::complaint([] { robust_span(arma::mat(30, 4, arma::fill::zeros), 2, 1); }),
      "no sample can be used"));
}
