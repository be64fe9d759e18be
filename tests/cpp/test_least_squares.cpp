// fit/least_squares.hpp: weights and residual on Omega, to the digits that the data allow.
#include <cmath>
#include <gasg21/fit/least_squares.hpp>
#include <gasg21/geometry/grassmann.hpp>

#include "support.hpp"

using gasg21::DenseSample;
using gasg21::LeastSquares;
using gasg21::Observation;
using gasg21::random_basis;
using gasg21::Solved;
using gasg21::Usable;
using support::eps;
using support::gaussian;
using support::only;
using support::Random;
using support::random_rows;
using support::uword;

namespace {

/// One vector observed and fitted.
template <class T>
struct Fitted {
  Observation<T> x;
  LeastSquares<T> fit;
  Solved solved;

  Fitted(const arma::Mat<T>& U, const arma::Col<T>& sample)
      : x(U.n_rows), fit(U.n_rows, U.n_cols), solved() {
    REQUIRE(x.read(DenseSample<T>{sample.memptr()}) == Usable::yes);
    solved = fit.solve(U, x);
  }
  arma::uvec rows() const { return arma::uvec(x.rows(), x.count()); }
  arma::Col<T> values() const { return arma::Col<T>(x.values(), x.count()); }
  arma::Col<T> r() const { return arma::Col<T>(fit.r(), x.count()); }
};

/// An orthonormal 40 x d basis whose first 25 rows have the singular values 1, ..., 1, smallest.
template <class T>
struct BadlySeen {
  arma::uvec omega = arma::regspace<arma::uvec>(0, 24);
  arma::Mat<T> left;  // the span of U_Omega
  arma::Mat<T> U;

  BadlySeen(uword d, T smallest, Random& random) : left(random_basis<T>(25, d, random)) {
    arma::Mat<T> cosines(d, d, arma::fill::eye), sines(d, d, arma::fill::zeros);
    cosines(d - 1, d - 1) = smallest;
    sines(d - 1, d - 1) = std::sqrt(1 - smallest * smallest);
    const auto mix = random_basis<T>(d, d, random);
    U = arma::join_cols(left * cosines, random_basis<T>(15, d, random) * sines) * mix.t();
  }
};

/// An orthonormal basis whose rows Omega are Kahan's matrix, turned: its condition grows like
/// (1 + c)^d beyond what the pivots of Cholesky show.
template <class T>
struct Kahan {
  arma::uvec omega;
  arma::Mat<T> A, U;

  Kahan(uword d, Random& random) : omega(arma::regspace<arma::uvec>(0, 2 * d - 1)) {
    const double c = 0.6, s = 0.8;
    arma::mat K(d, d, arma::fill::eye);
    for (uword i = 0; i < d; ++i) {
      for (uword j = i + 1; j < d; ++j) K(i, j) = -c;
      K.row(i) *= std::pow(s, double(i));
    }
    K *= 0.9 / arma::norm(K);
    const arma::mat seen = random_basis<double>(2 * d, d, random) * K;
    const arma::mat rest = arma::chol(arma::eye(d, d) - seen.t() * seen);
    U = arma::conv_to<arma::Mat<T>>::from(arma::join_cols(seen, rest));
    A = U.head_rows(2 * d);
  }
  /// The smallest pivot of A'A over the largest.
  double pivot_ratio() const {
    arma::mat Q, R;
    arma::qr_econ(Q, R, arma::conv_to<arma::mat>::from(A));
    return arma::square(R.diag()).min() / arma::square(R.diag()).max();
  }
};

}  // namespace

TEST_CASE_TEMPLATE("weights and residual are those of arma::solve", T, double, float) {
  Random random(1);
  for (const uword d : {1u, 3u, 8u})
    for (const uword count : {d + 1, d + 20, uword(60)}) {
      CAPTURE(d);
      CAPTURE(count);
      const auto U = random_basis<T>(60, d, random);
      const Fitted<T> f(U, only(gaussian<T>(60, random), random_rows(60, count, random)));
      REQUIRE(f.solved == Solved::yes);
      const arma::Mat<T> A = U.rows(f.rows());
      const arma::Col<T> w = arma::solve(A, f.values());
      // The backward error of both is a few eps; the weights feel the condition of A.
      const double tolerance =
          50 * double(eps<T>) * double(arma::cond(A)) * double(arma::norm(w) + 1);
      CHECK(support::distance<T>(f.fit.w(), w) <= tolerance);
      CHECK(support::distance<T>(f.r(), f.values() - A * w) <= tolerance);
      CHECK(double(f.fit.residual()) ==
            doctest::Approx(double(arma::norm(f.r()))).epsilon(4 * eps<T>));
      CHECK_FALSE(f.fit.exact());
    }
}

TEST_CASE_TEMPLATE("the residual is orthogonal to U_Omega, relative to its own size", T, double,
                   float) {
  Random random(2);
  for (const uword count : {uword(30), uword(60)})
    for (const double distance : {1.0, 1e-3, 500 * double(eps<T>)}) {  // 1e-13 in double
      CAPTURE(count);
      CAPTURE(distance);
      const auto U = random_basis<T>(60, 4, random);
      const arma::Col<T> x = arma::normalise(U * gaussian<T>(4, random)) +
                             T(distance) * arma::normalise(gaussian<T>(60, random));
      const Fitted<T> f(U, only<T>(x, random_rows(60, count, random)));
      REQUIRE(f.solved == Solved::yes);
      const double overlap = double(arma::norm(U.rows(f.rows()).t() * f.r()));
      CHECK(f.fit.residual() > T(0));
      CHECK(overlap <= 10 * double(eps<T>) * double(f.fit.residual()));
    }
}

TEST_CASE_TEMPLATE("a vector of the subspace is recognised, full or not", T, double, float) {
  Random random(3);
  for (int trial = 0; trial < 200; ++trial) {
    const auto U = random_basis<T>(50, 5, random);
    const arma::Col<T> x = U * gaussian<T>(5, random);
    REQUIRE(Fitted<T>(U, x).fit.exact());
    REQUIRE(Fitted<T>(U, only<T>(x, random_rows(50, 25, random))).fit.exact());
  }
}

TEST_CASE_TEMPLATE("d entries or fewer say nothing about the subspace", T, double, float) {
  Random random(4);
  const auto U = random_basis<T>(30, 4, random);
  const auto x = gaussian<T>(30, random);
  for (const uword count : {1u, 3u, 4u})
    CHECK(Fitted<T>(U, only<T>(x, random_rows(30, count, random))).solved ==
          Solved::too_few_entries);
  CHECK(Fitted<T>(U, only<T>(x, random_rows(30, 5, random))).solved == Solved::yes);
}

TEST_CASE_TEMPLATE("a direction that Omega does not see is rank deficient", T, double, float) {
  Random random(5);
  const auto x = gaussian<T>(40, random);
  // The last direction lies off Omega altogether ...
  const BadlySeen<T> blind(3, T(0), random);
  CHECK(Fitted<T>(blind.U, only<T>(x, blind.omega)).solved == Solved::rank_deficient);
  // ... or so nearly that its weight would be noise.
  const BadlySeen<T> noisy(3, std::sqrt(eps<T>) / 8, random);
  CHECK(Fitted<T>(noisy.U, only<T>(x, noisy.omega)).solved == Solved::rank_deficient);
  // A column that is zero on Omega is not reached by rounding.
  arma::Mat<T> unit(6, 2, arma::fill::zeros);
  unit(0, 0) = unit(5, 1) = 1;
  CHECK(Fitted<T>(unit, {1, 2, 3, 4, 5, support::quiet_nan<T>}).solved == Solved::rank_deficient);
}

TEST_CASE_TEMPLATE("an ill-conditioned U_Omega loses the digits of cond, not of cond squared", T,
                   double, float) {
  Random random(6);
  // From a condition that Cholesky handles to nearly the one that is refused (1e-7 in double).
  for (const T smallest : {T(0.1), std::pow(eps<T>, T(0.25)), 8 * std::sqrt(eps<T>)}) {
    CAPTURE(smallest);
    const BadlySeen<T> p(4, smallest, random);
    const arma::Mat<T> A = p.U.head_rows(25);
    const arma::Col<T> w = gaussian<T>(4, random);
    arma::Col<T> x(40, arma::fill::zeros);
    x.head(25) = A * w;
    const Fitted<T> inside(p.U, only<T>(x, p.omega));
    REQUIRE(inside.solved == Solved::yes);
    // x is itself rounded to eps, which already moves w by eps / smallest.
    CHECK(support::distance<T>(inside.fit.w() * inside.x.scale(), w) <=
          20 * double(eps<T>) / double(smallest));
    // Off the subspace the rounding of U moves w by cond^2 |r|; the residual stays well defined.
    const Fitted<T> outside(p.U, only<T>(x + gaussian<T>(40, random), p.omega));
    CHECK(double(arma::norm(A.t() * outside.r())) <=
          10 * double(eps<T>) * double(outside.fit.residual()));
    CHECK(support::distance<T>(outside.r() + A * outside.fit.w(), outside.values()) <=
          10 * double(eps<T>) * double(arma::norm(outside.fit.w())));
  }
}

TEST_CASE_TEMPLATE("the solver carries nothing from one vector to the next", T, double, float) {
  Random random(7);
  const BadlySeen<T> p(3, 8 * std::sqrt(eps<T>), random);
  const auto x = gaussian<T>(40, random);
  LeastSquares<T> kept(40, 3);
  Observation<T> seen(40);
  // Full, by SVD, by Cholesky, too few, and again: each as if it were the first.
  const arma::uvec sets[] = {arma::regspace<arma::uvec>(0, 39),
                             p.omega,
                             arma::regspace<arma::uvec>(10, 39),
                             {1, 2},
                             p.omega,
                             arma::regspace<arma::uvec>(0, 39)};
  for (const arma::uvec& rows : sets) {
    const arma::Col<T> sample = only<T>(x, rows);
    const Fitted<T> fresh(p.U, sample);
    seen.read(DenseSample<T>{sample.memptr()});
    CHECK(kept.solve(p.U, seen) == fresh.solved);
    if (fresh.solved != Solved::yes) continue;
    CHECK(support::same_bits<T>(kept.w(), fresh.fit.w()));
    CHECK(kept.residual() == fresh.fit.residual());
  }
}

TEST_CASE_TEMPLATE("small pivots that hide a large condition are seen through", T, double, float) {
  Random random(8);
  const bool is_double = sizeof(T) == 8;
  // Twice a condition at which Cholesky of A'A has few digits or none, though no pivot tells; then
  // one beyond what is solved.
  const uword sizes[] = {is_double ? 16u : 9u, is_double ? 20u : 10u, is_double ? 32u : 16u};
  for (const uword d : sizes) {
    CAPTURE(d);
    const Kahan<T> p(d, random);
    const arma::Col<double> s = arma::svd(arma::conv_to<arma::mat>::from(p.A));
    const double condition = s[0] / s[d - 1], root = std::sqrt(double(eps<T>));
    REQUIRE(p.pivot_ratio() > 2 * root);  // the pivots alone would have Cholesky go on
    const arma::Col<T> w = gaussian<T>(d, random);
    arma::Col<T> x(p.U.n_rows, arma::fill::zeros);
    x.elem(p.omega) = p.A * w;
    const Fitted<T> inside(p.U, only<T>(x, p.omega));
    if (d == sizes[2]) {
      REQUIRE(condition * root > 2);
      CHECK(inside.solved == Solved::rank_deficient);
      continue;
    }
    REQUIRE(condition * condition * double(eps<T>) > 10 * root);
    REQUIRE(condition * root < 0.5);
    REQUIRE(inside.solved == Solved::yes);
    // x is rounded to eps, which moves w by eps times the condition; so much, and not its square.
    CHECK(support::distance<T>(inside.fit.w() * inside.x.scale(), w) <=
          20 * double(eps<T>) * condition * double(arma::norm(w)));
    const Fitted<T> outside(p.U, only<T>(gaussian<T>(p.U.n_rows, random), p.omega));
    CHECK(double(arma::norm(p.A.t() * outside.r())) <=
          20 * double(eps<T>) * double(outside.fit.residual()));
  }
}
