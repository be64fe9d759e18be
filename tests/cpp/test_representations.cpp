// representations.hpp: labels of single representations, and the residuals of their clusters.
#include <gasg21/union/principal_coordinates.hpp>
#include <gasg21/union/representations.hpp>
#include <vector>

#include "support.hpp"
#include "union_samples.hpp"

using gasg21::Parallel;
using support::uword;

namespace {

/// By singular vectors, as the definition has it.
double literal_mean_residual(const arma::mat& A, const arma::uvec& labels, uword d) {
  double sum = 0;
  for (uword k = 0; k <= labels.max(); ++k) {
    const arma::mat own = A.cols(arma::find(labels == k));
    arma::mat U, V;
    arma::vec s;
    arma::svd_econ(U, s, V, own);
    const arma::mat rest = own - U.head_cols(d) * (U.head_cols(d).t() * own);
    sum += arma::accu(arma::sqrt(arma::sum(rest % rest, 0)));
  }
  return sum / double(A.n_cols);
}

}  // namespace

TEST_CASE("the mean residual equals the literal one, with few and with many members") {
  for (const uword per_cluster : {12u, 60u}) {
    const auto made = support::union_samples({30, 3, 2, per_cluster, 0.1, 1});
    const arma::mat A = gasg21::unit_columns(made.X);
    const double found = gasg21::mean_residual(arma::conv_to<arma::fmat>::from(A), made.labels,
                                               std::vector<uword>(3, 2));
    CHECK(found == doctest::Approx(literal_mean_residual(A, made.labels, 2)).epsilon(1e-4));
  }
}

TEST_CASE("the mean residual gives the larger dimension to the cluster that needs it") {
  support::Random random(2);
  arma::mat X(10, 40);
  const arma::mat line = gasg21::random_basis<double>(10, 1, random);
  const arma::mat space = gasg21::random_basis<double>(10, 3, random);
  arma::uvec labels(40);
  for (uword j = 0; j < 40; ++j) {
    labels[j] = j % 2;
    X.col(j) = j % 2 ? arma::vec(space * support::gaussian<double>(3, random)) : line.col(0);
  }
  const arma::fmat A = arma::conv_to<arma::fmat>::from(gasg21::unit_columns(X));
  CHECK(gasg21::mean_residual(A, labels, {3, 1}) < 1e-3);
}

TEST_CASE("streams and shape interaction find separated clusters") {
  const auto made = support::union_samples({30, 3, 2, 40, 0.02, 3});
  const gasg21::ClusterPlan plan{std::vector<uword>(3, 2), 1};
  const gasg21::PrincipalCoordinates principal(made.X, plan.dimensions);
  const arma::fmat points = principal.whitened<float>(24, 0.5);
  gasg21::StreamVoters voters("stream", points, plan, {}, 10, Parallel());
  const auto look = voters.look(Parallel()), stream = voters.finish(Parallel());
  CHECK(look.affinity.factor.empty());
  CHECK(gasg21::agreement_of(stream.labels, made.labels) == doctest::Approx(1));
  CHECK(stream.stability == doctest::Approx(1));
  const arma::fmat span = principal.whitened<float>(6, 0);
  const auto cuts = gasg21::interaction_representation("span", span, plan, {4, 6, 8}, Parallel());
  CHECK(gasg21::agreement_of(cuts.labels, made.labels) == doctest::Approx(1));
  for (const auto* each : {&stream, &cuts}) {
    const arma::mat& F = each->affinity.factor;
    const arma::mat W = F.t() * F;
    CHECK((arma::accu(W) - arma::trace(W)) / double(W.n_cols) == doctest::Approx(1));
  }
}
