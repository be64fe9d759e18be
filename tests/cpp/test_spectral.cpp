// union/spectral.hpp: clusters of an affinity, formed or factored, by Lanczos and by decomposition.
#include <gasg21/union/spectral.hpp>

#include "support.hpp"

using gasg21::Factored;
using gasg21::Parallel;
using support::complaint;
using support::contains;
using support::gaussian;
using support::Random;
using support::uword;

namespace {

/// A nonnegative factor of K clusters, sample j in cluster j % K. `leak` is the affinity between
/// different clusters.
Factored clusters(uword m, uword K, double leak, Random& random) {
  Factored affinity{arma::mat(5 * K, m)};
  for (double& entry : affinity.factor) entry = leak * random.uniform();
  for (uword j = 0; j < m; ++j)
    for (uword i = 0; i < 5; ++i) affinity.factor(5 * (j % K) + i, j) += random.uniform();
  return affinity;
}

arma::fmat formed(const Factored& affinity) {
  const arma::mat W = affinity.factor.t() * affinity.factor;
  arma::fmat dense = arma::conv_to<arma::fmat>::from(W);
  dense.diag().zeros();
  return dense;
}

bool are_those_of_clusters(const arma::uvec& labels, uword K) {
  if (labels.max() != K - 1) return false;
  return arma::all(labels.tail(labels.n_elem - K) == labels.head(labels.n_elem - K));
}

}  // namespace

TEST_CASE("clusters are found, also if they share no affinity") {
  Random random(1);
  for (const uword m : {60u, 1200u})
    for (const uword K : {1u, 2u, 7u, 20u})
      for (const double leak : {0.0, 0.02}) {
        CAPTURE(m);
        CAPTURE(K);
        CAPTURE(leak);
        const Factored affinity = clusters(m, K, leak, random);
        CHECK(are_those_of_clusters(gasg21::spectral_labels(affinity, K, 3, 20), K));
        CHECK(are_those_of_clusters(gasg21::spectral_labels(formed(affinity), K, 3, 20), K));
      }
}

TEST_CASE("Lanczos spans what LAPACK's eigenvectors span") {
  Random random(2);
  const Factored affinity = clusters(600, 5, 0.1, random);
  const arma::mat W = arma::conv_to<arma::mat>::from(formed(affinity));
  const arma::vec roots = 1 / arma::sqrt(arma::sum(W, 1));
  arma::vec values;
  arma::mat vectors;
  arma::eig_sym(values, vectors,
                arma::mat(arma::symmatl(arma::diagmat(roots) * W * arma::diagmat(roots))));
  const auto check = [&](const arma::mat& points) {
    for (const double length : arma::rowvec(arma::sqrt(arma::sum(arma::square(points), 0))))
      CHECK(length == doctest::Approx(1));
    arma::mat expected = vectors.tail_cols(5);
    expected.each_col() /= arma::sqrt(arma::sum(arma::square(expected), 1));
    // Embeddings equal each other up to a rotation.
    CHECK(arma::abs(points.t() * points - expected * expected.t()).max() < 2e-3);
  };
  check(gasg21::detail::embed(affinity, 5, Parallel()));
  check(gasg21::detail::embed(formed(affinity), 5, Parallel()));
}

TEST_CASE("samples without affinity are a cluster, and threads change nothing") {
  Random random(3);
  Factored affinity = clusters(500, 3, 0.3, random);
  const arma::uvec lonely{4, 77, 401};
  affinity.factor.cols(lonely).zeros();
  const arma::uvec labels = gasg21::spectral_labels(affinity, 4, 1, 10);
  CHECK(arma::all(labels.elem(lonely) == labels[4]));
  CHECK(arma::all(labels == gasg21::spectral_labels(affinity, 4, 1, 10, Parallel(3))));
  const arma::fmat W = formed(affinity);
  CHECK(arma::all(gasg21::spectral_labels(W, 4, 1, 10) ==
                  gasg21::spectral_labels(W, 4, 1, 10, Parallel(3))));
}

TEST_CASE("the shape interaction is a power of the cosines") {
  Random random(4);
  arma::fmat points = gaussian<float>(12, 300, random);
  for (uword j = 0; j < 300; ++j) points.col(j) /= arma::norm(points.col(j));
  const arma::mat exact = arma::conv_to<arma::mat>::from(points);
  for (const double exponent : {1.0, 2.0, 3.0, 4.0, 5.5, 6.0, 8.0, 30.0}) {
    CAPTURE(exponent);
    arma::mat expected = arma::pow(arma::abs(exact.t() * exact), exponent);
    expected.diag().zeros();
    const arma::fmat W = gasg21::shape_interaction(points, exponent);
    CHECK(arma::abs(arma::conv_to<arma::mat>::from(W) - expected).max() < 1e-5);
    CHECK(support::same_bits<float>(W, W.t()));
    CHECK(support::same_bits(W, gasg21::shape_interaction(points, exponent, Parallel(3))));
  }
  CHECK(contains(complaint([&] { gasg21::shape_interaction(points, 0); }), "exponent = 0"));
}

TEST_CASE("an affinity must be square and hold as many samples as clusters") {
  CHECK(contains(complaint([] { gasg21::spectral_labels(arma::fmat(3, 4), 2, 0, 1); }), "3 rows"));
  CHECK(contains(complaint([] { gasg21::spectral_labels(arma::fmat(3, 3), 4, 0, 1); }), "K = 4"));
  CHECK(contains(complaint([] { gasg21::spectral_labels(Factored{arma::mat(2, 3)}, 0, 0, 1); }),
                 "K = 0"));
}
