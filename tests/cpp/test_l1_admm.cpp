// fit/l1_admm.hpp: the L1 minimum, its optimality conditions, and GRASTA's gradient.
#include <cmath>
#include <gasg21/fit/l1_admm.hpp>
#include <gasg21/tracker.hpp>

#include "support.hpp"

using gasg21::L1Admm;
using gasg21::L1AdmmOptions;
using gasg21::Observation;
using gasg21::random_basis;
using gasg21::Solved;
using support::complaint;
using support::contains;
using support::eps;
using support::gaussian;
using support::Random;
using support::same_bits;
using support::uword;

namespace {

/// A vector of a subspace with a share of its entries corrupted and others missing.
template <class T>
struct Corrupted {
  arma::Mat<T> U;
  arma::Col<T> w, x;
  Corrupted(uword n, uword d, double corrupted, double missing, std::uint64_t seed) {
    Random random(seed);
    U = random_basis<T>(n, d, random);
    w = gaussian<T>(d, random);
    x = U * w;
    for (T& entry : x) {
      if (random.uniform() < corrupted) entry += T(3 * random.normal());
      if (random.uniform() < missing) entry = support::quiet_nan<T>;
    }
  }
};

template <class T>
Observation<T> observe(const arma::Col<T>& x) {
  Observation<T> observation(x.n_elem);
  REQUIRE(observation.read(gasg21::DenseSample<T>{x.memptr()}) == gasg21::Usable::yes);
  return observation;
}

/// |x_Omega - U_Omega w|_1.
double cost(const arma::mat& U, const Observation<double>& x, const arma::vec& w) {
  double sum = 0;
  for (uword k = 0; k < x.count(); ++k)
    sum += std::abs(x.values()[k] - arma::dot(U.row(x.rows()[k]), w));
  return sum;
}

/// U_Omega'y.
arma::vec dual_residual(const arma::mat& U, const Observation<double>& x, const double* y) {
  arma::vec sum(U.n_cols, arma::fill::zeros);
  for (uword k = 0; k < x.count(); ++k) sum += y[k] * U.row(x.rows()[k]).t();
  return sum;
}

const L1AdmmOptions exact_options{1, 20000, 1e-15};  // a constant penalty, to the end

}  // namespace

TEST_CASE("with a constant penalty the fit keeps the optimality conditions of the L1 minimum") {
  for (const double missing : {0.0, 0.4})
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      Random random(seed);
      const arma::mat U = random_basis<double>(40, 3, random);
      const auto x = observe<double>(support::only<double>(
          gaussian<double>(40, random), support::random_rows(40, missing > 0 ? 24 : 40, random)));
      L1Admm<double> fit(40, 3, exact_options);
      REQUIRE(fit.solve(U, x) == Solved::yes);
      double broken = 0;
      uword zeros = 0;
      for (uword k = 0; k < x.count(); ++k) {
        const double fitted = arma::dot(U.row(x.rows()[k]), fit.w());
        broken = std::max(broken, std::abs(fitted + fit.s()[k] - x.values()[k]));  // feasible
        CHECK(std::abs(fit.y()[k]) <= 1);
        if (fit.s()[k] != 0)
          CHECK(fit.y()[k] == (fit.s()[k] > 0 ? -1 : 1));
        else
          ++zeros;
      }
      CHECK(broken <= 1e-12);
      CHECK(arma::abs(dual_residual(U, x, fit.y())).max() <= 1e-9);  // stationary
      CHECK(zeros == 3);  // a vertex: as many residuals are 0 as there are weights
    }
}

TEST_CASE("no other weights cost less") {
  Random random(7);
  const Corrupted<double> problem(50, 4, 0.5, 0.3, 3);
  const auto x = observe(problem.x);
  L1Admm<double> fit(50, 4, exact_options);
  REQUIRE(fit.solve(problem.U, x) == Solved::yes);
  const double least = cost(problem.U, x, fit.w());
  for (int trial = 0; trial < 200; ++trial)
    for (const double size : {1e-6, 1e-3, 0.1}) {
      const arma::vec other = fit.w() + size * gaussian<double>(4, random);
      CHECK(cost(problem.U, x, other) >= least);
    }
}

TEST_CASE("a growing penalty ends near the minimum") {
  double worst = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    const arma::mat U = random_basis<double>(60, 4, random);
    const auto x = observe<double>(gaussian<double>(60, random));
    L1Admm<double> published(60, 4), exact(60, 4, exact_options);
    published.solve(U, x);
    exact.solve(U, x);
    worst = std::max(worst, cost(U, x, published.w()) / cost(U, x, exact.w()) - 1);
    CHECK(published.n_iter() <= 30);
  }
  CHECK(worst >= 0);
  CHECK(worst <= 0.01);
}

TEST_CASE_TEMPLATE("sparse corruption does not touch the weights", T, double, float) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Corrupted<T> problem(100, 3, 0.15, 0.3, seed);
    const auto x = observe(problem.x);
    L1Admm<T> fit(100, 3);
    REQUIRE(fit.solve(problem.U, x) == Solved::yes);
    const arma::Col<T> w = fit.w() * x.scale();
    // 1.8^30 is what the penalty grows to; float has no more digits than 1e-7.
    CHECK(support::distance<T>(w, problem.w) <= (sizeof(T) == 8 ? 1e-6 : 1e-4));
  }
}

TEST_CASE_TEMPLATE("the direction is a unit vector at right angles to the subspace", T, double,
                   float) {
  for (const double missing : {0.0, 0.5}) {
    const Corrupted<T> problem(80, 4, 0.3, missing, 9);
    const auto x = observe(problem.x);
    L1Admm<T> fit(80, 4);
    REQUIRE(fit.solve(problem.U, x) == Solved::yes);
    REQUIRE(!fit.exact());
    const arma::Col<T>& e = fit.direction();
    const T length = fit.length();
    CHECK(double(arma::norm(e)) == doctest::Approx(1).epsilon(10 * double(eps<T>)));
    CHECK(double(arma::abs(problem.U.t() * e).max()) <= 4 * double(eps<T>));
    // Gamma = (I - U U') y, written out; e points against it.
    arma::Col<T> y(80, arma::fill::zeros);
    for (uword k = 0; k < x.count(); ++k) y[x.rows()[k]] = fit.y()[k];
    const arma::Col<T> gamma = y - problem.U * (problem.U.t() * y);
    CHECK(support::distance<T>(gamma, -length * e) <= 50 * double(eps<T>));
  }
}

TEST_CASE("the residual is that of least squares") {
  const Corrupted<double> problem(50, 3, 0.3, 0.2, 4);
  const auto x = observe(problem.x);
  L1Admm<double> l1(50, 3);
  gasg21::LeastSquares<double> squares(50, 3);
  l1.solve(problem.U, x);
  squares.solve(problem.U, x);
  CHECK(l1.residual() == squares.residual());
  CHECK(support::distance<double>(l1.w(), squares.w()) > 1e-3);
}

TEST_CASE("what tells nothing is said as least squares says it") {
  Random random(2);
  const arma::mat U = random_basis<double>(20, 3, random);
  L1Admm<double> fit(20, 3);
  CHECK(fit.solve(U, observe<double>(support::only<double>(gaussian<double>(20, random),
                                                           arma::uvec{1, 5, 7}))) ==
        Solved::too_few_entries);
  REQUIRE(fit.solve(U, observe<double>(U * gaussian<double>(3, random))) == Solved::yes);
  CHECK(fit.exact());
}

TEST_CASE("constants out of range are refused by name") {
  const auto refusing = [](const L1AdmmOptions& options) {
    return complaint([&] { L1Admm<double> fit(5, 1, options); });
  };
  CHECK(contains(refusing({0.9, 30, 1e-10}), "rho=0.9 must be in [1, 10]"));
  CHECK(contains(refusing({support::quiet_nan<double>, 30, 1e-10}), "rho=nan"));
  CHECK(contains(refusing({1.8, 0, 1e-10}), "max_iter=0 must be at least 1"));
  CHECK(contains(refusing({1.8, 30, -1}), "tol=-1 must not be below 0"));
  CHECK(refusing({1, 1, 0}).empty());
}

TEST_CASE_TEMPLATE("a GRASTA stream finds a subspace under corrupted entries, and resumes", T,
                   double, float) {
  using Grasta = gasg21::Tracker<T, gasg21::MultiLevelStep, gasg21::L1Loss, gasg21::NoScaling>;
  Random random(5);
  const arma::Mat<T> truth = random_basis<T>(60, 3, random);
  const auto next = [&] {
    arma::Col<T> x = truth * gaussian<T>(3, random);
    for (T& entry : x) {
      if (random.uniform() < 0.1) entry += T(random.normal());
      if (random.uniform() < 0.3) entry = support::quiet_nan<T>;
    }
    return x;
  };
  Grasta grasta(60, 3, gasg21::MultiLevelStep{}, 1), resumed = grasta;
  for (int j = 0; j < 4000; ++j) {
    const arma::Col<T> x = next();
    grasta.update(x);
    if (j == 500) resumed = Grasta(typename Grasta::State(grasta.state()));
    if (j > 500) resumed.update(x);
  }
  CHECK(grasta.state().counters.used() == 4000);
  CHECK(same_bits(grasta.basis(), resumed.basis()));
  CHECK(gasg21::largest_angle(grasta.basis(), truth) <= (sizeof(T) == 8 ? 1e-5 : 1e-4));
  CHECK(double(gasg21::orthonormality_error(grasta.basis())) <= 200 * double(eps<T>));
}
