// union/one_subspace.hpp: a robust fit of one subspace or flat to dense samples.
#include <gasg21/geometry/products.hpp>
#include <gasg21/union/fit_one_subspace.hpp>
#include <gasg21/union/one_subspace.hpp>
#include <vector>

#include "union_support.hpp"

using gasg21::fit_one_flat;
using gasg21::fit_one_subspace;
using gasg21::largest_angle;
using gasg21::OneFlat;
using gasg21::OneSubspace;
using gasg21::Parallel;
using gasg21::Start;
using support::Random;
using support::uword;

namespace {

/// Samples of one subspace among outliers.
support::Union<double> one(double missing, double noise = 0) {
  return {40, {3}, 200, 100, missing, noise, 11};
}

}  // namespace

TEST_CASE("a subspace is found among outliers, with and without missing entries") {
  for (const double missing : {0.0, 0.4})
    for (const Start start : {Start::random, Start::spherical_pca}) {
      const auto given = one(missing);
      const OneSubspace found = fit_one_subspace(given.X, 3, {start, 1e-6, 20, 1});
      CHECK(largest_angle(found.basis, given.truth[0]) < 1e-6);
      const std::vector<bool> outlier = found.is_outlier(given.X);
      for (uword j = 0; j < given.X.n_cols; ++j) CHECK(outlier[j] == (given.labels[j] == 1));
    }
}

TEST_CASE("missing entries of members are filled in, observed ones kept") {
  auto given = one(0.3);
  const arma::mat before = given.X;
  given.X.col(0).fill(support::quiet_nan<double>);
  const OneSubspace found = fit_one_subspace(before, 3, {});
  found.complete(given.X);
  CHECK(given.X.col(0).has_nan());
  const arma::mat& U = given.truth[0];
  for (uword j = 1; j < given.X.n_cols; ++j) {
    if (given.labels[j] != 0) continue;
    const arma::vec x = given.X.col(j);
    CHECK(arma::norm(x - U * (U.t() * x)) < 1e-6 * arma::norm(x));  // the tolerance of the fit
    for (uword i = 0; i < 40; ++i)
      if (!std::isnan(before(i, j))) CHECK(x[i] == before(i, j));
  }
}

TEST_CASE("what tells nothing is an outlier") {
  auto given = one(0);
  const OneSubspace found = fit_one_subspace(given.X, 3, {});
  arma::mat X(40, 3, arma::fill::zeros);
  X.col(1).fill(support::quiet_nan<double>);
  X.col(2) = given.truth[0].col(0);
  CHECK(found.is_outlier(X) == std::vector<bool>{true, true, false});
  CHECK(found.residuals(X)[0] == 1);
}

TEST_CASE("the bound follows the number of observed entries") {
  const auto given = one(0.5);
  const OneSubspace found = fit_one_subspace(given.X, 3, {});
  CHECK(found.bound == doctest::Approx(gasg21::near_bound(20, 3)).epsilon(0.02));
}

TEST_CASE("a flat far from the origin is found among outliers") {
  Random random(3);
  const arma::mat D = gasg21::random_basis<double>(20, 2, random);
  const arma::vec centre = 50 * support::gaussian<double>(20, random);
  arma::mat X = D * support::gaussian<double>(2, 150, random);
  X.each_col() += centre;
  for (uword j = 0; j < 50; ++j) X.col(3 * j) = centre + 3 * support::gaussian<double>(20, random);
  const OneFlat found = fit_one_flat(X, 2, {});
  CHECK(largest_angle(found.directions, D) < 1e-6);
  const arma::vec off = found.point - centre;
  CHECK(arma::norm(off - D * (D.t() * off)) < 1e-6);
}

TEST_CASE("the number of threads does not matter, and a fit can be stopped") {
  const auto given = one(0.2, 1e-3);
  const OneSubspace a = fit_one_subspace(given.X, 3, {}, Parallel(1));
  const OneSubspace b = fit_one_subspace(given.X, 3, {}, Parallel(3));
  CHECK(support::same_bits(a.basis, b.basis));
  CHECK_THROWS_AS(fit_one_subspace(given.X, 3, {}, Parallel(1, [] { return true; })),
                  gasg21::Stopped);
}
