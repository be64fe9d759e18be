// recovery/self_check.hpp: each check passes a right subspace and fails a wrong one.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <gasg21/loss.hpp>
#include <gasg21/recovery/self_check.hpp>

#include "polish_support.hpp"
#include "sparse_support.hpp"

using gasg21::DenseView;
using gasg21::HeldOut;
using gasg21::hold_out;
using gasg21::predicts;
using gasg21::random_basis;
using support::gaussian;
using support::Problem;
using support::quiet_nan;
using support::Random;
using support::uword;

namespace {

uword observed(const arma::mat& X, uword j) {
  return arma::uvec(arma::find_finite(X.col(j))).n_elem;
}

template <class T>
bool spans(const arma::Mat<T>& U, const DenseView<T>& data) {
  return gasg21::spans(gasg21::fit_some(U, data, gasg21::Parallel()));
}

/// A basis whose first column is a coordinate.
arma::mat with_coordinate(const arma::mat& U) {
  arma::mat V = U;
  V.row(0).zeros();
  V.col(0).zeros();
  V(0, 0) = 1;
  REQUIRE(gasg21::orthonormalize(V));
  return V;
}

}  // namespace

TEST_CASE_TEMPLATE("a tenth of the observed entries of 300 samples is held out", T, double, float) {
  Problem<T> p(50, 700, 3, 0.3, 0.4, 0, 1);
  const HeldOut held_out = hold_out<T>(DenseView<T>(p.X), 3, 5);
  CHECK(held_out.rows.size() == 300);
  for (const auto& [j, hidden] : held_out.rows) {
    const arma::uvec rows = arma::find_finite(p.X.col(j));
    CHECK(hidden.size() == std::max<uword>(1, rows.n_elem / 10));
    CHECK(rows.n_elem - hidden.size() > 4);
    CHECK(std::is_sorted(hidden.begin(), hidden.end()));
    CHECK(std::adjacent_find(hidden.begin(), hidden.end()) == hidden.end());
    for (const uword i : hidden) CHECK(std::isfinite(p.X(i, j)));
  }
}

TEST_CASE("more than d + 1 entries are left of each sample") {
  const uword d = 4;
  arma::mat X(40, 30);
  X.fill(quiet_nan<double>);
  for (uword j = 0; j < 30; ++j) X.col(j).head(j).ones();  // j observed entries
  const HeldOut held_out = hold_out<double>(DenseView<double>(X), d, 1);
  for (uword j = 0; j < 30; ++j) {
    const uword n_hidden = std::max<uword>(1, j / 10);
    REQUIRE(held_out.rows.count(j) == (j > n_hidden + d + 1));
    if (held_out.rows.count(j)) CHECK(held_out.rows.at(j).size() == n_hidden);
  }
}

TEST_CASE("fewer samples are checked where they are very long") {
  const arma::mat X(100000, 60, arma::fill::ones);
  CHECK(hold_out<double>(DenseView<double>(X), 2, 1).rows.size() == 40);  // of 4 million entries
}

TEST_CASE("at most 50 entries of a sample are held out, one of each part of the observed ones") {
  Problem<double> p(2000, 30, 2, 0, 0.4, 0, 3);
  for (const auto& [j, hidden] : hold_out<double>(DenseView<double>(p.X), 2, 1).rows) {
    REQUIRE(hidden.size() == 50);
    const arma::uvec rows = arma::find_finite(p.X.col(j));
    for (uword k = 0; k < 50; ++k) {
      const uword from = k * rows.n_elem / 50, to = (k + 1) * rows.n_elem / 50;
      CHECK(hidden[k] >= rows[from]);
      CHECK(hidden[k] <= rows[to - 1]);
    }
  }
}

TEST_CASE("what is hidden of a sample depends on the seed and not on the other samples") {
  Problem<double> p(50, 200, 3, 0.3, 0.4, 0, 2);
  const HeldOut held_out = hold_out<double>(DenseView<double>(p.X), 3, 5);
  arma::mat changed = p.X;
  for (uword j = 1; j < 200; j += 2) changed.col(j) = gaussian<double>(50, p.random);
  const HeldOut other = hold_out<double>(DenseView<double>(changed), 3, 5);
  for (uword j = 0; j < 200; j += 2) CHECK(held_out.rows.at(j) == other.rows.at(j));
  CHECK(hold_out<double>(DenseView<double>(p.X), 3, 5).rows == held_out.rows);
  CHECK_FALSE(hold_out<double>(DenseView<double>(p.X), 3, 6).rows == held_out.rows);
  const support::Compressed<double, std::int32_t> sparse(p.X);
  CHECK(hold_out<double>(sparse.view(), 3, 5).rows == held_out.rows);
}

TEST_CASE("the true subspace predicts the held-out entries of inliers, a random one does not") {
  for (const double missing : {0.0, 0.4})
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
      CAPTURE(missing);
      CAPTURE(seed);
      Problem<double> p(60, 400, 4, 0.5, missing, 0.01, seed);
      const DenseView<double> data(p.X);
      const HeldOut held_out = hold_out<double>(data, 4, seed);
      CHECK(predicts(p.truth, data, held_out));
      CHECK_FALSE(predicts(random_basis<double>(60, 4, p.random), data, held_out));
    }
}

TEST_CASE("a subspace that fits sparse samples by chance does not predict them") {
  // With 9 entries for 5 weights many samples look like inliers of any subspace.
  Random random(3);
  const arma::mat truth = random_basis<double>(200, 5, random);
  arma::mat X(200, 400);
  X.fill(quiet_nan<double>);
  for (uword j = 0; j < 400; ++j) {
    const arma::vec x = truth * gaussian<double>(5, random);
    for (const uword i : support::random_rows(200, 9, random)) X(i, j) = x[i];
  }
  const DenseView<double> data(X);
  const HeldOut held_out = hold_out<double>(data, 5, 1);
  CHECK(predicts(truth, data, held_out));
  CHECK_FALSE(predicts(random_basis<double>(200, 5, random), data, held_out));
}

TEST_CASE("a subspace that contains a coordinate is not believed on sparse data only") {
  Random random(4);
  const arma::mat truth = with_coordinate(random_basis<double>(200, 3, random));
  for (const uword count : {20u, 60u}) {  // fewer and more than 10 d
    arma::mat X(200, 300);
    X.fill(quiet_nan<double>);
    for (uword j = 0; j < 300; ++j) {
      const arma::vec x = truth * gaussian<double>(3, random);
      for (const uword i : support::random_rows(199, count - 1, random)) X(i + 1, j) = x[i + 1];
      X(0, j) = x[0];
    }
    const DenseView<double> data(X);
    CHECK(predicts(truth, data, hold_out<double>(data, 3, 1)) == (count == 60));
  }
}

TEST_CASE("without held-out entries there is nothing to doubt") {
  Problem<double> p(20, 30, 2, 0, 0, 0, 5);
  const arma::mat other = random_basis<double>(20, 2, p.random);
  CHECK(predicts(other, DenseView<double>(p.X), HeldOut{}));
  CHECK(gasg21::predicts_some(other, DenseView<double>(p.X), HeldOut{}, gasg21::L1Loss{}));
}

TEST_CASE("samples of zeros do not count as predicted") {
  const arma::mat X(20, 30, arma::fill::zeros);
  Random random(6);
  const arma::mat U = random_basis<double>(20, 2, random);
  const HeldOut held_out = hold_out<double>(DenseView<double>(X), 2, 1);
  REQUIRE(held_out.rows.size() == 30);
  CHECK_FALSE(predicts(U, DenseView<double>(X), held_out));
}

TEST_CASE("with corrupted entries the true subspace predicts some samples well") {
  for (const std::uint64_t seed : {1u, 2u}) {
    CAPTURE(seed);
    Problem<double> p(80, 300, 3, 0, 0.2, 0, seed);
    for (double& entry : p.X)
      if (p.random.uniform() < 0.1) entry += p.random.normal();
    const DenseView<double> data(p.X);
    const HeldOut held_out = hold_out<double>(data, 3, seed);
    const gasg21::L1Loss loss;
    CHECK(gasg21::predicts_some(p.truth, data, held_out, loss));
    CHECK_FALSE(gasg21::predicts_some(random_basis<double>(80, 3, p.random), data, held_out, loss));
    CHECK(gasg21::predicts_some(p.truth, data, held_out, gasg21::L21Loss{}));
  }
}

TEST_CASE("a coordinate is swallowed if only the polished subspace contains it, on sparse data") {
  Random random(7);
  const arma::mat stream = random_basis<double>(200, 4, random), polished = with_coordinate(stream);
  using gasg21::has_swallowed_coordinate;
  CHECK(has_swallowed_coordinate(polished, stream, stream.n_rows, 30));
  CHECK_FALSE(
      has_swallowed_coordinate(polished, stream, stream.n_rows, 40));  // not sparse: 10 d observed
  CHECK_FALSE(
      has_swallowed_coordinate(polished, polished, polished.n_rows, 30));    // it was there before
  CHECK_FALSE(has_swallowed_coordinate(stream, stream, stream.n_rows, 30));  // there is none
  const arma::mat small = random_basis<double>(40, 4, random);
  CHECK_FALSE(
      has_swallowed_coordinate(with_coordinate(small), small, small.n_rows, 30));  // n = 10 d
}

TEST_CASE_TEMPLATE("samples span a subspace if their weights have full rank", T, double, float) {
  Problem<T> p(40, 100, 3, 0, 0, 0, 8);
  const DenseView<T> data(p.X);
  CHECK(spans(p.truth, data));
  arma::Mat<T> more = arma::join_rows(p.truth, gaussian<T>(40, p.random));
  REQUIRE(gasg21::orthonormalize(more));
  CHECK_FALSE(spans(more, data));
  CHECK_FALSE(spans(p.truth, DenseView<T>(p.X.memptr(), 40, 2, 40)));  // fewer than d
  arma::Mat<T> line(40, 50);
  for (uword j = 0; j < 50; ++j) line.col(j) = p.truth.col(0) * T(1 + j);
  CHECK_FALSE(spans(p.truth, DenseView<T>(line)));
}

TEST_CASE("samples that cannot be used do not help to span, and do not hinder") {
  Problem<double> p(40, 100, 3, 0, 0.2, 0, 9);
  arma::mat X = arma::join_rows(arma::mat(40, 5, arma::fill::zeros), p.X);
  X.col(2).fill(quiet_nan<double>);
  X *= 1e200;  // squares overflow
  CHECK(spans(p.truth, DenseView<double>(X)));
  CHECK_FALSE(spans(p.truth, DenseView<double>(X.memptr(), 40, 7, 40)));
}

TEST_CASE("weights whose squares underflow do not help to span, and do not hinder") {
  gasg21::Fitted fits{5, arma::mat(2, 8, arma::fill::ones), arma::vec(8, arma::fill::zeros),
                      arma::vec(8), arma::vec(8, arma::fill::ones)};
  fits.count.fill(5);
  CHECK_FALSE(gasg21::spans(fits));
  for (const double tiny : {1e-200, 1e-160, 1e-155}) {
    fits.W.col(3) = arma::vec{0, tiny};
    CHECK_FALSE(gasg21::spans(fits));
  }
  fits.W.col(5) = arma::vec{0, 1e-150};
  CHECK(gasg21::spans(fits));
}

TEST_CASE("the observed entries per sample are counted") {
  for (const uword m : {50u, 1500u, 5000u}) {
    CAPTURE(m);
    Problem<double> p(20, m, 2, 0, 0.3, 0, 10);
    double count = 0;
    for (uword j = 0; j < m; ++j) count += double(observed(p.X, j));
    // Up to 2000 samples all are counted; rounding may lose one entry of all.
    const double tolerance = m < 2000 ? 1.01 / double(m) : 0.3;
    CHECK(std::abs(gasg21::observed_per_sample<double>(DenseView<double>(p.X)) -
                   count / double(m)) <= tolerance);
  }
  const arma::mat none(20, 0);
  CHECK(gasg21::observed_per_sample<double>(DenseView<double>(none)) == 0);
}
