// union/cluster_dimensions.hpp: the dimension of each cluster of a fit.
#include <algorithm>
#include <gasg21/union/cluster_dimensions.hpp>
#include <vector>

#include "union_support.hpp"

using gasg21::cluster_dimensions;
using gasg21::DenseView;
using support::Random;
using support::uword;

TEST_CASE("each cluster has its own dimension") {
  const support::Union<double> given(30, {1, 2, 4}, 80, 40, 0.2, 1e-2, 9);
  Random random(5);
  std::vector<arma::mat> bases;  // of 3 dimensions, which hold or approach the clusters
  for (const auto& U : given.truth) {
    arma::mat more = arma::join_rows(U, support::gaussian<double>(30, 3, random));
    REQUIRE(gasg21::orthonormalize(more));
    bases.emplace_back(more.head_cols(std::max<uword>(3, U.n_cols)));
  }
  CHECK(cluster_dimensions(bases, DenseView<double>(given.X), 1) == std::vector<uword>{1, 2, 4});
}

TEST_CASE("a cluster with too few members keeps its dimension") {
  Random random(6);
  const support::Union<double> given(30, {2, 3}, 60, 0, 0, 1e-2, 10);
  arma::mat X = given.X.cols(arma::find(given.labels == 1));
  X = arma::join_rows(X, arma::mat(given.truth[0] * support::gaussian<double>(2, 3, random)));
  CHECK(cluster_dimensions(given.truth, DenseView<double>(X), 1) == std::vector<uword>{2, 3});
}
