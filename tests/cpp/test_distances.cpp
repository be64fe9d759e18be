// inliers/distances.hpp: moments of the inliers, and distances that are about 1 for them.
#include <cmath>
#include <gasg21/inliers/distances.hpp>
#include <gasg21/support/median.hpp>

#include "fitted_support.hpp"

using gasg21::decide;
using gasg21::Distances;
using gasg21::Fitted;
using gasg21::learn_distances;
using support::FitsOptions;
using support::made_fits;
using support::uword;

namespace {

/// The weights of the samples in the data's units.
arma::mat weights(const Fitted& fitted) {
  arma::mat A = fitted.W;
  for (uword j = 0; j < A.n_cols; ++j) A.col(j) *= fitted.norm[j];
  return A;
}

double middle(const arma::rowvec& values) {
  return gasg21::median(std::vector<double>(values.begin(), values.end()));
}

}  // namespace

TEST_CASE("on clean data mean, covariance and noise are the plain ones") {
  const Fitted fitted = made_fits({}, 1);
  gasg21::Decision all;  // passes every sample
  all.n = fitted.n;
  const Distances found = learn_distances(fitted, all);
  const arma::mat A = weights(fitted);
  CHECK(arma::abs(found.centre - arma::mean(A, 1)).max() < 1e-12);
  CHECK(arma::abs(found.covariance - arma::cov(A.t())).max() < 1e-12);
  CHECK(std::abs(found.noise_variance - 0.0025) < 1e-4);
  CHECK(found.n_inliers == 400);
}

TEST_CASE("both distances are about 1 for inliers, and have the medians of their laws") {
  FitsOptions options;
  options.observed = 0.6;
  options.outliers = 200;
  const Fitted fitted = made_fits(options, 2);
  const auto decision = decide(fitted, 0);
  const Distances found = learn_distances(fitted, decision);
  const arma::mat pairs = found.pairs(fitted);
  const arma::vec margins = decision.margins(fitted, false);
  const arma::mat inliers = pairs.cols(arma::find(margins >= 0));
  CHECK(std::abs(3 * std::pow(middle(inliers.row(0)), 2) - 2.366) < 1e-2);
  CHECK(std::abs(27 * std::pow(middle(inliers.row(1)), 2) - 26.336) < 1e-1);
  CHECK(middle(pairs.row(1).cols(400, 599)) > 3);
}

TEST_CASE("leverage points do not move centre, covariance and distances") {
  FitsOptions options;
  Fitted fitted = made_fits(options, 3);
  const auto decision = decide(fitted, 0);
  const Distances before = learn_distances(fitted, decision);
  for (uword j = 0; j < 60; ++j) {  // far within the subspace, with the same residual
    const double r = std::sqrt(fitted.r2[j]) * fitted.norm[j];
    fitted.norm[j] = 100;
    fitted.r2[j] = r * r / 1e4;
    fitted.W.col(j) = arma::vec{1, 0, 0} * std::sqrt(1 - fitted.r2[j]);
  }
  const Distances after = learn_distances(fitted, decide(fitted, 0));
  CHECK(arma::abs(after.centre - before.centre).max() < 0.2);
  CHECK(arma::abs(after.covariance - before.covariance).max() < 0.3);
  const arma::mat pairs = after.pairs(fitted);
  CHECK(pairs.row(0).cols(0, 59).min() > 30);
  CHECK(pairs.row(0).cols(60, 399).max() < 4);
}

TEST_CASE("the distances do not depend on the axes of the basis") {
  const Fitted fitted = made_fits({}, 4);
  const auto decision = decide(fitted, 0);
  const arma::mat Q = {{0.6, -0.8, 0}, {0.8, 0.6, 0}, {0, 0, 1}};
  Fitted turned = fitted;
  turned.W = Q * fitted.W;
  const arma::mat pairs = learn_distances(fitted, decision).pairs(fitted);
  const arma::mat again = learn_distances(turned, decide(turned, 0)).pairs(turned);
  CHECK(arma::abs(pairs - again).max() < 1e-9);
}

TEST_CASE("a map turns the weights of a lifted fit into those of the flat") {
  const Fitted flat = made_fits({}, 5);
  Fitted lifted = flat;  // one more weight, the same constant for all in the data's units
  lifted.W.insert_rows(3, 1);
  for (uword j = 0; j < 400; ++j) {
    const double norm = std::sqrt(flat.norm[j] * flat.norm[j] + 4);
    lifted.W.col(j) *= flat.norm[j] / norm;
    lifted.W(3, j) = 2 / norm;
    lifted.r2[j] *= std::pow(flat.norm[j] / norm, 2);
    lifted.norm[j] = norm;
    lifted.count[j] = 51;
  }
  lifted.n = 51;
  const arma::mat R = arma::eye(4, 3);
  const Distances one = learn_distances(flat, decide(flat, 0));
  const Distances other = learn_distances(lifted, decide(lifted, 0), R);
  CHECK(one.n_inliers == other.n_inliers);
  CHECK(arma::abs(one.covariance - other.covariance).max() < 1e-9);
  CHECK(arma::abs(one.pairs(flat) - other.pairs(lifted)).max() < 1e-6);
}

TEST_CASE("degenerate fits: no inlier, weights that agree, exact fits") {
  Fitted fitted = made_fits({}, 6);
  gasg21::Decision none;
  none.cut = -arma::datum::inf;
  none.centre = -arma::datum::inf;
  const Distances nothing = learn_distances(fitted, none);
  CHECK(nothing.n_inliers == 0);
  CHECK(nothing.pairs(fitted).has_nan());
  for (uword j = 0; j < 400; ++j) fitted.W.col(j) = arma::vec{1, 0, 0};
  fitted.norm.ones();
  fitted.r2.zeros();
  const Distances found = learn_distances(fitted, decide(fitted, 1e-12));
  CHECK(found.pairs(fitted).is_finite());
  CHECK(found.pairs(fitted).max() == 0);
  CHECK(found.noise_variance == 0);
}

TEST_CASE("a map of another size is refused, and what tells nothing has no distance") {
  Fitted fitted = made_fits({}, 7);
  fitted.count[5] = 0;
  const auto decision = decide(fitted, 0);
  CHECK_THROWS_AS(learn_distances(fitted, decision, arma::eye(4, 3)), std::invalid_argument);
  const arma::mat pairs = learn_distances(fitted, decision).pairs(fitted);
  CHECK(std::isnan(pairs(0, 5)));
  CHECK(std::isnan(pairs(1, 5)));
  CHECK(arma::uvec(arma::find_nan(pairs)).n_elem == 2);
}
