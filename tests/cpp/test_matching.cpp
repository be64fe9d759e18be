// matching.hpp: the adjusted Rand index, and assignments of least cost.
#include <algorithm>
#include <gasg21/union/matching.hpp>
#include <numeric>
#include <vector>

#include "support.hpp"

using gasg21::agreement_of;
using gasg21::cheapest_assignment;
using gasg21::match_dimensions;
using support::Random;
using support::uword;

namespace {

arma::uvec random_labels(uword m, uword K, Random& random) {
  arma::uvec labels(m);
  for (uword& label : labels) label = random.index(K);
  return labels;
}

double cost_of(const arma::mat& costs, const arma::uvec& columns) {
  double sum = 0;
  for (uword r = 0; r < costs.n_rows; ++r) sum += costs(r, columns[r]);
  return sum;
}

/// The least cost over all permutations.
double least_cost(const arma::mat& costs) {
  arma::uvec columns = arma::regspace<arma::uvec>(0, costs.n_rows - 1);
  double least = cost_of(costs, columns);
  while (std::next_permutation(columns.begin(), columns.end()))
    least = std::min(least, cost_of(costs, columns));
  return least;
}

}  // namespace

TEST_CASE("the agreement of labellings is 1 for equal clusters whatever their names") {
  CHECK(agreement_of({0, 0, 1, 2, 2}, {2, 2, 0, 1, 1}) == doctest::Approx(1));
  CHECK(agreement_of({0, 0, 0}, {0, 0, 0}) == 1);
  CHECK(agreement_of({}, {}) == 1);
  // Hubert and Arabie: index 2, expected 4 * 4 / 15, largest 4.
  CHECK(agreement_of({0, 0, 0, 1, 1, 2}, {0, 0, 1, 1, 1, 2}) ==
        doctest::Approx((2 - 16.0 / 15) / (4 - 16.0 / 15)));
}

TEST_CASE("the agreement of random labellings is near zero") {
  Random random(1);
  double sum = 0;
  for (int trial = 0; trial < 50; ++trial)
    sum += agreement_of(random_labels(200, 4, random), random_labels(200, 4, random));
  CHECK(std::abs(sum / 50) < 0.01);  // its standard deviation is about 0.0015
}

TEST_CASE("labellings of different lengths are refused") {
  CHECK_THROWS_AS(agreement_of({0, 1}, {0}), std::invalid_argument);
}

TEST_CASE("an assignment has the least cost of all permutations") {
  Random random(2);
  for (uword K = 1; K <= 6; ++K)
    for (int trial = 0; trial < 20; ++trial) {
      arma::mat costs = support::gaussian<double>(K, K, random);
      if (trial % 2) costs = arma::round(costs);  // ties
      const arma::uvec columns = cheapest_assignment(costs);
      CAPTURE(K);
      CHECK(arma::uvec(arma::sort(columns)).is_sorted("strictascend"));
      CHECK(cost_of(costs, columns) == doctest::Approx(least_cost(costs)));
    }
}

TEST_CASE("an assignment needs a square matrix of finite costs") {
  CHECK_THROWS_AS(cheapest_assignment(arma::mat(2, 3, arma::fill::zeros)), std::invalid_argument);
  CHECK_THROWS_AS(cheapest_assignment(arma::mat(1, 1, arma::fill::value(arma::datum::inf))),
                  std::invalid_argument);
}

TEST_CASE("the larger dimension goes to the cluster that needs it") {
  const std::vector<arma::vec> spectra{{5, 0, 0}, {3, 3, 3}, {4, 2, 0}};
  const arma::uvec cluster = match_dimensions(spectra, {3, 1, 2});
  CHECK(cluster[0] == 1);
  CHECK(cluster[1] == 0);
  CHECK(cluster[2] == 2);
}
