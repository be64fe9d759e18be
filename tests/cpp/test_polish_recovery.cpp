// polish.hpp: what the polish finds, what it says about its own error, and what it leaves out.
#include <cmath>
#include <limits>

#include "polish_support.hpp"

using gasg21::DenseView;
using gasg21::largest_angle;
using gasg21::orthonormality_error;
using gasg21::Parallel;
using gasg21::polish;
using gasg21::Polisher;
using gasg21::PolishOptions;
using support::eps;
using support::gaussian;
using support::polished;
using support::Problem;
using support::quiet_nan;
using support::same_bits;
using support::streamed;
using support::uword;

TEST_CASE("one pass does not worsen a converged fit") {
  for (const double outliers : {0.0, 0.5, 0.8})
    for (const double off : {0.0, 1e-13}) {
      CAPTURE(outliers);
      CAPTURE(off);
      Problem<double> p(100, 500, 4, outliers, 0.3, 0, 1);
      const auto U = polished(p.near(off), DenseView<double>(p.X), 1).basis();
      CHECK(p.angle(U) <= 1e-12);
      CHECK(orthonormality_error(U) <= 1e-14);
    }
}

TEST_CASE("the polish solves 90 % outliers, which the stream does not") {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    CAPTURE(seed);
    Problem<double> p(200, 1000, 5, 0.9, 0.3, 0, seed);
    auto U = streamed(p.X, 5, 2);
    CHECK(p.angle(U) > 0.1);
    const auto result = polish(U, DenseView<double>(p.X));
    CHECK(result.converged);
    CHECK(p.angle(U) <= 1e-6);
    CHECK(result.estimated_angle <= 1e-3);
    if (seed == 1) CHECK(p.angle(streamed(p.X, 5, 20)) > 0.1);
  }
}

TEST_CASE_TEMPLATE("the polish reaches the digits of the type", T, double, float) {
  Problem<T> p(100, 400, 4, 0.5, 0.3, 0, 2);
  arma::Mat<T> U = streamed(p.X, 4, 1);
  PolishOptions options;
  options.tol = 0;
  options.share = 0;
  options.max_passes = 15;
  options.n_threads = 2;
  polish(U, DenseView<T>(p.X), options);
  // A row is an average over hundreds of samples, each exact to eps.
  CHECK(p.angle(U) <= 20 * double(eps<T>));
}

TEST_CASE("under noise the estimated angle is the true one within a factor of 1.5") {
  for (const double missing : {0.0, 0.3})
    for (const double outliers : {0.0, 0.5, 0.8})
      for (const std::uint64_t seed : {1u, 2u}) {
        CAPTURE(missing);
        CAPTURE(outliers);
        CAPTURE(seed);
        Problem<double> p(200, 1000, 5, outliers, missing, 0.05, seed);
        auto U = streamed(p.X, 5, 2);
        const auto result = polish(U, DenseView<double>(p.X));
        CHECK(result.converged);
        const double ratio = result.estimated_angle / p.angle(U);
        CHECK(ratio < 1.5);
        CHECK(ratio > 1 / 1.5);
      }
}

TEST_CASE("polish stops at the pass limit, or when a pass changes little") {
  Problem<double> p(60, 300, 3, 0.3, 0.2, 0.05, 3);
  PolishOptions options;
  options.max_passes = 2;
  options.tol = options.share = 0;
  auto U = p.near(0.1);
  const auto limited = polish(U, DenseView<double>(p.X), options);
  CHECK(limited.passes == 2);
  CHECK_FALSE(limited.converged);
  CHECK(limited.change > 0);
  options = PolishOptions{};
  const auto done = polish(U, DenseView<double>(p.X), options);
  CHECK(done.converged);
  CHECK(done.passes < 10);
  CHECK(done.change <= 0.1 * done.estimated_angle);
  options.max_passes = 0;
  const auto before = U;
  CHECK(polish(U, DenseView<double>(p.X), options).passes == 0);
  CHECK(same_bits(U, before));
}

TEST_CASE("samples that cannot be used have no weight and change no bit") {
  Problem<double> p(60, 200, 3, 0.3, 0.2, 0.01, 4);
  const auto start = p.near(0.05);
  arma::mat useless(60, 5, arma::fill::zeros);
  useless.col(1).fill(quiet_nan<double>);
  useless.col(2) = support::only<double>(gaussian<double>(60, p.random), {4, 9, 30});  // d entries
  useless.col(3) = gaussian<double>(60, p.random);
  useless(7, 3) = std::numeric_limits<double>::infinity();
  useless.col(4) = support::only<double>(arma::vec(60, arma::fill::zeros), {1, 2, 3, 4, 5, 6});
  // In front, in the middle and at the end.
  const arma::mat X = arma::join_rows(arma::join_rows(useless, p.X.head_cols(90), useless),
                                      p.X.tail_cols(110), useless.head_cols(2));
  const auto expected = polished(start, DenseView<double>(p.X), 2);
  const auto got = polished(start, DenseView<double>(X), 2, 2);
  CHECK(same_bits(got.basis(), expected.basis()));
  CHECK(got.estimated_angle() == expected.estimated_angle());
  const arma::vec omega = got.fits().omega;
  CHECK(omega.head(5).is_zero());
  CHECK(omega.subvec(95, 99).is_zero());
  CHECK(omega.tail(2).is_zero());
  CHECK(same_bits<double>(omega.subvec(5, 94), expected.fits().omega.head(90)));
  CHECK(omega.subvec(5, 94).min() > 0);
}

TEST_CASE("a coordinate that no sample observes does not disturb the others") {
  Problem<double> p(60, 200, 3, 0.3, 0.2, 0, 5);
  p.X.row(7).fill(quiet_nan<double>);
  auto U = p.near(0.05);
  CHECK(polish(U, DenseView<double>(p.X)).converged);
  CHECK(orthonormality_error(U) <= 1e-14);
  arma::mat truth = p.truth;
  U.shed_row(7);
  truth.shed_row(7);
  CHECK(largest_angle(arma::mat(arma::orth(U)), arma::mat(arma::orth(truth))) <= 1e-6);
}

TEST_CASE("nothing but outliers: the subspace is lost, and the error says so") {
  for (const double missing : {0.0, 0.3})
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
      CAPTURE(missing);
      CAPTURE(seed);
      Problem<double> p(100, 500, 5, 1, missing, 0, seed);
      // Of a subspace that the samples have not shaped they say nothing at all.
      CHECK(polished(p.truth, DenseView<double>(p.X), 1).estimated_angle() ==
            doctest::Approx(arma::datum::pi / 2));
      auto U = p.truth;  // and one that is fitted to them is not believed
      CHECK(polish(U, DenseView<double>(p.X)).estimated_angle > 0.2);
    }
}

TEST_CASE("the standard error falls with the noise and with the square root of the samples") {
  const auto error = [](uword m, double noise) {
    Problem<double> p(100, m, 4, 0, 0, noise, 6);
    return polished(p.truth, DenseView<double>(p.X), 1).estimated_angle();
  };
  // Within a tenth: both are means over a thousand samples, of whose directions the weakest counts.
  CHECK(error(1000, 0.002) / error(1000, 0.001) == doctest::Approx(2).epsilon(0.01));
  CHECK(error(1000, 0.001) / error(4000, 0.001) == doctest::Approx(2).epsilon(0.1));
}

TEST_CASE("a wrong call is refused") {
  Problem<double> p(20, 30, 2, 0, 0, 0.1, 7);
  CHECK_THROWS_AS(Polisher<double>(2 * p.truth, 30), std::invalid_argument);
  auto broken = p.truth;
  broken(3, 1) = quiet_nan<double>;
  CHECK_THROWS_AS(Polisher<double>(broken, 30), std::invalid_argument);
  Polisher<double> polisher(p.truth, 29);
  const Parallel parallel;
  CHECK_THROWS_AS(polisher.fit(DenseView<double>(p.X), 0, parallel), std::invalid_argument);
  CHECK_THROWS_AS(polisher.fit(DenseView<double>(p.X.memptr(), 19, 3, 20), 0, parallel),
                  std::invalid_argument);
  arma::mat zeros(20, 29, arma::fill::zeros);
  REQUIRE(polisher.fit(DenseView<double>(zeros), 0, parallel));
  CHECK(support::contains(support::complaint([&] { polisher.weigh(); }), "no sample can be used"));
}

TEST_CASE("a stop ends either look at the data") {
  Problem<double> p(300, 200, 3, 0, 0, 0.1, 8);
  Polisher<double> polisher(p.truth, 200);
  const Parallel never, at_once(1, [] { return true; });
  CHECK_FALSE(polisher.fit(DenseView<double>(p.X), 0, at_once));
  REQUIRE(polisher.fit(DenseView<double>(p.X), 0, never));
  polisher.weigh();
  CHECK_FALSE(polisher.add(DenseView<double>(p.X), 0, at_once));
}
