// inliers/held_out_score.hpp: one number for many errors, which outliers hardly change.
#include <cmath>
#include <gasg21/inliers/held_out_score.hpp>
#include <limits>
#include <vector>

#include "support.hpp"

using gasg21::held_out_score;

TEST_CASE("equal errors are their own mean") {
  CHECK(held_out_score({0.3, 0.3, 0.3}) == doctest::Approx(0.7));
  CHECK(held_out_score({0.3}) == doctest::Approx(0.7));
  CHECK(held_out_score({2.0, 2.0}) == doctest::Approx(-1.0));
}

TEST_CASE("the mean solves its equation") {
  support::Random random(1);
  std::vector<double> errors;
  for (int j = 0; j < 101; ++j) errors.push_back(std::abs(random.normal()));
  const double sigma = (1 - held_out_score(errors)) / 0.75;
  double sum = 0;
  for (const double e : errors) sum += std::min(e / sigma, 1.0);
  CHECK(sum / 101 == doctest::Approx(0.75));
}

TEST_CASE("outliers change nothing beyond their number") {
  std::vector<double> near(30, 0.1), far(30, 0.1);
  near.insert(near.end(), 30, 5.0);
  far.insert(far.end(), 30, 1e300);
  far.back() = std::numeric_limits<double>::infinity();
  CHECK(held_out_score(near) == held_out_score(far));
  CHECK(held_out_score(near) == doctest::Approx(1 - 0.75 * 0.1 / 0.5));
}

TEST_CASE("exact fits tie, also among 70 % outliers; NaN is left out") {
  std::vector<double> exact(30, 1e-30), nearly(30, 1e-16);
  for (auto* errors : {&exact, &nearly}) {
    errors->insert(errors->end(), 70, 1.3);
    errors->push_back(std::numeric_limits<double>::quiet_NaN());
  }
  nearly[40] = 0.9;
  CHECK(held_out_score(exact) == held_out_score(nearly));
  CHECK(held_out_score(exact) == doctest::Approx(1));
  CHECK(std::isnan(held_out_score({})));
  CHECK(std::isnan(held_out_score({std::numeric_limits<double>::quiet_NaN()})));
}

TEST_CASE("errors are relative to the distance from the medians") {
  support::Random random(2);
  arma::mat X = support::gaussian<double>(6, 31, random);
  X.each_col() += arma::vec{5, 4, 3, 2, 1, 0};
  const arma::vec reference = gasg21::score_reference<double>(gasg21::DenseView<double>(X));
  CHECK(support::distance(arma::mat(reference), arma::mat(arma::median(X, 1))) == 0);
}

TEST_CASE("a few samples have no medians, many are looked at in part") {
  const arma::mat few(3, 9, arma::fill::ones);
  CHECK(arma::all(gasg21::score_reference<double>(gasg21::DenseView<double>(few)) == 0));
  // 2^22 entries are looked at: here every second sample.
  arma::fmat many(1 << 12, 1 << 11, arma::fill::zeros);
  for (arma::uword j = 0; j < many.n_cols; ++j) many.col(j).fill(j % 2 == 0 ? 7.0f : -7.0f);
  CHECK(arma::all(gasg21::score_reference<float>(gasg21::DenseView<float>(many)) == 7));
}
