// seeding/seeder.hpp: samples, candidates, selection and repair put together.
#include <cmath>
#include <gasg21/seeding/seeder.hpp>
#include <vector>

#include "union_support.hpp"

using gasg21::DenseView;
using gasg21::KPolisher;
using gasg21::Parallel;
using gasg21::Seeder;
using gasg21::Seeding;
using support::quiet_nan;
using support::same;
using support::Union;
using support::uword;

namespace {

template <class T>
std::vector<arma::Mat<T>> seeds(const Union<T>& problem, Seeding seeding, uword n_candidates,
                                std::uint64_t seed, unsigned threads = 1) {
  std::vector<uword> dimensions;
  for (const auto& U : problem.truth) dimensions.push_back(U.n_cols);
  Seeder<T> seeder(DenseView<T>(problem.X), problem.X.n_cols, seed);
  const Parallel parallel(threads);
  seeder.make_candidates(seeding, {dimensions, n_candidates, 0}, parallel);
  std::vector<arma::Mat<T>> chosen;
  for (const uword q : seeder.select(dimensions, 3, parallel))
    chosen.push_back(seeder.candidates()[q]);
  return chosen;
}

}  // namespace

TEST_CASE_TEMPLATE("both kinds of candidates lie near all clusters", T, double, float) {
  const Union<T> problem(50, same(5, 2), 40, 100, 0.2, 0, 8);
  CHECK(problem.worst(seeds(problem, Seeding::density, 15, 1)) < 0.3);
  CHECK(problem.worst(seeds(problem, Seeding::farthest, 100, 1)) < 0.9);
}

TEST_CASE("each cluster gets a candidate of its own dimension") {
  const Union<double> problem(40, {4, 1, 2}, 60, 30, 0, 0, 9);
  const auto chosen = seeds(problem, Seeding::density, 20, 2);
  for (uword k = 0; k < 3; ++k) {
    CHECK(chosen[k].n_cols == problem.truth[k].n_cols);
    CHECK(gasg21::largest_angle(chosen[k], problem.truth[k]) < 1e-6);
  }
}

TEST_CASE("the seed decides, and the number of threads does not") {
  const Union<double> problem(30, same(3, 2), 40, 60, 0.2, 0.01, 3);
  for (const Seeding seeding : {Seeding::density, Seeding::farthest}) {
    const auto once = seeds(problem, seeding, 12, 1), again = seeds(problem, seeding, 12, 1, 3),
               other = seeds(problem, seeding, 12, 2);
    bool differs = false;
    for (uword k = 0; k < 3; ++k) {
      CHECK(support::same_bits(once[k], again[k]));
      differs = differs || !support::same_bits(once[k], other[k]);
    }
    CHECK(differs);
  }
}

TEST_CASE("it copies some of the samples that can be used") {
  Union<double> problem(20, same(2, 2), 50, 0, 0, 0, 4);
  problem.X.col(3).zeros();
  problem.X.col(8).fill(quiet_nan<double>);
  const DenseView<double> view(problem.X);
  CHECK(Seeder<double>(view, 1000, 0).n_samples() == 98);
  const uword some = Seeder<double>(view, 30, 0).n_samples();
  CHECK(some <= 30);
  CHECK(some >= 28);
}

TEST_CASE("distances are those to the nearest subspace") {
  const Union<double> problem(20, {2, 3}, 30, 20, 0.2, 0, 5);
  const DenseView<double> view(problem.X);
  const Seeder<double> seeder(view, 80, 0);
  const arma::vec found = seeder.distances(problem.truth, Parallel(2));
  REQUIRE(found.n_elem == 80);
  for (uword j = 0; j < 80; ++j) {
    const arma::uvec omega = arma::find_finite(problem.X.col(j));
    const arma::vec column = problem.X.col(j), x = arma::normalise(arma::vec(column.elem(omega)));
    double least = 1;
    for (const auto& U : problem.truth) {
      const arma::mat A = U.rows(omega);
      least = std::min(least, arma::norm(x - A * arma::solve(A, x)));
    }
    CHECK(found[j] == doctest::Approx(least).epsilon(1e-6));
  }
}

TEST_CASE("candidates may be given, and the best are selected among them") {
  const Union<double> problem(30, same(3, 2), 40, 20, 0.2, 0.01, 6);
  support::Random random(7);
  std::vector<arma::mat> given;
  for (int i = 0; i < 5; ++i) given.push_back(gasg21::random_basis<double>(30, 2, random));
  for (const auto& U : problem.truth) given.push_back(U);
  Seeder<double> seeder(DenseView<double>(problem.X), 1000, 0);
  seeder.set_candidates(given);
  auto chosen = seeder.select(same(3, 2), 0, Parallel());
  std::sort(chosen.begin(), chosen.end());
  CHECK(chosen == std::vector<uword>{5, 6, 7});
}

TEST_CASE("repair replaces the subspace that missed its cluster, and no other") {
  Union<double> problem(60, same(4, 2), 60, 60, 0.2, 0, 7);
  auto start = problem.truth;
  start[2] = gasg21::random_basis<double>(60, 2, problem.random);
  KPolisher<double> polisher(start);
  Seeder<double> seeder(DenseView<double>(problem.X), 1000, 0);
  CHECK(seeder.repair_into(polisher, 30, 0, Parallel()) == std::vector<uword>{2});
  CHECK(problem.worst(polisher.bases()) < 0.3);
  for (const uword k : {0u, 1u, 3u}) CHECK(support::same_bits(polisher.bases()[k], start[k]));
  KPolisher<double> right(problem.truth);
  CHECK(seeder.repair_into(right, 30, 0, Parallel()).empty());
}

TEST_CASE("data without a usable sample is refused, and a stop throws Stopped") {
  const arma::mat zeros(10, 5, arma::fill::zeros);
  Seeder<double> empty(DenseView<double>(zeros), 100, 0);
  CHECK(empty.n_samples() == 0);
  const auto refused = [](auto&& act) {
    return support::contains(support::complaint(act), "no sample can be used");
  };
  CHECK(refused([&] { empty.make_candidates(Seeding::density, {{2}, 3, 0}, Parallel()); }));
  CHECK(refused([&] { empty.select({2}, 0, Parallel()); }));
  CHECK(refused([&] { empty.distances({arma::mat(10, 1, arma::fill::eye)}, Parallel()); }));

  const Union<double> problem(20, same(2, 2), 60, 0, 0, 0, 10);
  Seeder<double> seeder(DenseView<double>(problem.X), 1000, 0);
  const Parallel stopping(1, [] { return true; });
  CHECK_THROWS_AS(seeder.make_candidates(Seeding::density, {same(2, 2), 3, 0}, stopping),
                  gasg21::Stopped);
  seeder.make_candidates(Seeding::farthest, {same(2, 2), 5, 0}, Parallel());
  CHECK_THROWS_AS(seeder.select(same(2, 2), 3, stopping), gasg21::Stopped);
  CHECK_THROWS_AS(seeder.distances(problem.truth, stopping), gasg21::Stopped);
}
