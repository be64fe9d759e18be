// polish/round.hpp: a round is the same wherever the sums come from; it keeps leading directions,
// softens and extrapolates.
#include <cmath>
#include <gasg21/polish/round.hpp>
#include <gasg21/recovery/block_sums.hpp>

#include "polish_support.hpp"

using gasg21::DenseView;
using gasg21::Parallel;
using gasg21::Round;
using gasg21::RoundOptions;
using gasg21::SampleFits;
using gasg21::Scatter;
using support::distance;
using support::Problem;
using support::same_bits;
using support::uword;

namespace {

/// Fits, weighs and sums the samples in memory.
template <class T>
gasg21::CoordinateSums<T> sums_in_memory(Round<T>& round, const arma::Mat<T>& X) {
  const DenseView<T> data(X);
  SampleFits<T> fits(round.basis().n_cols, X.n_cols);
  fit_samples(round.basis(), data, fits, Parallel());
  round.weigh(fits);
  gasg21::CoordinateSums<T> sums(X.n_rows, round.basis().n_cols);
  add_samples(round.basis(), data, fits, sums, Parallel());
  return sums;
}

}  // namespace

TEST_CASE_TEMPLATE("rounds over blocks reach the fixed point of rounds in memory", T, double,
                   float) {
  Problem<T> p(60, 400, 3, 0.3, 0.2, 0.01, 1);
  const arma::Mat<T> start = p.near(0.05);
  Round<T> memory(start), blocks(start, {}, gasg21::start_scatter(start, DenseView<T>(p.X)));
  for (int i = 0; i < 12; ++i) {
    memory.advance(sums_in_memory(memory, p.X), Parallel());
    end_round(blocks, block_sums(blocks.basis(), blocks.scatter(), DenseView<T>(p.X)));
  }
  const double rounding = std::is_same_v<T, double> ? 1e-9 : 1e-4;
  CHECK(double(gasg21::largest_angle(memory.basis(), blocks.basis())) <= rounding);
  CHECK(blocks.estimated_angle() == doctest::Approx(memory.estimated_angle()).epsilon(1e-3));
  CHECK(memory.has_settled(1e-3));
  CHECK(p.angle(memory.basis()) <= 3 * memory.estimated_angle());
}

TEST_CASE("without a scatter the first round over blocks only finds it") {
  Problem<double> p(40, 200, 3, 0.2, 0, 0.01, 2);
  const arma::mat start = p.near(0.05);
  Round<double> round(start);
  const auto sums = block_sums(round.basis(), round.scatter(), DenseView<double>(p.X));
  CHECK(end_round(round, sums) == arma::datum::pi / 2);
  CHECK(same_bits(round.basis(), start));
  CHECK(same_bits(round.scatter().C, Scatter(sums.scatter).C));
  CHECK_FALSE(round.has_settled(1e-3));
}

TEST_CASE("without extrapolation a round is one solution of the normal equations") {
  Problem<double> p(40, 200, 3, 0.2, 0.2, 0.01, 3);
  RoundOptions plain;
  plain.extrapolate = false;
  Round<double> round(p.near(0.1), plain), secant(round.basis());
  for (int i = 0; i < 3; ++i) {
    const auto sums = sums_in_memory(round, p.X);
    arma::mat U = round.basis();
    Scatter scatter = round.scatter();
    const double moved = update_coordinates(U, sums, scatter, Parallel());
    CHECK(round.advance(sums, Parallel()) == moved);
    CHECK(same_bits(round.basis(), U));
    CHECK(same_bits(round.scatter().C, scatter.C));
    secant.advance(sums_in_memory(secant, p.X), Parallel());
  }
  CHECK(distance(round.basis(), secant.basis()) > 1e-12);  // a secant leads elsewhere
}

TEST_CASE("a round keeps the leading directions, and its move and error are theirs") {
  Problem<double> p(50, 600, 2, 0, 0, 0.01, 4);
  arma::mat more = arma::join_rows(p.truth, support::gaussian<double>(50, 2, p.random));
  REQUIRE(gasg21::orthonormalize(more));
  RoundOptions two;
  two.kept = 2;
  Round<double> round(more, two), all(p.near(0.02));
  for (int i = 0; i < 6; ++i) {
    const arma::mat before = round.kept();
    const double moved = round.advance(sums_in_memory(round, p.X), Parallel());
    all.advance(sums_in_memory(all, p.X), Parallel());
    CHECK(moved == double(gasg21::largest_angle(before, round.kept())));
  }
  CHECK(round.kept().n_cols == 2);
  CHECK(all.kept().n_cols == 2);
  CHECK(p.angle(round.kept()) < 0.01);
  // The two directions of noise take part of what the samples tell about the others.
  CHECK(round.estimated_angle() == doctest::Approx(all.estimated_angle()).epsilon(0.2));
}

TEST_CASE("few samples near the subspace of a cluster enlarge its residual scale") {
  Problem<double> p(40, 300, 3, 0, 0, 0.01, 5);
  for (const uword members : {20u, 300u}) {
    const arma::mat X = p.X.head_cols(members);
    const auto sums = block_sums(p.truth, Scatter(), DenseView<double>(X));
    Round<double> plain(p.truth), soft(p.truth, RoundOptions::of_cluster());
    end_round(plain, sums);
    end_round(soft, sums);
    CHECK(soft.scatter().s == doctest::Approx(plain.scatter().s * (members < 24 ? 3 : 1)));
  }
}

TEST_CASE_TEMPLATE("a round is the last if it moves the subspace by little", T, double, float) {
  const double eps = std::numeric_limits<T>::epsilon();
  CHECK(gasg21::has_settled<T>(1e-3, 0, 1e-3));
  CHECK_FALSE(gasg21::has_settled<T>(1.1e-3, 0, 1e-3));
  CHECK(gasg21::has_settled<T>(1e-3, 1.1e-2, 0));  // a tenth of the estimated error
  CHECK_FALSE(gasg21::has_settled<T>(1e-3, 0.9e-2, 0));
  CHECK(gasg21::has_settled<T>(9 * eps, 0, 0));  // no step in T is smaller
  CHECK_FALSE(gasg21::has_settled<T>(11 * eps, 0, 0));
  CHECK_FALSE(gasg21::has_settled<T>(std::nan(""), 0.1, 1e-3));
}

TEST_CASE("a basis that is not orthonormal, and too many directions to keep, are refused") {
  CHECK_THROWS_AS(Round<double>(arma::mat(5, 2, arma::fill::ones)), std::invalid_argument);
  RoundOptions options;
  options.kept = 3;
  CHECK_THROWS_AS(Round<double>(arma::mat(5, 2, arma::fill::eye), options), std::invalid_argument);
}
