// union/refit.hpp: each cluster fitted by itself.
#include <cmath>
#include <gasg21/seeding/choose_lift.hpp>
#include <gasg21/union/refit.hpp>
#include <vector>

#include "union_support.hpp"

using gasg21::DenseView;
using gasg21::fit_members;
using gasg21::largest_angle;
using gasg21::Parallel;
using gasg21::refit;
using gasg21::refit_in_data;
using gasg21::Refitted;
using gasg21::Status;
using gasg21::status_of_refit;
using support::Random;
using support::uword;

namespace {

std::vector<arma::mat> members_of(const support::Union<double>& given) {
  std::vector<arma::mat> members;
  for (uword k = 0; k < given.truth.size(); ++k)
    members.emplace_back(given.X.cols(arma::find(given.labels == k)));
  return members;
}

Refitted<double> anything_like(const support::Union<double>& given) {
  Random random(77);
  Refitted<double> start;
  for (const auto& U : given.truth)
    start.bases.push_back(gasg21::random_basis<double>(U.n_rows, U.n_cols, random));
  start.estimated_angles = arma::vec(given.truth.size(), arma::fill::value(arma::datum::pi / 2));
  return start;
}

}  // namespace

TEST_CASE("clusters are fitted to their members, whichever of them has which dimension") {
  const support::Union<double> given(30, {4, 2, 3}, 60, 0, 0.2, 1e-4, 1);
  auto members = members_of(given);
  std::swap(members[0], members[1]);
  Refitted<double> found = anything_like(given);
  refit(found, members, {});
  for (uword k = 0; k < 3; ++k) {
    CHECK(largest_angle(found.bases[k], given.truth[k]) < 1e-3);
    CHECK(found.estimated_angles[k] < 1e-3);
  }
  SUBCASE("for any number of threads") {
    Refitted<double> other = anything_like(given);
    refit(other, members, {}, Parallel(3));
    for (uword k = 0; k < 3; ++k) CHECK(support::same_bits(found.bases[k], other.bases[k]));
  }
  SUBCASE("unless they are stopped") {
    CHECK_THROWS_AS(refit(found, members, {}, Parallel(2, [] { return true; })), gasg21::Stopped);
  }
}

TEST_CASE("a cluster with too few members keeps its subspace") {
  const support::Union<double> given(30, {3, 3}, 40, 0, 0, 0, 2);
  auto members = members_of(given);
  members[1] = arma::mat(members[1].head_cols(4));
  Refitted<double> found = anything_like(given);
  const arma::mat before = found.bases[1];
  refit(found, members, {});
  CHECK(largest_angle(found.bases[0], given.truth[0]) < 1e-6);
  CHECK(support::same_bits(found.bases[1], before));
  CHECK(found.estimated_angles[1] == arma::datum::pi / 2);
}

TEST_CASE("few members in many coordinates get their principal axes") {
  const support::Union<double> given(80, {3}, 20, 0, 0, 1e-3, 3);
  const auto found = fit_members(given.X, 3, {});
  REQUIRE(found);
  CHECK(std::isnan(found->estimated_angle));
  arma::mat U, V;
  arma::vec s;
  REQUIRE(arma::svd_econ(U, s, V, arma::mat(arma::normalise(given.X))));
  CHECK(largest_angle(found->basis, arma::mat(U.head_cols(3))) < 1e-7);
  CHECK_FALSE(fit_members(arma::mat(given.X.head_cols(4)), 3, {}));
}

TEST_CASE_TEMPLATE("clusters are fitted in the data by their labels", T, float, double) {
  const support::Union<T> given(30, {2, 3}, 60, 20, 0.2, 1e-3, 4);
  Refitted<T> found{given.truth, arma::vec(2, arma::fill::value(arma::datum::pi / 2))};
  Random random(1);
  for (auto& U : found.bases) U = gasg21::random_basis<T>(30, U.n_cols, random);
  refit_in_data<T>(found, DenseView<T>(given.X), given.labels, nullptr, {});
  for (uword k = 0; k < 2; ++k) CHECK(largest_angle(found.bases[k], given.truth[k]) < 5e-3);
}

TEST_CASE("flats are fitted to the samples before the lift") {
  Random random(5);
  arma::mat X;
  std::vector<arma::mat> directions;
  std::vector<arma::vec> points;
  arma::uvec labels(160);
  for (uword k = 0; k < 2; ++k) {
    directions.push_back(gasg21::random_basis<double>(20, 2, random));
    points.emplace_back(3 * support::gaussian<double>(20, random));
    arma::mat own = directions[k] * support::gaussian<double>(2, 80, random);
    own.each_col() += points[k];
    X = arma::join_rows(X, own);
    labels.subvec(80 * k, 80 * k + 79).fill(k);
  }
  const DenseView<double> data(X);
  const auto lift = gasg21::choose_lift<double>(data);
  Refitted<double> found{
      {gasg21::random_basis<double>(21, 3, random), gasg21::random_basis<double>(21, 3, random)},
      arma::vec(2, arma::fill::value(arma::datum::pi / 2))};
  refit_in_data<double>(found, data, labels, &lift, {});
  for (uword k = 0; k < 2; ++k) {
    const arma::mat& U = found.bases[k];
    arma::vec lifted =
        arma::join_cols(arma::vec(points[k] - lift.centre), arma::vec{lift.constant});
    CHECK(arma::norm(lifted - U * (U.t() * lifted)) < 1e-6 * arma::norm(lifted));
    const arma::mat level = arma::join_cols(directions[k], arma::mat(1, 2, arma::fill::zeros));
    CHECK(arma::norm(level - U * (U.t() * level)) < 1e-6);
  }
}

TEST_CASE("a refit that is determined mends the status of a run that was not") {
  const double nan = support::quiet_nan<double>;
  arma::vec angles{1e-3, 2e-2};
  CHECK(status_of_refit<double>(Status::undetermined, angles, 1e-6) == Status::noise_floor);
  CHECK(status_of_refit<double>(Status::converged, angles, 1e-6) == Status::converged);
  angles = {1e-3, 1.0, nan};
  CHECK(status_of_refit<double>(Status::max_passes, angles, 1e-6) == Status::undetermined);
  CHECK(angles[2] == arma::datum::pi / 2);
  angles = {1e-3, nan};
  CHECK(status_of_refit<double>(Status::noise_floor, angles, 1e-6) == Status::noise_floor);
  angles = {nan, nan};
  CHECK(status_of_refit<double>(Status::undetermined, angles, 1e-6) == Status::noise_floor);
  CHECK(status_of_refit<double>(Status::interrupted, angles, 1e-6) == Status::interrupted);
}
