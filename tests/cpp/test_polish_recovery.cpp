// polish/polisher.hpp: what the polish recovers, its estimated error, and which samples it ignores.
#include <cmath>
#include <limits>

#include "polish_support.hpp"

using gasg21::DenseView;
using gasg21::largest_angle;
using gasg21::orthonormality_error;
using gasg21::Parallel;
using gasg21::Polisher;
using gasg21::Stopped;
using support::eps;
using support::gaussian;
using support::polish;
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
    // Later passes find the subspace or not, which rounding decides.
    if (seed == 1) CHECK(p.angle(streamed(p.X, 5, 5)) > 0.1);
  }
}

TEST_CASE_TEMPLATE("the polish reaches the digits of the type", T, double, float) {
  Problem<T> p(100, 400, 4, 0.5, 0.3, 0, 2);
  const arma::Mat<T> U = polished(streamed(p.X, 4, 1), DenseView<T>(p.X), 15, 2).basis();
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

TEST_CASE("polishing a polished subspace changes little, and no pass changes nothing") {
  Problem<double> p(60, 300, 3, 0.3, 0.2, 0.05, 3);
  auto U = p.near(0.1);
  CHECK(polish(U, DenseView<double>(p.X)).converged);
  Polisher<double> polisher(U, 300);
  CHECK(same_bits(polisher.basis(), U));
  const double change = polisher.pass(DenseView<double>(p.X), Parallel());
  CHECK(change > 0);
  CHECK(change <= 0.1 * polisher.estimated_angle());
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

TEST_CASE("only outliers: the estimated error is large") {
  for (const double missing : {0.0, 0.3})
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
      CAPTURE(missing);
      CAPTURE(seed);
      Problem<double> p(100, 500, 5, 1, missing, 0, seed);
      // Outliers do not determine a subspace that was not fitted to them ...
      CHECK(polished(p.truth, DenseView<double>(p.X), 1).estimated_angle() ==
            doctest::Approx(arma::datum::pi / 2));
      auto U = p.truth;  // ... and the error of one that was fitted to them is large
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
  CHECK_THROWS_AS(polisher.fit(DenseView<double>(p.X), parallel), std::invalid_argument);
  CHECK_THROWS_AS(polisher.fit(DenseView<double>(p.X.memptr(), 20, 28, 20), parallel),
                  std::invalid_argument);
  CHECK_THROWS_AS(polisher.fit(DenseView<double>(p.X.memptr(), 19, 29, 20), parallel),
                  std::invalid_argument);
  CHECK_THROWS_AS(polisher.add(DenseView<double>(p.X), parallel), std::invalid_argument);
  arma::mat zeros(20, 29, arma::fill::zeros);
  polisher.fit(DenseView<double>(zeros), parallel);
  CHECK(support::contains(support::complaint([&] { polisher.weigh(); }), "no sample can be used"));
}

TEST_CASE("a stop ends each part of a pass, and the subspace stays") {
  Problem<double> p(300, 200, 3, 0, 0, 0.1, 8);
  Polisher<double> polisher(p.truth, 200);
  const Parallel never, at_once(1, [] { return true; });
  const DenseView<double> data(p.X);
  CHECK_THROWS_AS(polisher.fit(data, at_once), Stopped);
  CHECK_THROWS_AS(polisher.pass(data, at_once), Stopped);
  polisher.fit(data, never);
  CHECK_THROWS_AS(polisher.weigh([] { return true; }), Stopped);
  polisher.weigh();
  CHECK_THROWS_AS(polisher.add(data, at_once), Stopped);
  polisher.weigh();
  polisher.add(data, never);
  CHECK_THROWS_AS(polisher.update(at_once), Stopped);  // 300 rows are two tasks
  CHECK(same_bits(polisher.basis(), p.truth));
}
