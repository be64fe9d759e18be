// union/k_means.hpp: blobs are found; labels have no gaps; threads change nothing.
#include <gasg21/union/k_means.hpp>

#include "support.hpp"

using gasg21::Parallel;
using support::complaint;
using support::contains;
using support::gaussian;
using support::Random;
using support::uword;

namespace {

/// K blobs of points, point j in blob j % K. `spread` 1: neighbours touch.
arma::mat blobs(uword p, uword m, uword K, double spread, Random& random) {
  const arma::mat centers = 10 * gaussian<double>(p, K, random);
  arma::mat points = spread * gaussian<double>(p, m, random);
  for (uword j = 0; j < m; ++j) points.col(j) += centers.col(j % K);
  return points;
}

/// The sum of the squared distances from the means of the clusters.
double cost_of(const arma::mat& points, const arma::uvec& labels) {
  double cost = 0;
  for (uword k = 0; k <= labels.max(); ++k) {
    const arma::mat own = points.cols(arma::find(labels == k));
    if (!own.empty()) cost += arma::accu(arma::square(own.each_col() - arma::mean(own, 1)));
  }
  return cost;
}

}  // namespace

TEST_CASE("separated blobs are found") {
  Random random(1);
  for (const uword K : {1u, 2u, 9u, 25u}) {
    CAPTURE(K);
    const uword m = 30 * K;
    const arma::mat points = blobs(6, m, K, 0.3, random);
    const arma::uvec labels = gasg21::k_means(points, K, 7, 5);
    CHECK(arma::uvec(arma::unique(labels)).n_elem == K);
    for (uword j = K; j < m; ++j) CHECK(labels[j] == labels[j - K]);
  }
}

TEST_CASE("the best run wins, and each point belongs to the nearest mean") {
  Random random(2);
  const arma::mat points = blobs(3, 400, 12, 3, random);
  const arma::uvec labels = gasg21::k_means(points, 12, 1, 20);
  for (std::uint64_t seed = 0; seed < 10; ++seed)
    CHECK(cost_of(points, labels) <= 1.02 * cost_of(points, gasg21::k_means(points, 12, seed, 1)));
  arma::mat means(3, 12);
  for (uword k = 0; k < 12; ++k) means.col(k) = arma::mean(points.cols(arma::find(labels == k)), 1);
  for (uword j = 0; j < 400; ++j) {
    const arma::rowvec off = arma::sum(arma::square(means.each_col() - points.col(j)), 0);
    CHECK(off[labels[j]] <= off.min() * (1 + 1e-12));
  }
}

TEST_CASE("labels depend on the seed alone") {
  Random random(3);
  const arma::mat points = blobs(5, 3000, 8, 5, random);
  const auto run = [&](std::uint64_t seed, unsigned threads) {
    return gasg21::k_means(points, 8, seed, 6, Parallel(threads));
  };
  CHECK(arma::all(run(4, 1) == run(4, 3)));
  CHECK(arma::any(run(4, 1) != run(5, 1)));
}

TEST_CASE("labels are numbered without gaps") {
  arma::mat points(2, 40, arma::fill::zeros);
  points.cols(10, 24).fill(1);
  points.cols(25, 39).fill(-3);
  const arma::uvec labels = gasg21::cluster_points(points, 6, 1, 4);  // three distinct points
  CHECK(labels.max() == 2);
  CHECK(arma::uvec(arma::unique(labels)).n_elem == 3);
  CHECK(gasg21::cluster_points(arma::mat(2, 5, arma::fill::ones), 3, 1, 2).max() == 0);
  CHECK(contains(complaint([&] { gasg21::k_means(points, 41, 1, 1); }), "K = 41"));
  CHECK(contains(complaint([&] { gasg21::k_means(points, 2, 1, 0); }), "n_init"));
}
