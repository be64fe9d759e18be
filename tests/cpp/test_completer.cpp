// fit/completer.hpp: the posterior mean of the missing entries.
#include <cmath>
#include <gasg21/fit/completer.hpp>
#include <gasg21/geometry/grassmann.hpp>

#include "support.hpp"

using gasg21::Completer;
using gasg21::DenseSample;
using gasg21::EntryRange;
using gasg21::random_basis;
using gasg21::WeightPrior;
using support::gaussian;
using support::only;
using support::Random;
using support::random_rows;
using support::uword;

namespace {

template <class T>
arma::Col<T> completed(Completer<T>& completer, arma::Col<T> x) {
  completer.read(DenseSample<T>{x.memptr()});
  arma::Col<T> out = x;
  completer.fill_missing(out.memptr(), out.n_elem);
  return out;
}

struct Case {
  Random random;
  arma::mat U;
  WeightPrior prior;

  Case(uword n, uword d, double s, std::uint64_t seed)
      : random(seed), U(random_basis<double>(n, d, random)) {
    const arma::mat A = gaussian<double>(2 * d, d, random);
    prior = {A.t() * A, s, arma::vec(n)};
    for (double& v : prior.noise) v = 0.5 + random.uniform();
  }

  /// E[x | x_Omega] for x ~ N(0, U C U' + s N), by the covariance of all entries.
  arma::vec expected(const arma::vec& x, const arma::uvec& rows) const {
    const arma::mat signal = U * prior.C * U.t();
    arma::mat S = signal + prior.s * arma::diagmat(prior.noise);
    arma::vec y =
        signal.cols(rows) * arma::solve(arma::mat(S(rows, rows)), arma::vec(x.elem(rows)));
    y.elem(rows) = x.elem(rows);
    return y;
  }
};

}  // namespace

TEST_CASE("missing entries are the conditional mean, for any number of observed ones") {
  for (const uword d : {1u, 4u, 30u}) {
    Case c(40, d, 0.3, d);
    Completer<double> completer(c.U, c.prior);
    for (const uword count : {1u, 2u, 4u, 15u, 39u}) {
      CAPTURE(d);
      CAPTURE(count);
      const arma::uvec rows = random_rows(40, count, c.random);
      const arma::vec x = gaussian<double>(40, c.random) * 1e3;
      const arma::vec found = completed(completer, only(x, rows));
      CHECK(support::distance<double>(found, c.expected(x, rows)) <= 1e-8);
      CHECK(support::same_bits<double>(found.elem(rows), x.elem(rows)));
    }
  }
}

TEST_CASE("the error of held-out entries is that of completions without them") {
  Case c(25, 3, 0.2, 7);
  Completer<double> completer(c.U, c.prior);
  const arma::uvec rows = random_rows(25, 12, c.random);
  const arma::vec x = gaussian<double>(25, c.random), reference = gaussian<double>(25, c.random);
  double wrong = 0, size = 0;
  for (uword k = 0; k < 12 && rows[k] < 20; ++k) {
    arma::uvec others = rows;
    others.shed_row(k);
    const uword i = rows[k];
    wrong += std::pow(c.expected(x, others)[i] - x[i], 2);
    size += std::pow(x[i] - reference[i], 2);
  }
  const arma::vec sample = only(x, rows);
  REQUIRE(completer.read(DenseSample<double>{sample.memptr()}));
  CHECK(completer.held_out_error(20, reference.memptr()) == doctest::Approx(wrong / size));
}

TEST_CASE_TEMPLATE("without noise it is least squares, exact at every scale", T, double, float) {
  Random random(3);
  const auto U = random_basis<T>(40, 4, random);
  const WeightPrior prior{arma::mat(4, 4, arma::fill::eye) * 10, 1e-28, {}};
  const EntryRange narrow{arma::vec(40, arma::fill::zeros), arma::vec(40, arma::fill::ones), 1};
  for (const T scale : {T(1), std::numeric_limits<T>::max() / 1000}) {
    Completer<T> completer(U, prior, narrow);  // the range does not bind what is exact
    const arma::Col<T> truth = U * gaussian<T>(4, random) * scale;
    const arma::Col<T> found = completed(completer, only<T>(truth, random_rows(40, 20, random)));
    CHECK(support::distance<T>(found / scale, truth / scale) <= 100 * double(support::eps<T>));
  }
  // Fewer entries than weights: no exact answer, but a finite one.
  Completer<T> completer(U, prior);
  const arma::Col<T> x = gaussian<T>(40, random);
  for (const uword count : {1u, 3u, 4u}) {
    const arma::Col<T> found = completed(completer, only<T>(x, random_rows(40, count, random)));
    CHECK(found.is_finite());
    CHECK(double(arma::abs(found).max()) < 1e3);
  }
}

TEST_CASE("filled entries stay near the range of the fit, which grows with the sample") {
  Case c(30, 3, 0.01, 4);
  arma::vec low(30), high(30);
  low.fill(1);
  high.fill(5);
  Completer<double> completer(c.U, c.prior, {low, high, 4.0});
  arma::vec x = gaussian<double>(30, c.random) * 3;
  for (const double scale : {1.0, 1e6}) {
    const arma::uvec rows = random_rows(30, 4, c.random);
    const arma::vec found = completed(completer, only<double>(x * scale, rows));
    for (uword i = 0; i < 30; ++i) {
      if (arma::any(rows == i)) continue;
      CHECK(found[i] >= 0);
      CHECK(found[i] <= 6 * scale * 3);
    }
  }
  low[7] = std::numeric_limits<double>::infinity();  // never observed
  high[7] = -low[7];
  Completer<double> blind(c.U, c.prior, {low, high, 4.0});
  const arma::vec found = completed(blind, only<double>(x, arma::uvec{1, 5, 20}));
  CHECK(std::isnan(found[7]));
  CHECK(found.elem(arma::find_nonfinite(found)).eval().n_elem == 1);
}

TEST_CASE("samples that say nothing, zeros, and a centre") {
  Case c(20, 2, 0.1, 5);
  Completer<double> completer(c.U, c.prior);
  arma::vec x(20);
  x.fill(support::quiet_nan<double>);
  CHECK_FALSE(completer.read(DenseSample<double>{x.memptr()}));
  CHECK(completed(completer, x).has_nan());
  const arma::vec reference(20, arma::fill::zeros);
  CHECK(std::isnan(completer.held_out_error(20, reference.memptr())));
  x[3] = 0;
  CHECK(completer.read(DenseSample<double>{x.memptr()}));
  const arma::vec centre(20, arma::fill::value(7));
  completer.fill_missing(x.memptr(), 20, centre.memptr());
  CHECK(x[3] == 0);  // observed entries are the caller's
  x[3] = 7;
  CHECK(support::same_bits<double>(x, centre));
  x[5] = std::numeric_limits<double>::infinity();
  CHECK_FALSE(completer.read(DenseSample<double>{x.memptr()}));
}

TEST_CASE("a prior of the wrong size is refused") {
  Case c(20, 2, 0.1, 6);
  const auto with = [&](WeightPrior prior, EntryRange range) {
    return support::complaint([&] { Completer<double>(c.U, prior, range); });
  };
  CHECK(with(c.prior, {}) == "");
  CHECK(support::contains(with({arma::mat(3, 3, arma::fill::eye), 1, {}}, {}), "2 x 2"));
  CHECK(support::contains(with({c.prior.C, 1, arma::vec(3)}, {}), "noise has 3"));
  CHECK(support::contains(with(c.prior, {arma::vec(4), arma::vec(20), 1}), "range has 4"));
}

TEST_CASE_TEMPLATE("filled entries are limited where there is noise above rounding", T, double,
                   float) {
  const EntryRange range{{0, -2, 1}, {4, 2, -1}, 1};
  const auto limits = [&](double noise) {
    return gasg21::entry_limits<T>({arma::mat(1, 1, arma::fill::ones), noise, {}}, range, 3);
  };
  const auto noisy = limits(1e-3), exact = limits(sizeof(T) == 8 ? 1e-25 : 1e-13);
  CHECK(noisy[0].low == -1);
  CHECK(noisy[0].high == 5);
  CHECK(noisy[1].low == -3);
  CHECK(noisy[1].high == 3);
  CHECK(exact[0].low == -arma::datum::inf);
  CHECK(exact[0].high == arma::datum::inf);
  for (const auto& some : {noisy, exact}) {
    CHECK(std::isnan(some[2].low));  // never observed
    CHECK(std::isnan(some[2].high));
  }
  CHECK(limits(sizeof(T) == 8 ? 1e-15 : 1e-9)[0].high == 5);
  const auto unknown = gasg21::entry_limits<T>({{}, 1.0, {}}, {}, 2);
  CHECK(unknown[1].high == arma::datum::inf);
}
