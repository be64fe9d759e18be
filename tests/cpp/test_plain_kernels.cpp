// kernels/plain.hpp: each loop equals the Armadillo expression it stands for, at every size around
// the lane width and around the four columns of a sweep.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <gasg21/kernels/plain.hpp>
#include <gasg21/kernels/small_solve.hpp>

#include "support.hpp"

using gasg21::uword;
using support::distance;
using support::eps;
using support::gaussian;
using support::quiet_nan;
using support::Random;
namespace kernels = gasg21::kernels;

namespace {

/// Calls act(n, d) for sizes on both sides of every multiple of the lanes.
template <class Act>
void for_sizes(Act&& act) {
  for (uword n = 1; n <= 40; ++n)
    for (uword d = 1; d <= 9; ++d) act(n, d);
}

/// A bound on the rounding of a sum of n products of normal draws (each product below 30).
template <class T>
double rounding(uword n) {
  return 30.0 * double(n) * double(eps<T>);
}

}  // namespace

TEST_CASE_TEMPLATE("dot sums every product once", T, double, float) {
  // Whole numbers, so the sum is exact in any order.
  for (uword n = 0; n <= 100; ++n) {
    const arma::Col<T> a = arma::regspace<arma::Col<T>>(1, T(100));
    const arma::Col<T> ones(100, arma::fill::ones);
    CHECK(kernels::dot(a.memptr(), ones.memptr(), n) == T(n * (n + 1) / 2));
    CHECK(kernels::dot(ones.memptr(), a.memptr(), n) == T(n * (n + 1) / 2));
  }
}

TEST_CASE_TEMPLATE("transpose_times is A'x", T, double, float) {
  Random random(1);
  for_sizes([&](uword n, uword d) {
    const auto A = gaussian<T>(n, d, random);
    const auto x = gaussian<T>(n, random);
    arma::Col<T> out(d);
    kernels::transpose_times(A.memptr(), n, d, x.memptr(), out.memptr());
    REQUIRE(distance<T>(out, A.t() * x) <= rounding<T>(n));
  });
}

TEST_CASE_TEMPLATE("add_times is y + sign A w", T, double, float) {
  Random random(2);
  for_sizes([&](uword n, uword d) {
    const auto A = gaussian<T>(n, d, random);
    const auto w = gaussian<T>(d, random);
    const auto y = gaussian<T>(n, random);
    for (const T sign : {T(-1), T(1), T(0.25)}) {
      arma::Col<T> out = y;
      kernels::add_times(A.memptr(), n, d, w.memptr(), sign, out.memptr());
      REQUIRE(distance<T>(out, y + sign * (A * w)) <= rounding<T>(d + 1));
    }
  });
}

TEST_CASE_TEMPLATE("gram is the lower triangle of A'A", T, double, float) {
  Random random(3);
  for_sizes([&](uword n, uword d) {
    const auto A = gaussian<T>(n, d, random);
    arma::Mat<T> G(d, d, arma::fill::zeros);
    kernels::gram(A.memptr(), n, d, G.memptr());
    REQUIRE(distance<T>(arma::trimatl(G), arma::trimatl((A.t() * A).eval())) <= rounding<T>(n));
  });
}

TEST_CASE_TEMPLATE("gather_rows is U.rows(rows), exactly", T, double, float) {
  Random random(4);
  for_sizes([&](uword n, uword d) {
    const auto U = gaussian<T>(n, d, random);
    const arma::uvec rows = support::random_rows(n, (n + 1) / 2, random);
    arma::Mat<T> out(rows.n_elem, d);
    kernels::gather_rows(U.memptr(), n, d, rows.memptr(), rows.n_elem, out.memptr());
    REQUIRE(support::same_bits<T>(out, U.rows(rows)));
  });
}

TEST_CASE_TEMPLATE("add_outer is U + s v'", T, double, float) {
  Random random(5);
  for_sizes([&](uword n, uword d) {
    const auto U = gaussian<T>(n, d, random);
    const auto s = gaussian<T>(n, random);
    const auto v = gaussian<T>(d, random);
    arma::Mat<T> out = U;
    kernels::add_outer(out.memptr(), n, d, s.memptr(), v.memptr());
    REQUIRE(distance<T>(out, U + s * v.t()) <= rounding<T>(1));
  });
}

TEST_CASE_TEMPLATE("ldl gives L D L' = G, and reads the lower triangle only", T, double, float) {
  Random random(6);
  for (uword d = 1; d <= 40; ++d) {
    const auto A = gaussian<T>(2 * d + 5, d, random);
    const arma::Mat<T> G = A.t() * A;
    arma::Mat<T> L = G;
    for (uword j = 1; j < d; ++j) L.col(j).head(j).fill(quiet_nan<T>);
    const T ratio = kernels::ldl(L.memptr(), d);
    for (uword j = 1; j < d; ++j) L.col(j).head(j).zeros();
    const arma::Col<T> pivots = 1 / L.diag();
    L.diag().ones();
    CAPTURE(d);
    REQUIRE(distance<T>(L * arma::diagmat(pivots) * L.t(), G) <=
            10 * double(d) * double(eps<T>) * double(G.max()));
    // What it returns is the ratio of the pivots.
    REQUIRE(double(ratio) ==
            doctest::Approx(double(pivots.min() / pivots.max())).epsilon(10 * double(eps<T>)));
  }
}

TEST_CASE_TEMPLATE("short_dot is the inner product at every length", T, double, float) {
  support::Random random(77);
  for (gasg21::uword n = 0; n <= 13; ++n) {
    const arma::Col<T> a = support::gaussian<T>(n, random), b = support::gaussian<T>(n, random);
    const double expected = n == 0 ? 0.0 : double(arma::dot(a, b));
    CHECK(std::abs(double(gasg21::kernels::short_dot(a.memptr(), b.memptr(), n)) - expected) <=
          100 * double(support::eps<T>));
  }
}

TEST_CASE_TEMPLATE("ldl returns 0 if the matrix is not positive definite", T, double, float) {
  arma::Mat<T> indefinite = {{1, 2}, {2, 1}};
  CHECK(kernels::ldl(indefinite.memptr(), 2) == T(0));
  arma::Mat<T> negative(1, 1);
  negative.fill(-1);
  CHECK(kernels::ldl(negative.memptr(), 1) == T(0));
  arma::Mat<T> zero(3, 3, arma::fill::zeros);
  CHECK(kernels::ldl(zero.memptr(), 3) == T(0));
  arma::Mat<T> singular = {{4, 2}, {2, 1}};
  CHECK(kernels::ldl(singular.memptr(), 2) == T(0));
  arma::Mat<T> not_a_number = {{1, 0}, {0, quiet_nan<T>}};
  CHECK(kernels::ldl(not_a_number.memptr(), 2) == T(0));
}

TEST_CASE_TEMPLATE("ldl_solve solves G x = b", T, double, float) {
  Random random(7);
  for (uword d = 1; d <= 40; ++d) {
    // Well conditioned (G is near 3 d I), so the solution itself can be compared.
    const auto A = gaussian<T>(3 * d + 20, d, random);
    arma::Mat<T> G = A.t() * A;
    const auto x = gaussian<T>(d, random);
    arma::Col<T> b = G * x;
    kernels::ldl(G.memptr(), d);
    kernels::ldl_solve(G.memptr(), d, b.memptr());
    CAPTURE(d);
    REQUIRE(distance<T>(b, x) <= 500 * double(eps<T>));
  }
}
