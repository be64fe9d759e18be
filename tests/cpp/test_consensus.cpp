// consensus.hpp: labels that several representations agree on.
#include <gasg21/union/consensus.hpp>
#include <vector>

#include "support.hpp"
#include "union_samples.hpp"

using gasg21::find_consensus;
using gasg21::Parallel;
using support::uword;

TEST_CASE("a consensus finds the clusters, and all representations agree") {
  const auto made = support::union_samples({40, 4, 3, 40, 0.02, 1});
  const auto found = find_consensus(made.X, std::vector<uword>(4, 3), 1, Parallel());
  REQUIRE(found);
  CHECK(gasg21::agreement_of(found->labels, made.labels) == doctest::Approx(1));
  CHECK(found->agreement > 0.95);
  CHECK(found->weights.n_elem == found->representations.size());
  CHECK(found->weights.max() == doctest::Approx(1));
}

TEST_CASE("a consensus finds clusters of different dimensions, without noise and in few samples") {
  support::Random random(2);
  const std::vector<uword> dimensions{1, 3};
  arma::mat X(200, 60);
  arma::uvec truth(60);
  const arma::mat line = gasg21::random_basis<double>(200, 1, random);
  const arma::mat space = gasg21::random_basis<double>(200, 3, random);
  for (uword j = 0; j < 60; ++j) {
    truth[j] = j % 2;
    X.col(j) = j % 2 ? arma::vec(space * support::gaussian<double>(3, random))
                     : arma::vec(line * support::gaussian<double>(1, random));
  }
  // Noise far below the signal: exact data has a rank of only 4 = max(d) + 1.
  X += 1e-6 * support::gaussian<double>(200, 60, random);
  const auto found = find_consensus(X, dimensions, 1, Parallel());
  REQUIRE(found);
  CHECK(gasg21::agreement_of(found->labels, truth) == doctest::Approx(1));
}

TEST_CASE("there is no consensus if the rank is too low") {
  support::Random random(3);
  const arma::mat X =
      gasg21::random_basis<double>(20, 3, random) * support::gaussian<double>(3, 50, random);
  CHECK_FALSE(find_consensus(X, {2, 2}, 1, Parallel()));
}

TEST_CASE("the labels depend neither on the number of threads nor on the unit of the data") {
  const auto made = support::union_samples({30, 3, 3, 50, 0.4, 4});
  const std::vector<uword> dimensions(3, 3);
  const auto one = find_consensus(made.X, dimensions, 7, Parallel());
  const auto three = find_consensus(made.X, dimensions, 7, Parallel(3));
  const auto large = find_consensus(arma::mat(made.X * 0x1p600), dimensions, 7, Parallel());
  CHECK(arma::all(one->labels == three->labels));
  CHECK(one->agreement == three->agreement);
  CHECK(arma::all(one->labels == large->labels));
}

TEST_CASE("of two camps the one with the smaller residuals wins") {
  arma::mat M(4, 4, arma::fill::value(0.1));
  M.submat(0, 0, 1, 1).fill(0.9);
  M.submat(2, 2, 3, 3).fill(0.9);
  std::vector<gasg21::Representation> found(4);
  for (uword r = 0; r < 4; ++r) found[r].costs = arma::vec{r < 2 ? 0.30 : 0.32};
  const arma::vec votes = gasg21::detail::votes_of(M, found, {});
  CHECK(votes.head(2).min() > 0.99);
  CHECK(votes.tail(2).max() < 0.01);
}

TEST_CASE("a consensus can be stopped") {
  const auto made = support::union_samples({30, 3, 3, 50, 0.4, 4});
  for (const int last : {1, 10, 50}) {
    int polls = 0;
    const Parallel stopped(2, [&] { return ++polls >= last; });
    CHECK_THROWS_AS(find_consensus(made.X, {3, 3, 3}, 7, stopped), gasg21::Stopped);
  }
}
