// inliers/decision.hpp: outliers are found, inliers pass, and the sign of the margin is the
// verdict.
#include <cmath>
#include <gasg21/inliers/decision.hpp>

#include "fitted_support.hpp"

using gasg21::decide;
using gasg21::Decision;
using gasg21::Fitted;
using support::FitsOptions;
using support::made_fits;
using support::quiet_nan;
using support::uword;

namespace {

/// Inliers and outliers (after the first `inliers`) that are flagged.
struct Flags {
  uword inliers = 0, outliers = 0;
  Flags(const arma::vec& margins, uword n_inliers) {
    for (uword j = 0; j < margins.n_elem; ++j)
      if (margins[j] < 0) ++(j < n_inliers ? inliers : outliers);
  }
};

}  // namespace

TEST_CASE("clean fits pass") {
  for (const double noise : {1e-6, 0.05, 0.1})
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      CAPTURE(noise);
      FitsOptions options;
      options.noise = noise;
      const Fitted fitted = made_fits(options, seed);
      const Decision found = decide(fitted, 0);
      CHECK(Flags(found.margins(fitted, false), 400).inliers <= 4);
      CHECK_FALSE(found.believed);
      CHECK_FALSE(found.explains_too_little);
    }
}

TEST_CASE("random outliers are found by the mixture, also if they are short") {
  for (const double observed : {1.0, 0.6})
    for (const double length : {0.02, 0.25, 10.0}) {
      CAPTURE(length);
      CAPTURE(observed);
      FitsOptions options;
      options.outliers = 300;
      options.outlier = length;
      options.observed = observed;
      const Fitted fitted = made_fits(options, 7);
      const Decision found = decide(fitted, 0);
      const Flags flags(found.margins(fitted, false), 400);
      CHECK(found.believed);
      CHECK(flags.inliers <= 3);
      CHECK(flags.outliers >= 297);
      CHECK(found.n_inliers == double(700 - flags.inliers - flags.outliers));
      CHECK(std::abs(found.flagged - double(flags.inliers + flags.outliers) / 700) < 1e-12);
    }
}

TEST_CASE("outliers that do not look random are found by their residuals") {
  FitsOptions options;
  options.outliers = 60;
  Fitted fitted = made_fits(options, 8);
  for (uword j = 400; j < 460; ++j) {  // long and all alike, at a small angle
    fitted.r2[j] = 0.3;
    fitted.norm[j] = 4;
    fitted.W.col(j) = arma::vec{std::sqrt(0.7), 0, 0};
  }
  const Decision found = decide(fitted, 0);
  CHECK_FALSE(found.believed);
  const Flags flags(found.margins(fitted, false), 400);
  CHECK(flags.inliers <= 8);
  CHECK(flags.outliers == 60);
}

TEST_CASE("exact fits pass, whatever their rounding errors, and all else is an outlier") {
  FitsOptions options;
  options.outliers = 100;
  Fitted fitted = made_fits(options, 9);
  support::Random random(1);
  for (uword j = 0; j < 400; ++j) fitted.r2[j] = std::pow(10, -32 + 6 * random.uniform());
  fitted.r2[0] = 0;
  const Decision found = decide(fitted, 1e-12);
  CHECK(found.exact == 1e-12);
  const arma::vec margins = found.margins(fitted, false);
  CHECK(margins.is_finite());
  const Flags flags(margins, 400);
  CHECK(flags.inliers == 0);
  CHECK(flags.outliers == 100);
}

TEST_CASE("a few exact fits do not count") {
  FitsOptions options;
  Fitted fitted = made_fits(options, 10);
  for (uword j = 0; j < 6; ++j) fitted.r2[j] = 1e-30;
  CHECK(decide(fitted, 1e-12).exact == 0);
}

TEST_CASE("what tells nothing has no margin and changes nothing") {
  FitsOptions options;
  options.outliers = 100;
  const Fitted fitted = made_fits(options, 11);
  Fitted more = fitted;
  more.W.insert_cols(500, 3);
  more.W.cols(500, 502).fill(quiet_nan<double>);
  more.r2.insert_rows(500, 3);
  more.count.insert_rows(500, arma::vec{0, 3, 50});
  more.norm.insert_rows(500, arma::vec{1, 1, 0});
  const arma::vec margins = decide(fitted, 0).margins(fitted, false);
  const arma::vec with = decide(more, 0).margins(more, false);
  for (uword j = 0; j < 3; ++j) CHECK(std::isnan(with[500 + j]));
  CHECK(arma::abs(with.head(500) - margins).max() == 0);
}

TEST_CASE("samples that were not in the fit are allowed larger residuals") {
  FitsOptions options;
  options.inliers = 30;
  const Fitted fitted = made_fits(options, 12);
  const Decision found = decide(fitted, 0);
  const arma::vec more = found.margins(fitted, true) - found.margins(fitted, false);
  const double wanted = std::log((found.n_inliers + 3) / (found.n_inliers - 3));
  CHECK(arma::abs(more - wanted).max() < 1e-12);
}

TEST_CASE("the unit of the data shifts centre and cut, and no margin") {
  FitsOptions options;
  options.outliers = 100;
  Fitted fitted = made_fits(options, 13);
  const Decision one = decide(fitted, 0);
  const arma::vec margins = one.margins(fitted, false);
  fitted.norm *= 1000;
  const Decision other = decide(fitted, 0);
  CHECK(std::abs(other.centre - one.centre - 2 * std::log(1000)) < 1e-9);
  CHECK(arma::abs(other.margins(fitted, false) - margins).max() < 1e-9);
}

TEST_CASE("a fit that explains little says so") {
  FitsOptions options;
  options.noise = 1;
  CHECK(decide(made_fits(options, 14), 0).explains_too_little);
}

TEST_CASE("too few fits decide nothing: all pass") {
  FitsOptions options;
  options.inliers = 4;
  const Fitted fitted = made_fits(options, 15);
  const Decision found = decide(fitted, 0);
  CHECK(found.explains_too_little);
  CHECK(found.C.empty());
  CHECK(found.margins(fitted, true).min() == arma::datum::inf);
}

TEST_CASE("samples that are all orthogonal to the basis decide nothing") {
  Fitted fitted = made_fits({}, 17);
  fitted.W.zeros();
  fitted.r2.ones();
  CHECK(decide(fitted, 0).C.empty());
}

TEST_CASE("wrong arguments are refused") {
  Fitted fitted = made_fits({}, 16);
  const Decision found = decide(fitted, 0);
  CHECK_THROWS_AS(decide(fitted, -1), std::invalid_argument);
  CHECK_THROWS_AS(found.margins(made_fits({40}, 1), false), std::invalid_argument);
  fitted.r2.resize(3);
  CHECK_THROWS_AS(decide(fitted, 0), std::invalid_argument);
}

TEST_CASE("the residual of an exact fit") {
  CHECK(gasg21::exact_residual(1e-16, false, 0.1) == 1e3 * 1e-16);
  CHECK(gasg21::exact_residual(1e-16, true, 1e-9) == 10 * 1e-6);
  CHECK(gasg21::exact_residual(1e-16, true, 1e-4) == 10 * 1e-4);
}
