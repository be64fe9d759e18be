// inliers/mixture.hpp: the share and the scatter of the inliers among random directions.
#include <cmath>
#include <gasg21/inliers/mixture.hpp>
#include <vector>

#include "fitted_support.hpp"

using gasg21::Mixture;
using support::FitsOptions;
using support::made_fits;
using support::uword;

TEST_CASE("the mixture finds the share of the inliers and their noise") {
  for (const uword outliers : {100u, 400u, 1600u}) {
    CAPTURE(outliers);
    FitsOptions options;
    options.outliers = outliers;
    const gasg21::Fitted fitted = made_fits(options, outliers);
    auto fits = gasg21::to_weigh(fitted);
    const Mixture found = gasg21::fit_mixture(fits, options.n);
    CHECK(std::abs(found.share() - 400.0 / (400.0 + double(outliers))) < 0.01);
    const arma::mat& C = found.scatter().C;  // determined up to a factor that s shares
    CHECK(std::abs(std::sqrt(found.scatter().s * 3 / arma::trace(C)) - 0.05) < 0.005);
    const arma::vec odds = found.log_odds(fits);
    uword wrong = 0;
    for (uword j = 0; j < odds.n_elem; ++j) wrong += (odds[j] > 0) != (j < 400);
    CHECK(wrong <= 4);
  }
}

TEST_CASE("the odds do not depend on the scale of the scatter") {
  const gasg21::Scatter scatter(arma::mat{{2, 0.5}, {0.5, 1}}, 0.01);
  const Mixture one({scatter.C, scatter.s}, 0.7, 20),
      other({7 * scatter.C, 7 * scatter.s}, 0.7, 20);
  CHECK(std::abs(one.log_odds(0.3, 15) - other.log_odds(7 * 0.3, 15)) < 1e-12);
}

TEST_CASE("the odds are the ratio of the two densities on the sphere, in the plane") {
  // n = N = 2, d = 1: the angular Gaussian density over the uniform one is
  // |S|^(-1/2) (x'S^-1 x)^-1 with S = diag(C, s).
  const Mixture mixture({arma::mat(1, 1).fill(4), 0.25}, 0.5, 2);
  const double w2 = 0.36, r2 = 0.64, q = w2 / 4 + r2 / 0.25;
  CHECK(std::abs(mixture.log_odds(1 / q, 2) - std::log(1 / std::sqrt(4 * 0.25) / q)) < 1e-12);
}

TEST_CASE("inliers are lost where the noise is large") {
  FitsOptions options;
  options.n = 10;
  const gasg21::Fitted fitted = made_fits(options, 1);
  const auto fits = gasg21::to_weigh(fitted);
  const arma::mat C(3, 3, arma::fill::eye);
  CHECK(Mixture({C, 1e-4}, 0.9, 10).lost_inliers(fits) == 0);
  const double lost = Mixture({C, 0.3}, 0.5, 10).lost_inliers(fits);
  CHECK(lost > 0.1);
  CHECK(lost == Mixture({C, 0.3}, 0.5, 10).lost_inliers(fits));
}

TEST_CASE("random directions are near their law, inliers are not") {
  FitsOptions options;
  options.outliers = 400;
  const gasg21::Fitted fitted = made_fits(options, 2);
  std::vector<uword> inliers, outliers;
  for (uword j = 0; j < 800; ++j) (j < 400 ? inliers : outliers).push_back(j);
  CHECK(gasg21::distance_from_random(fitted, outliers) < 1.63 / 20);
  CHECK(gasg21::distance_from_random(fitted, inliers) > 0.9);
}
