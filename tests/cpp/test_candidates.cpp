// seeding/candidates.hpp and selection.hpp: candidates lie where the clusters are, and the
// selection is the literal greedy one.
#include <gasg21/seeding/candidates.hpp>
#include <gasg21/seeding/selection.hpp>
#include <map>

#include "instruction_sets.hpp"
#include "union_support.hpp"

using gasg21::Candidates;
using gasg21::DenseView;
using gasg21::Parallel;
using gasg21::SeedingOptions;
using gasg21::SeedSamples;
using support::gaussian;
using support::quiet_nan;
using support::Random;
using support::same;
using support::Union;
using support::uword;

namespace {

template <class T>
SeedSamples<T> all_of(const arma::Mat<T>& X) {
  return SeedSamples<T>(DenseView<T>(X), arma::regspace<arma::uvec>(0, X.n_cols - 1));
}

/// Candidates with random residuals, for the selection alone.
Candidates<double> random_candidates(uword Q, uword m, Random& random) {
  Candidates<double> all;
  for (uword q = 0; q < Q; ++q) {
    arma::vec r(m);
    for (double& entry : r) entry = random.uniform();
    all.add(arma::mat(5, 2), r);
  }
  return all;
}

double cost(const Candidates<double>& candidates, const std::vector<uword>& chosen) {
  arma::vec nearest(candidates.residuals[0].n_elem, arma::fill::ones);
  for (const uword q : chosen) nearest = arma::min(nearest, candidates.residuals[q]);
  return arma::accu(nearest);
}

}  // namespace

TEST_CASE("an index is drawn as often as its weight says") {
  Random random(1);
  const arma::vec weights{0, 1, 3, 0, 2, 4, 0};
  std::map<uword, double> seen;
  for (int i = 0; i < 100000; ++i) ++seen[random.weighted_index(weights)];
  CHECK(seen.size() == 4);  // an index of weight 0 never
  double chi_square = 0;
  for (const auto& [index, count] : seen) {
    const double expected = 10000 * weights[index];
    chi_square += (count - expected) * (count - expected) / expected;
  }
  CHECK(chi_square < 16.3);  // 3 degrees of freedom, one in a thousand
}

TEST_CASE("when no weight is positive every index is equally likely") {
  Random random(2);
  arma::vec seen(5, arma::fill::zeros);
  for (int i = 0; i < 50000; ++i) ++seen[random.weighted_index(arma::vec(5, arma::fill::zeros))];
  CHECK(arma::accu(arma::square(seen - 10000)) / 10000 < 18.5);  // 4 degrees of freedom
  CHECK(support::contains(support::complaint([&] { random.weighted_index(arma::vec()); }),
                          "nothing to draw"));
}

TEST_CASE("samples that cannot be used are left out") {
  Random random(3);
  arma::mat X = gaussian<double>(10, 5, random);
  X.col(1).zeros();
  X.col(3).fill(quiet_nan<double>);
  X(4, 4) = quiet_nan<double>;
  const auto samples = all_of(X);
  REQUIRE(samples.n_cols == 3);
  CHECK_FALSE(samples.observed(4, 2));
  CHECK(samples.column(2)[4] == 0);
}

TEST_CASE_TEMPLATE("cosines are those of the zero-filled samples, in any part of them", T, double,
                   float) {
  const Union<T> problem(45, {3}, 20, 11, 0.3, 0, 4);
  arma::Mat<T> Z = problem.X;
  Z.replace(quiet_nan<T>, T(0));
  Z = arma::normalise(Z);
  const auto samples = all_of(problem.X);
  support::for_each_set([&] {
    arma::Col<T> all(31), part(6);
    samples.cosines(7, 0, 31, all.memptr());
    samples.cosines(7, 5, 6, part.memptr());
    const arma::Col<T> expected = Z.t() * Z.col(7);
    CHECK(support::distance<T>(all, expected) <= 20 * double(support::eps<T>));
    CHECK(support::same_bits<T>(part, all.subvec(5, 10)));
  });
}

TEST_CASE(
    "the density is the mean cosine to the nearest, and the largest values are kept in order") {
  Random random(5);
  for (const uword m : {1u, 5u, 16u, 100u, 333u})
    for (const uword count : {1u, 2u, 5u, 40u}) {
      if (count > m) continue;
      arma::vec values = gaussian<double>(m, random), kept(count);
      if (m > 9) values.subvec(3, 8).fill(values.max());
      gasg21::keep_largest(values.memptr(), m, count, kept.memptr());
      const arma::vec sorted = arma::sort(values);
      CHECK(support::same_bits<double>(kept, sorted.tail(count)));
    }
  const arma::mat X = gaussian<double>(12, 70, random);
  arma::mat cosines = arma::normalise(X).t() * arma::normalise(X);
  cosines.diag().fill(-2);
  const arma::vec density = gasg21::densities(all_of(X), 4, Parallel(2));
  for (uword j = 0; j < 70; ++j) {
    const arma::vec sorted = arma::sort(cosines.col(j), "descend");
    CHECK(std::abs(density[j] - arma::mean(sorted.head(4))) < 1e-14);
  }
}

TEST_CASE_TEMPLATE("members of a subspace give the subspace, with missing entries too", T, double,
                   float) {
  const Union<T> problem(40, {3}, 12, 0, 0.2, 0, 4);
  const auto samples = all_of(problem.X);
  std::vector<uword> members(12);
  std::iota(members.begin(), members.end(), uword(0));
  Random random(1);
  const auto plain = gasg21::local_subspace(samples, members, 3, 0, random);
  const auto imputed = gasg21::local_subspace(samples, members, 3, 60, random);
  const double off = gasg21::largest_angle(plain, problem.truth[0]);
  CHECK(off > 0.05);
  CHECK(gasg21::largest_angle(imputed, problem.truth[0]) < off / 20);
  const Union<T> full(40, {3}, 12, 0, 0, 0, 4);
  CHECK(gasg21::largest_angle(gasg21::local_subspace(all_of(full.X), members, 3, 3, random),
                              full.truth[0]) < 100 * double(support::eps<T>));
}

TEST_CASE("duplicate points still give a basis of the dimension asked for") {
  arma::mat X(10, 8);
  Random random(5);
  X.each_col() = gaussian<double>(10, random);
  const auto samples = all_of(X);
  const auto U = gasg21::local_subspace(samples, {0, 1, 2, 3}, 3, 2, random);
  CHECK(gasg21::orthonormality_error(U) < 1e-14);
  const arma::vec x = X.col(0) / arma::norm(X.col(0));
  CHECK(arma::norm(x - U * (U.t() * x)) < 1e-7);
  // All distances are 0 after the first seed; Q above m is cut to m.
  const Parallel alone;
  CHECK(gasg21::farthest_candidates(samples, {{3, 3}, 20, 0}, random, alone).bases.size() == 8);
  const auto dense = gasg21::density_candidates(samples, gasg21::densities(samples, 5, alone),
                                                {{3, 3}, 4, 0}, {}, random, alone);
  CHECK(dense.bases.size() == 4);
}

TEST_CASE("greedy selection is the literal one, ties go to the first") {
  Random random(6);
  for (int trial = 0; trial < 20; ++trial) {
    auto candidates = random_candidates(30, 20, random);
    candidates.residuals[7] = candidates.residuals[3];
    candidates.residuals[12] = candidates.residuals[25];
    std::vector<uword> literal;
    for (int k = 0; k < 9; ++k) {
      uword best = 0;
      double least = 1e300;
      for (uword q = 0; q < 30; ++q) {
        auto with = literal;
        with.push_back(q);
        if (cost(candidates, with) < least) least = cost(candidates, with), best = q;
      }
      literal.push_back(best);
    }
    for (const unsigned threads : {1u, 3u})
      CHECK(gasg21::greedy_select(candidates, same(9, 2), Parallel(threads)) == literal);
    auto chosen = literal;
    const uword exchanged = gasg21::swap_select(candidates, chosen, 3, Parallel());
    CHECK((exchanged > 0) == (cost(candidates, chosen) < cost(candidates, literal)));
    CHECK(cost(candidates, chosen) <= cost(candidates, literal));
  }
}

TEST_CASE("swaps leave what no single exchange improves") {
  Random random(7);
  const auto candidates = random_candidates(10, 40, random);
  std::vector<uword> chosen{0, 1, 2};
  gasg21::swap_select(candidates, chosen, 50, Parallel());
  for (uword k = 0; k < 3; ++k)
    for (uword q = 0; q < 10; ++q) {
      auto other = chosen;
      other[k] = q;
      CHECK(cost(candidates, other) >= cost(candidates, chosen) - 1e-7);
    }
}

TEST_CASE("both ways of seeding find all clusters, whatever the number of threads") {
  const Union<double> problem(50, same(5, 2), 40, 100, 0.2, 0, 8);
  const auto samples = all_of(problem.X);
  std::vector<arma::mat> once[2];
  for (const unsigned threads : {1u, 3u}) {
    const Parallel parallel(threads);
    for (const bool dense : {false, true}) {
      CAPTURE(dense);
      Random random(1);
      const SeedingOptions options{same(5, 2), dense ? 15u : 100u, 0};
      auto candidates =
          dense ? gasg21::density_candidates(samples, gasg21::densities(samples, 4, parallel),
                                             options, {}, random, parallel)
                : gasg21::farthest_candidates(samples, options, random, parallel);
      candidates.measure(samples, parallel);
      auto chosen = gasg21::greedy_select(candidates, options.dimensions, parallel);
      gasg21::swap_select(candidates, chosen, 3, parallel);
      std::vector<arma::mat> start;
      for (const uword q : chosen) start.push_back(candidates.bases[q]);
      CHECK(problem.worst(start) < (dense ? 0.3 : 0.9));
      if (threads == 1) {
        once[dense] = start;
      } else {
        for (uword k = 0; k < 5; ++k) CHECK(support::same_bits(start[k], once[dense][k]));
      }
    }
  }
}

TEST_CASE("a candidate is chosen for each dimension, small ones first") {
  const Union<double> problem(40, {4, 1, 2}, 60, 30, 0, 0, 9);
  const auto samples = all_of(problem.X);
  Random random(2);
  const Parallel alone;
  const auto candidates = gasg21::density_candidates(samples, gasg21::densities(samples, 6, alone),
                                                     {{4, 1, 2}, 20, 0}, {}, random, alone);
  CHECK(candidates.bases.size() == 60);
  auto chosen = gasg21::greedy_select(candidates, {4, 1, 2}, alone);
  gasg21::swap_select(candidates, chosen, 3, alone);
  const std::vector<uword> wanted{4, 1, 2};
  for (uword k = 0; k < 3; ++k) {
    CAPTURE(k);
    CHECK(candidates.bases[chosen[k]].n_cols == wanted[k]);
    CHECK(gasg21::largest_angle(candidates.bases[chosen[k]], problem.truth[k]) < 1e-6);
  }
  CHECK(
      support::contains(support::complaint([&] { gasg21::greedy_select(candidates, {3}, alone); }),
                        "no candidate of dimension 3"));
}

TEST_CASE("seeding throws Stopped when it is stopped") {
  const Union<double> problem(20, same(2, 2), 60, 0, 0, 0, 10);
  const auto samples = all_of(problem.X);
  const Parallel stopping(1, [] { return true; });
  Random random(1);
  CHECK_THROWS_AS(gasg21::densities(samples, 3, stopping), gasg21::Stopped);
  auto candidates = gasg21::farthest_candidates(samples, {same(2, 2), 5, 0}, random, Parallel());
  CHECK_THROWS_AS(candidates.measure(samples, stopping), gasg21::Stopped);
}
