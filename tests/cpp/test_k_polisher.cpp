// polish/k_polisher.hpp and seeding/repair.hpp: the polish is as accurate as on the true members,
// and the repair finds missed clusters.
#include <gasg21/polish/k_polisher.hpp>
#include <gasg21/seeding/repair.hpp>

#include "union_support.hpp"

using gasg21::DenseView;
using gasg21::KPolisher;
using gasg21::KPolishOptions;
using gasg21::Parallel;
using gasg21::SeedSamples;
using support::gaussian;
using support::Random;
using support::same;
using support::Union;
using support::uword;

namespace {

template <class T>
std::vector<arma::Mat<T>> random_start(uword n, uword d, uword K, std::uint64_t seed) {
  Random random(seed);
  std::vector<arma::Mat<T>> bases;
  for (uword k = 0; k < K; ++k) bases.push_back(gasg21::random_basis<T>(n, d, random));
  return bases;
}

template <class T>
std::vector<arma::Mat<T>> near(Union<T>& problem, double by) {
  std::vector<arma::Mat<T>> bases;
  for (const auto& U : problem.truth) {
    arma::Mat<T> V = U + T(by) * gaussian<T>(U.n_rows, U.n_cols, problem.random);
    REQUIRE(gasg21::orthonormalize(V));
    bases.push_back(V);
  }
  return bases;
}

}  // namespace

TEST_CASE_TEMPLATE("from a start nearby the polish finds noise-free subspaces", T, double, float) {
  Union<T> problem(50, same(4, 3), 60, 300, 0.3, 0, 1);
  KPolisher<T> polisher(near(problem, 0.1));
  const double tol = std::is_same_v<T, double> ? 1e-10 : 1e-4;
  for (int round = 0; round < 12 && !polisher.settled(); ++round)
    polisher.round(DenseView<T>(problem.X), {tol}, Parallel(2));
  CHECK(polisher.settled());
  CHECK(problem.worst(polisher.bases()) < tol);
}

TEST_CASE("under noise the polish is as good as on the true members, and estimates its error") {
  Union<double> problem(50, same(4, 3), 80, 400, 0.3, 0.02, 2);
  KPolisher<double> polisher(near(problem, 0.1)), ideal(problem.truth);
  for (int round = 0; round < 10; ++round) {
    polisher.round(DenseView<double>(problem.X), {}, Parallel(2));
    arma::mat members = problem.X.cols(arma::find(problem.labels < 4));
    ideal.round(DenseView<double>(members), {}, Parallel(2));
  }
  CHECK(problem.worst(polisher.bases()) < 1.1 * problem.worst(ideal.bases()));
  double said = 0;
  for (const auto& cluster : polisher.clusters()) said = std::max(said, cluster.estimated_angle);
  CHECK(said > problem.worst(polisher.bases()) / 1.6);
  CHECK(said < problem.worst(polisher.bases()) * 1.6);
}

TEST_CASE("results do not depend on the number of threads") {
  Union<double> problem(30, {2, 3, 2}, 50, 80, 0.3, 0.01, 3);
  const auto start = near(problem, 0.1);
  KPolisher<double> one(start), three(start);
  for (int round = 0; round < 3; ++round) {
    one.round(DenseView<double>(problem.X), {}, Parallel(1));
    three.round(DenseView<double>(problem.X), {}, Parallel(3));
  }
  for (uword k = 0; k < 3; ++k) CHECK(support::same_bits(one.bases()[k], three.bases()[k]));
}

TEST_CASE("a subspace without members stays as it is") {
  Union<double> problem(40, same(2, 2), 60, 0, 0, 0, 4);
  auto start = near(problem, 0.02);
  start.push_back(random_start<double>(40, 2, 1, 9)[0]);
  KPolisher<double> polisher(start);
  for (int round = 0; round < 8; ++round)
    polisher.round(DenseView<double>(problem.X), {}, Parallel());
  CHECK(support::same_bits(polisher.bases()[2], start[2]));
  CHECK(polisher.clusters()[2].members == 0);
  CHECK(polisher.clusters()[2].estimated_angle > 1);
  CHECK(polisher.settled());
  CHECK(problem.worst({polisher.bases()[0], polisher.bases()[1]}) < 1e-6);
}

TEST_CASE("from a random start the repair finds all subspaces") {
  for (const std::uint64_t seed : {5, 6, 7}) {
    CAPTURE(seed);
    Union<double> problem(60, same(10, 2), 50, 500, 0.3, 0.01, seed);
    const DenseView<double> view(problem.X);
    KPolisher<double> polisher(random_start<double>(60, 2, 10, seed + 100));
    const SeedSamples<double> samples(view, arma::regspace<arma::uvec>(0, view.n_cols - 1));
    const Parallel parallel(2);
    const arma::vec density = gasg21::densities(samples, 4, parallel);
    Random random(seed);
    polisher.round(view, {}, parallel);
    const double before = problem.worst(polisher.bases());
    int repairs = 0;
    while (!gasg21::repair(polisher, samples, density, 12, 0, random, parallel).empty()) {
      REQUIRE(++repairs < 6);
      for (int i = 0; i < 3; ++i) polisher.round(view, {}, parallel);
    }
    CHECK(before > 0.5);
    CHECK(repairs > 0);
    CHECK(problem.worst(polisher.bases()) < 0.02);
  }
}

TEST_CASE("more subspaces than distinct points: ties choose one twice, and nothing breaks") {
  arma::mat X(7, 18);
  Random random(3);
  const arma::mat points = gaussian<double>(7, 4, random);
  for (uword j = 0; j < 18; ++j) X.col(j) = points.col(j < 5 ? 0 : j < 6 ? 1 : j < 11 ? 2 : 3);
  const DenseView<double> view(X);
  const SeedSamples<double> samples(view, arma::regspace<arma::uvec>(0, 17));
  const arma::vec density = gasg21::densities(samples, 4, Parallel());
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    std::vector<arma::mat> start;
    for (const uword d : {1, 1, 1, 2, 2, 1, 1, 1})
      start.push_back(random_start<double>(7, d, 1, seed + 50)[0]);
    KPolisher<double> polisher(start);
    Random draws(seed);
    for (int i = 0; i < 3; ++i) {
      polisher.round(view, {}, Parallel());
      gasg21::repair(polisher, samples, density, 10, 0, draws, Parallel());
    }
    for (const auto& U : polisher.bases()) CHECK(gasg21::orthonormality_error(U) < 1e-12);
  }
}

TEST_CASE("a subspace whose members are all orthogonal to it stays") {
  arma::mat X(5, 12, arma::fill::zeros);
  X.row(0).head(6).ones();
  X.row(1).tail(6).ones();
  const arma::mat E(5, 5, arma::fill::eye);
  KPolisher<double> polisher({E.col(3), E.col(0)});
  polisher.round(DenseView<double>(X), {}, Parallel());
  CHECK(support::same_bits<double>(polisher.bases()[0], E.col(3)));
  CHECK(polisher.clusters()[0].estimated_angle > 1);
}

TEST_CASE("a polish that is stopped throws Stopped, and the subspaces stay usable") {
  Union<double> problem(20, same(2, 2), 30, 0, 0, 0, 8);
  KPolisher<double> polisher(problem.truth);
  CHECK_THROWS_AS(
      polisher.round(DenseView<double>(problem.X), {}, Parallel(1, [] { return true; })),
      gasg21::Stopped);
  for (uword k = 0; k < 2; ++k) CHECK(gasg21::orthonormality_error(polisher.bases()[k]) <= 1e-14);
}
