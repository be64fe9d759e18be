// inliers/axes.hpp: the basis in which the inliers are uncorrelated.
#include <gasg21/inliers/axes.hpp>

#include "support.hpp"

using gasg21::Lift;
using gasg21::PrincipalAxes;
using support::gaussian;
using support::Random;
using support::uword;

TEST_CASE("axes diagonalise the covariance, strongest first, with fixed signs") {
  Random random(1);
  const arma::mat U = gasg21::random_basis<double>(20, 3, random);
  const arma::mat A = gaussian<double>(3, 3, random);
  const arma::mat covariance = A * A.t();
  const PrincipalAxes<double> axes =
      gasg21::principal_axes<double>(U, nullptr, arma::vec(3, arma::fill::zeros), covariance);
  const arma::mat V = U.t() * axes.components;
  CHECK(arma::abs(V.t() * V - arma::eye(3, 3)).max() < 1e-13);
  const arma::mat rotated = V.t() * covariance * V;
  CHECK(arma::abs(rotated - arma::diagmat(axes.explained_variance)).max() < 1e-12);
  CHECK(axes.explained_variance.is_sorted("descend"));
  CHECK(arma::abs(axes.mean).max() == 0);
  for (uword c = 0; c < 3; ++c) {
    const arma::vec column = axes.components.col(c);
    CHECK(column[arma::index_max(arma::abs(column))] > 0);
  }
}

TEST_CASE("the mean of an affine subspace is that of its inliers") {
  Random random(2);
  const uword n = 25, d = 2;
  const arma::mat V = gasg21::random_basis<double>(n, d, random);
  const arma::vec origin = 4 * gaussian<double>(n, random);
  const Lift<double> lift{gaussian<double>(n, random), 0.3};
  arma::mat points = V * gaussian<double>(d, 40, random);
  points.each_col() += origin;
  const arma::mat lifted =
      arma::join_cols(points.each_col() - lift.centre, 0.3 * arma::rowvec(40, arma::fill::ones));
  const arma::mat U = gasg21::thin_svd(lifted).P.eval().head_cols(d + 1);
  const arma::mat weights = gasg21::to_subspace(U, &lift).t() * (U.t() * lifted);
  const PrincipalAxes<double> axes = gasg21::principal_axes<double>(
      U, &lift, arma::vec(arma::mean(weights, 1)), arma::cov(weights.t()));
  CHECK(arma::norm(axes.mean - arma::mean(points, 1)) < 1e-12);
  CHECK(gasg21::largest_angle(V, axes.components) < 1e-13);
}

TEST_CASE("the leading axes that hold a share of the variance") {
  const arma::vec variance{6, 3, 1};
  CHECK(gasg21::dimension_of_share(variance, 0.5) == 1);
  CHECK(gasg21::dimension_of_share(variance, 0.6) == 1);
  CHECK(gasg21::dimension_of_share(variance, 0.61) == 2);
  CHECK(gasg21::dimension_of_share(variance, 0.95) == 3);
  CHECK(gasg21::dimension_of_share(arma::vec(3, arma::fill::zeros), 0.5) == 3);
  CHECK(gasg21::dimension_of_share(arma::vec{1, support::quiet_nan<double>}, 0.5) == 2);
}
