// polish/polisher.hpp: a pass is the pseudo-code of the polish, for any number of threads and any
// kind of data.
#include <cmath>
#include <cstdint>
#include <gasg21/polish/polisher.hpp>
#include <limits>
#include <vector>

#include "polish_support.hpp"

using gasg21::DenseView;
using gasg21::Parallel;
using gasg21::Polisher;
using support::distance;
using support::polished;
using support::Problem;
using support::quiet_nan;
using support::same_bits;
using support::uword;

namespace {

/// Several tiles of coordinates, chunks and blocks of samples.
Problem<double> many_tiles() { return {300, 700, 10, 0.4, 0.3, 0.01, 5}; }

template <class T>
bool same(const Polisher<T>& a, const Polisher<T>& b) {
  return same_bits(a.basis(), b.basis()) && same_bits<double>(a.fits().omega, b.fits().omega) &&
         same_bits(a.scatter().C, b.scatter().C) && a.scatter().s == b.scatter().s &&
         a.estimated_angle() == b.estimated_angle();
}

/// The pseudo-code of the polish by plain Armadillo, without its ridges (which are below 1e-13).
struct Literal {
  const arma::mat& X;
  arma::mat U, C, W, R;  // R: residuals of the unit-norm samples
  arma::vec r2, N, om;
  double s = 0, change = 0, error = 0;
  bool extrapolated = false;
  arma::mat from, to;  // the previous step

  Literal(const arma::mat& X_, const arma::mat& U_)
      : X(X_), U(U_), W(U.n_cols, X.n_cols), R(arma::size(X)), r2(X.n_cols), N(r2), om(r2) {}

  void pass(bool first) {
    const double n = double(U.n_rows), d = double(U.n_cols);
    arma::mat information(U.n_cols, U.n_cols, arma::fill::zeros);
    for (uword j = 0; j < X.n_cols; ++j) {
      const arma::uvec omega = arma::find_finite(X.col(j)), at = {j};
      const arma::vec column = X.col(j), x = arma::normalise(arma::vec(column.elem(omega)));
      W.col(j) = arma::solve(U.rows(omega), x);
      R.submat(omega, at) = x - U.rows(omega) * W.col(j);
      r2[j] = arma::accu(arma::square(R.submat(omega, at)));
      N[j] = double(omega.n_elem);
      information += N[j] / n * (N[j] - d) / r2[j] * W.col(j) * W.col(j).t();
    }
    // Noise in the weights contributes an identity per sample.
    information.diag() -= double(X.n_cols);
    error = std::sqrt(n / arma::eig_sym(information).min());
    const auto means = [&] {
      C = W * arma::diagmat(om) * W.t() / arma::accu(om);
      s = arma::accu(om % r2 / (N - d)) / arma::accu(om);
    };
    const auto weigh = [&] {
      for (uword j = 0; j < X.n_cols; ++j)
        om[j] = 1 / (arma::dot(W.col(j), arma::solve(C, W.col(j))) + r2[j] / s);
    };
    om.ones();
    if (first) means();
    for (int i = 0; i < (first ? 30 : 3); ++i) {
      weigh();
      means();
    }
    weigh();  // the rows get the weights of the last C and s
    arma::mat V = U;
    for (uword i = 0; i < U.n_rows; ++i) {
      const arma::uvec seen = arma::find_finite(X.row(i)), at = {i};
      const arma::mat weighted = W.cols(seen) * arma::diagmat(om.elem(seen));
      V.row(i) +=
          arma::solve(weighted * W.cols(seen).t(), weighted * R.submat(at, seen).t()).eval().t();
    }
    arma::mat Q, upper;
    arma::qr_econ(Q, upper, V);
    Q = Q * arma::diagmat(arma::sign(upper.diag()));
    change = std::asin(arma::norm(Q - U * (U.t() * Q)));
    const arma::mat plain = Q;
    if (!from.empty()) {  // the secant step
      const arma::mat off = arma::eye(U.n_rows, U.n_rows) - U * U.t();
      const arma::mat f = off * Q * Q.t() * U, end = off * to * to.t() * U,
                      bend = f - (end - off * from * from.t() * U);
      const double further = -arma::dot(f, bend) / arma::dot(bend, bend);
      extrapolated = further > 0;
      REQUIRE((further < 4 && change < 0.2));
      if (extrapolated) {
        arma::qr_econ(Q, upper, U + f + further * (f - end));
        Q = Q * arma::diagmat(arma::sign(upper.diag()));
        change = std::max(change, std::asin(arma::norm(Q - U * (U.t() * Q))));
      }
    }
    from = U;
    to = plain;
    const arma::mat rotation = U.t() * plain * (plain.t() * Q);
    C = rotation.t() * C * rotation;
    U = Q;
  }
};

}  // namespace

TEST_CASE("three passes are the pseudo-code of the polish written out") {
  Problem<double> p(300, 150, 4, 0.4, 0.3, 0.02, 1);
  const auto start = p.near(0.05);
  Literal expected(p.X, start);
  Polisher<double> polisher(start, 150);
  const Parallel parallel;
  const DenseView<double> data(p.X);
  for (int pass = 0; pass < 3; ++pass) {
    expected.pass(pass == 0);
    const double change = polisher.pass(data, parallel);
    // All is well conditioned here; 1e-10 leaves room for the ridges and sums in another order.
    CHECK(distance<double>(polisher.fits().W, expected.W) <= 1e-12);
    CHECK(arma::max(arma::abs(polisher.fits().omega / expected.om - 1)) <= 1e-10);
    CHECK(distance(polisher.scatter().C, expected.C) <= 1e-10);
    CHECK(polisher.scatter().s == doctest::Approx(expected.s).epsilon(1e-10));
    CHECK(distance(polisher.basis(), expected.U) <= 1e-10);
    CHECK(change == doctest::Approx(expected.change).epsilon(1e-9));
    CHECK(polisher.estimated_angle() == doctest::Approx(expected.error).epsilon(1e-9));
  }
  CHECK(expected.extrapolated);
  CHECK(expected.change < 0.01);  // the passes converged
}

TEST_CASE_TEMPLATE("a secant extrapolates a slow linear approach to its limit, and never backward",
                   T, double, float) {
  support::Random random(31);
  const auto U = gasg21::random_basis<T>(40, 3, random);
  arma::Mat<T> D = support::gaussian<T>(40, 3, random);
  D -= U * (U.t() * D);
  D /= arma::norm(D);
  const auto at = [&](double distance) {
    arma::Mat<T> A = U + T(distance) * D;
    REQUIRE(gasg21::orthonormalize(A));
    return A;
  };
  const auto after = [&](double first, double second, double third) {
    gasg21::Secant<T> secant;
    arma::Mat<T> V = at(second);
    secant.extrapolate(at(first), V, std::abs(first - second));
    CHECK(same_bits(V, at(second)));  // one step determines nothing
    V = at(third);
    secant.extrapolate(at(second), V, std::abs(second - third));
    return V;
  };
  const auto angle = [&](const arma::Mat<T>& V, double distance) {
    return double(gasg21::largest_angle(V, at(distance)));
  };
  const double rounding = 100 * double(support::eps<T>);
  // Steps that shrink by 0.75 lead to 0, up to the curvature. Steps that shrink by 0.9 lead further
  // than five step lengths, which is the bound.
  CHECK(angle(after(0.01, 0.0075, 0.005625), 0) <= 1e-6);
  CHECK(angle(after(0.01, 0.009, 0.0081), 0.0081 - 4 * 0.0009) <= 1e-6);
  // Steps that grow are doubled. Steps that reverse their direction are not extended.
  CHECK(angle(after(0, 0.001, 0.003), 0.005) <= 1e-6);
  CHECK(angle(after(0.01, 0, 0.005), 0.005) <= rounding);
  // Long steps are not extrapolated.
  gasg21::Secant<T> secant;
  arma::Mat<T> V = at(0.75);
  secant.extrapolate(at(1), V, 0.25);
  V = at(0.5625);
  secant.extrapolate(at(0.75), V, 0.2);
  CHECK(same_bits(V, at(0.5625)));
}

TEST_CASE("a pass is fit, weigh, add and update") {
  Problem<double> p(60, 200, 3, 0.3, 0.2, 0.01, 2);
  const auto start = p.near(0.05);
  const DenseView<double> data(p.X);
  const Parallel parallel;
  Polisher<double> by_parts(start, 200), by_pass(start, 200);
  for (int pass = 0; pass < 3; ++pass) {
    by_parts.fit(data, parallel);
    by_parts.weigh();
    by_parts.add(data, parallel);
    CHECK(by_parts.update(parallel) == by_pass.pass(data, parallel));
    CHECK(same(by_parts, by_pass));
  }
  const auto residuals = by_pass.residuals();
  for (uword j = 0; j < 200; ++j)
    CHECK(residuals[j] * residuals[j] == doctest::Approx(by_pass.fits().r2[j]).epsilon(1e-14));
}

TEST_CASE("the number of threads changes no bit") {
  auto p = many_tiles();
  const auto start = p.near(0.05);
  const DenseView<double> data(p.X);
  const auto expected = polished(start, data, 2);
  for (const unsigned threads : {2u, 3u, 7u}) {
    CAPTURE(threads);
    CHECK(same(polished(start, data, 2, threads), expected));
  }
}

TEST_CASE("NaN, mask and sparse data give the same bits") {
  auto p = many_tiles();
  const auto start = p.near(0.05);
  const auto expected = polished(start, DenseView<double>(p.X), 2);
  arma::mat filled = p.X;
  std::vector<unsigned char> mask(p.X.n_elem, 1);
  std::vector<double> values;
  std::vector<std::int32_t> rows, offsets = {0};
  for (uword j = 0; j < 700; ++j) {
    for (uword i = 0; i < 300; ++i) {
      if (!std::isnan(p.X(i, j))) {
        values.push_back(p.X(i, j));
        rows.push_back(std::int32_t(i));
        continue;
      }
      mask[i + 300 * j] = 0;
      filled(i, j) = 1e6;
    }
    offsets.push_back(std::int32_t(values.size()));
  }
  DenseView<double> masked(filled);
  masked.mask = mask.data();
  masked.mask_stride = 300;
  CHECK(same(polished(start, masked, 2, 2), expected));
  const gasg21::SparseView<double, std::int32_t> sparse{values.data(), rows.data(), offsets.data(),
                                                        300, 700};
  CHECK(same(polished(start, sparse, 2, 2), expected));
}

TEST_CASE("held-out entries are not used: their values change no bit") {
  Problem<double> p(60, 200, 3, 0.3, 0.2, 0.01, 6);
  const auto start = p.near(0.05);
  gasg21::HeldOut held_out;
  arma::mat without = p.X, changed = p.X;
  for (const uword j : {0u, 7u, 42u, 199u}) {
    const arma::uvec hidden = support::random_rows(60, 6, p.random);
    held_out.rows[j] = std::vector<uword>(hidden.begin(), hidden.end());
    for (const uword i : hidden) {
      without(i, j) = quiet_nan<double>;
      changed(i, j) = i % 2 ? 1e300 : -std::numeric_limits<double>::infinity();
    }
  }
  const auto expected = polished(start, DenseView<double>(without), 2);
  for (const arma::mat* X : {&p.X, &changed}) {
    DenseView<double> data(*X);
    data.held_out = &held_out;
    CHECK(same(polished(start, data, 2, 2), expected));
  }
  CHECK_FALSE(same(polished(start, DenseView<double>(p.X), 2), expected));
}
