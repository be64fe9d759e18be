// basis/tracked_basis.hpp, row_major_basis.hpp, fit/tracked_fit.hpp, fixed_fit.hpp: the fast ways
// give what LeastSquares and geodesic_step give, whatever is observed, in either layout, for each
// instruction set.
#include <cmath>
#include <gasg21/fit/fixed_fit.hpp>
#include <gasg21/geometry/grassmann.hpp>
#include <gasg21/tracker.hpp>

#include "instruction_sets.hpp"
#include "support.hpp"

using gasg21::DenseSample;
using gasg21::LeastSquares;
using gasg21::Observation;
using gasg21::random_basis;
using gasg21::Solved;
using gasg21::TrackedBasis;
using gasg21::TrackedFit;
using gasg21::Usable;
using support::distance;
using support::eps;
using support::gaussian;
using support::only;
using support::Random;
using support::random_rows;
using support::uword;

namespace {

/// A plain stream of geodesic steps beside the fast one.
template <class T>
struct Pair {
  arma::Mat<T> U;
  arma::Col<T> last;
  TrackedBasis<T> moving;
  TrackedFit<T> fit;
  Observation<T> x;

  explicit Pair(const arma::Mat<T>& start)
      : U(start),
        last(start.n_rows, arma::fill::zeros),
        moving(start, last),
        fit(start.n_rows, start.n_cols),
        x(start.n_rows) {}

  /// One vector for both, each turned by theta, along its weights w unless `metric` says otherwise.
  /// Returns the largest difference seen.
  double step(const arma::Col<T>& sample, double theta, const arma::Mat<T>& metric = {}) {
    REQUIRE(x.read(DenseSample<T>{sample.memptr()}) == Usable::yes);
    LeastSquares<T> plain(U.n_rows, U.n_cols);
    REQUIRE(plain.solve(U, x) == Solved::yes);
    REQUIRE(fit.solve(moving, x) == Solved::yes);
    arma::Col<T> e(U.n_rows, arma::fill::zeros);
    for (uword k = 0; k < x.count(); ++k) e[x.rows()[k]] = plain.r()[k] / plain.residual();
    double worst = distance<T>(fit.w(), plain.w());
    worst = std::max(worst, std::abs(double(fit.residual() - plain.residual())));
    worst = std::max(worst, std::abs(fit.overlap() - double(arma::dot(e, last))));
    const arma::Col<T> v =
        arma::normalise(metric.empty() ? plain.w() : arma::Col<T>(metric * plain.w()));
    arma::Col<T> scratch(U.n_rows);
    gasg21::geodesic_step(U, e, v, theta, scratch);
    last = e;
    fit.move(moving, x, v, theta);
    worst = std::max(worst, distance<T>(moving.direction(), e));
    return std::max(worst, distance(moving.matrix(), U));
  }
};

}  // namespace

TEST_CASE_TEMPLATE("a stream of fast steps is a stream of plain ones", T, double, float) {
  support::for_each_set([] {
    for (const uword d : {1u, 3u, 5u, 7u, 12u, 20u})
      for (const double observed : {1.0, 0.7, 0.2}) {
        CAPTURE(d);
        CAPTURE(observed);
        Random random(d);
        const uword n = 600;  // 0.2 of it is few: after eight vectors the basis lies by rows
        const arma::Mat<T> truth = random_basis<T>(n, d, random);
        Pair<T> pair(random_basis<T>(n, d, random));
        double worst = 0;
        for (int j = 0; j < 60; ++j) {
          arma::Col<T> x = gaussian<T>(n, random);
          if (j % 2) x = truth * gaussian<T>(d, random) + T(1e-2) * x;
          x = only<T>(x, random_rows(n, uword(observed * double(n)), random));
          const double theta = j < 20 ? 1.5 : j < 40 ? 0.4 : 1e-2;
          worst = std::max(worst, pair.step(x, theta));
        }
        CHECK((pair.moving.layout().by_rows.rows.empty()) ==
              (observed > 0.25 || pair.moving.layout().streak < 0));
        CHECK(worst <= 3e4 * double(eps<T>));
        CHECK(double(gasg21::orthonormality_error(pair.moving.matrix())) <= 50 * double(eps<T>));
      }
  });
}

TEST_CASE_TEMPLATE("steps along other directions than the weights are plain steps, too", T, double,
                   float) {
  support::for_each_set([] {
    for (const uword d : {1u, 4u, 9u, 14u})
      for (const double observed : {1.0, 0.7}) {
        CAPTURE(d);
        CAPTURE(observed);
        Random random(d);
        const uword n = 203;
        const arma::Mat<T> metric = gaussian<T>(d, d, random);
        Pair<T> pair(random_basis<T>(n, d, random));
        double worst = 0;
        for (int j = 0; j < 40; ++j) {
          arma::Col<T> x = gaussian<T>(n, random);  // far from the subspace, or near it
          if (j % 2) x = pair.U * gaussian<T>(d, random) + T(1e-3) * x;
          x = only<T>(x, random_rows(n, uword(observed * double(n)), random));
          worst = std::max(worst, pair.step(x, 0.3, metric));
          pair.U = pair.moving.matrix();  // or the two streams would part
        }
        CHECK(worst <= 3e4 * double(eps<T>));
      }
  });
}

TEST_CASE_TEMPLATE("whole vectors may come between others", T, double, float) {
  support::for_each_set([] {
    for (const uword d : {1u, 5u, 14u}) {
      CAPTURE(d);
      Random random(d);
      const uword n = 203;
      Pair<T> pair(random_basis<T>(n, d, random));
      double worst = 0;
      for (int j = 0; j < 48; ++j) {  // near and far, whole or not, in all orders
        arma::Col<T> x = gaussian<T>(n, random);
        if (random.index(2)) x = pair.U * gaussian<T>(d, random) + T(1e-3) * x;
        if (random.index(2)) x = only<T>(x, random_rows(n, 140, random));
        worst = std::max(worst, pair.step(x, 0.3));
        pair.U = pair.moving.matrix();  // or the two streams would part
      }
      CHECK(worst <= 3e4 * double(eps<T>));
    }
  });
}

TEST_CASE_TEMPLATE("vectors near and far, by thousands, leave the basis orthonormal", T, double,
                   float) {
  support::for_each_set([] {
    for (const double observed : {1.0, 0.7}) {
      CAPTURE(observed);
      Random random(17);
      const uword n = 200, d = 5;
      const arma::Mat<T> truth = random_basis<T>(n, d, random);
      TrackedBasis<T> U(truth, arma::Col<T>(n, arma::fill::zeros));
      TrackedFit<T> fit(n, d);
      Observation<T> x(n);
      for (int j = 0; j < 5000; ++j) {  // as long as steps may be; errors would feed on themselves
        const T off = T(std::pow(10.0, -double(j % (sizeof(T) == 8 ? 9 : 4))));
        const arma::Col<T> sample =
            only<T>(U.matrix() * gaussian<T>(d, random) + off * gaussian<T>(n, random),
                    random_rows(n, uword(observed * double(n)), random));
        REQUIRE(x.read(DenseSample<T>{sample.memptr()}) == Usable::yes);
        REQUIRE(fit.solve(U, x) == Solved::yes);
        fit.move(U, x, arma::normalise(fit.w()), 0.5);
      }
      CHECK(double(gasg21::orthonormality_error(U.matrix())) <= 500 * double(eps<T>));
    }
  });
}

TEST_CASE("the layout follows the vectors, there and back, and changes nothing") {
  Random random(3);
  const uword n = 600, d = 4;
  Pair<double> pair(random_basis<double>(n, d, random));
  double worst = 0;
  int changes = 0;
  bool by_rows = false;
  for (int j = 0; j < 120; ++j) {
    const uword count = j / 20 % 2 ? 60 : j % 3 ? 400 : n;
    const arma::vec x = only(gaussian<double>(n, random), random_rows(n, count, random));
    worst = std::max(worst, pair.step(x, 0.3));
    const bool now = !pair.moving.layout().by_rows.rows.empty();
    changes += now != by_rows;
    by_rows = now;
  }
  CHECK(changes == 5);
  CHECK(worst <= 1e-11);
}

TEST_CASE("a tracker resumed in either layout goes on bit by bit") {
  for (const double missing : {0.0, 0.3, 0.9}) {
    CAPTURE(missing);
    support::Stream<double> stream(600, 4, 0.5, missing, 9);
    gasg21::PaperTracker<> tracker(600, 4, gasg21::AdaptiveStep::paper());
    for (int j = 0; j < 77; ++j) tracker.update(stream.next());
    gasg21::PaperTracker<> resumed(tracker.state());
    for (int j = 0; j < 50; ++j) {
      const arma::vec x = stream.next();
      tracker.update(x);
      resumed.update(x);
      REQUIRE(support::same_bits(resumed.basis(), tracker.basis()));
    }
  }
}

TEST_CASE("a state that was tampered with is refused, and L1 goes on from rows") {
  support::Stream<double> stream(600, 3, 0.5, 0.9, 10);
  using gasg21::ConstantStep, gasg21::L1Loss, gasg21::NoScaling;
  using Resumed = gasg21::Tracker<double, ConstantStep, gasg21::L21Loss, NoScaling>;
  Resumed tracker(600, 3);
  for (int j = 0; j < 20; ++j) tracker.update(stream.next());
  const auto state = tracker.state();
  REQUIRE_FALSE(state.layout.by_rows.rows.empty());

  gasg21::Tracker<double, ConstantStep, L1Loss, NoScaling> l1(state);
  CHECK(distance(l1.basis(), tracker.basis()) == 0);
  l1.update(stream.next());
  CHECK(gasg21::largest_angle(l1.basis(), state.U) > 1e-3);

  auto other = state;
  other.U = random_basis<double>(600, 3, stream.random);
  CHECK_THROWS_AS(Resumed{other}, std::invalid_argument);
  other.layout = {};  // then U counts
  CHECK(distance(Resumed{other}.basis(), other.U) == 0);
  other = state;
  other.layout.by_rows.rows(1, 7) = support::quiet_nan<double>;
  CHECK_THROWS_AS(Resumed{other}, std::invalid_argument);
  other = state;
  other.layout.by_rows.A.set_size(2, 2);
  CHECK_THROWS_AS(Resumed{other}, std::invalid_argument);
}

TEST_CASE("rows held out beyond the vector hide nothing") {
  const arma::vec x(20, arma::fill::ones);
  const std::vector<uword> hidden = {3, 25, 1000};
  Observation<double> observation(20);
  REQUIRE(observation.read(DenseSample<double>{x.memptr(), nullptr, &hidden}) == Usable::yes);
  CHECK(observation.count() == 19);
}

TEST_CASE("a nearly singular U_Omega is solved with care, in either layout") {
  Random random(4);
  const uword n = 600;
  for (const uword count : {60u, 400u}) {
    CAPTURE(count);
    // On Omega the second column is nearly the first.
    const arma::uvec omega = arma::regspace<arma::uvec>(0, count - 1);
    arma::mat U(n, 2, arma::fill::zeros);
    U.head_rows(count) = arma::repmat(gaussian<double>(count, random), 1, 2);
    U.col(1).head(count) += 1e-6 * gaussian<double>(count, random);
    U.tail_rows(n - count) = gaussian<double>(n - count, 2, random);
    REQUIRE(gasg21::orthonormalize(U));
    Pair<double> pair(U);
    for (int j = 0; j < 10; ++j) {  // a step of no length: all see the same U_Omega
      const double difference = pair.step(only(gaussian<double>(n, random), omega), 0);
      CHECK(difference <= 1e-6 * (1 + arma::norm(pair.fit.w())));
    }
  }
}

TEST_CASE("the direction stays zero off Omega when the refinement has much to do") {
  support::for_each_set([] {
    for (const uword d : {5u, 12u, 27u}) {
      CAPTURE(d);
      Random random(d);
      const uword n = d + 5;
      Pair<double> pair(random_basis<double>(n, d, random));
      for (int j = 0; j < 200; ++j) {  // one entry more than weights: U_Omega is ill-conditioned
        pair.step(only(gaussian<double>(n, random), random_rows(n, d + 1, random)), 0.2);
        pair.U = pair.moving.matrix();  // or the two streams would part
      }
      CHECK(gasg21::orthonormality_error(pair.moving.matrix()) <= 1e-12);
    }
  });
}

TEST_CASE_TEMPLATE("in a standing basis each sample is fitted alike, whatever came before", T,
                   double, float) {
  support::for_each_set([] {
    Random random(6);
    const uword n = 700, d = 6;
    const arma::Mat<T> U = random_basis<T>(n, d, random);
    gasg21::FixedFit<T> fit(U), again(U);
    LeastSquares<T> plain(n, d);
    Observation<T> x(n);
    for (const uword count : {700u, 500u, 100u, 20u, 699u, 170u}) {
      CAPTURE(count);
      const arma::Col<T> sample = only<T>(gaussian<T>(n, random), random_rows(n, count, random));
      REQUIRE(x.read(DenseSample<T>{sample.memptr()}) == Usable::yes);
      REQUIRE(fit.solve(U, x) == Solved::yes);
      REQUIRE(plain.solve(U, x) == Solved::yes);
      CHECK(distance<T>(fit.w(), plain.w()) <= 1e3 * double(eps<T>));
      CHECK(std::abs(double(fit.residual() - plain.residual())) <= 50 * double(eps<T>));
      const arma::Col<T> w = fit.w();
      fit.solve(U, x);
      CHECK(support::same_bits<T>(fit.w(), w));
    }
  });
}

TEST_CASE_TEMPLATE("what the spared refinement would change are a hundred roundings or less", T,
                   double, float) {
  support::for_each_set([] {
    Random random(21);
    for (uword trial = 0; trial < 100; ++trial) {
      const uword n = 40, d = 1 + trial % 10;
      const auto U = random_basis<T>(n, d, random);
      gasg21::FixedFit<T> fit(U);
      LeastSquares<T> refined(n, d);
      Observation<T> x(n);
      for (const uword count : {n, d + 1 + trial % (39 - d)}) {
        CAPTURE(d);
        CAPTURE(count);
        const auto sample = only<T>(gaussian<T>(n, random), random_rows(n, count, random));
        REQUIRE(x.read(DenseSample<T>{sample.memptr()}) == Usable::yes);
        const Solved solved = refined.solve(U, x);
        REQUIRE(fit.solve(U, x) == solved);
        if (solved != Solved::yes) continue;
        const double bound = 100 * double(eps<T>) * (1 + double(arma::norm(refined.w())));
        CHECK(distance<T>(fit.w(), refined.w()) <= bound);
        CHECK(std::abs(double(fit.residual() - refined.residual())) <= bound);
      }
    }
  });
}
