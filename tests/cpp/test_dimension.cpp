// recovery/dimension.hpp: the dimension that the data supports.
#include <cmath>
#include <gasg21/recovery/dimension.hpp>
#include <gasg21/seeding/choose_lift.hpp>

#include "polish_support.hpp"

using gasg21::choose_dimension;
using gasg21::DenseView;
using gasg21::DimensionOptions;
using gasg21::detail::last_useful;
using support::Problem;
using support::uword;

namespace {

uword chosen(const arma::mat& X, const DimensionOptions& options = {}) {
  gasg21::Unobserved nobody;
  return choose_dimension<double>(DenseView<double>(X), options, nobody);
}

}  // namespace

TEST_CASE("the last useful dimension brings more than a share of the whole drop") {
  CHECK(last_useful({0.0}, 0.05) == 1);
  CHECK(last_useful({0.0, -1.0}, 0.05) == 1);
  CHECK(last_useful({0.0, -1.0, -2.0, -3.0, -3.01}, 0.05) == 3);
  CHECK(last_useful({0.0, -0.1, -0.1, -5.0, -5.1}, 0.05) == 3);   // a late drop counts
  CHECK(last_useful({0.0, -1.0, -0.5, -0.9, -1.01}, 0.05) == 1);  // a rise and its return do not
  CHECK(last_useful({0.0, 0.5, 0.4}, 0.05) == 1);                 // no drop at all
  CHECK(last_useful({0.0, -1.0, -1.2}, 0.1) == 2);
  CHECK(last_useful({0.0, -1.0, -1.2}, 0.2) == 1);
}

TEST_CASE("the dimension of the inliers is found, with outliers, missing entries and noise") {
  for (const double noise : {0.0, 0.01})
    for (const uword d : {1u, 3u, 6u}) {
      CAPTURE(noise);
      CAPTURE(d);
      const Problem<double> p(50, 400, d, 0.3, 0.2, noise, d);
      CHECK(chosen(p.X) == d);
    }
}

TEST_CASE("there are no more dimensions than the data can have") {
  const Problem<double> p(5, 200, 4, 0, 0, 0.5, 1);
  CHECK(chosen(p.X) <= 4);
  const Problem<double> few(50, 3, 2, 0, 0, 0, 2);
  CHECK(chosen(few.X) <= 2);
  DimensionOptions options;
  options.most = 2;
  CHECK(chosen(Problem<double>(50, 400, 4, 0, 0, 0, 3).X, options) <= 2);
}

TEST_CASE("few observed entries carry few dimensions") {
  using gasg21::detail::carried;
  CHECK(carried(30, 30) == doctest::Approx(30));
  CHECK(carried(21, 30) == doctest::Approx(10.5));
  CHECK(carried(10, 1000) == doctest::Approx(5));
  // Nothing but noise: without the bound many dimensions would follow it.
  const Problem<double> noise(30, 400, 1, 1, 0.4, 0, 6);
  CHECK(chosen(noise.X) <= 9);
  const Problem<double> sparse(200, 2000, 3, 0.2, 0.9, 0, 7);
  CHECK(chosen(sparse.X) == 3);
}

TEST_CASE("the number of threads does not matter, nor do samples beyond those looked at") {
  const Problem<double> p(40, 300, 3, 0.3, 0.2, 0.01, 4);
  DimensionOptions options;
  options.n_threads = 3;
  CHECK(chosen(p.X, options) == 3);
  options.n_samples = 100;
  CHECK(chosen(p.X, options) == 3);
}

TEST_CASE("data without a usable sample has dimension 1, and one coordinate is refused") {
  CHECK(chosen(arma::mat(20, 30, arma::fill::zeros)) == 1);
  CHECK(support::contains(support::complaint([] { chosen(arma::mat(1, 5, arma::fill::ones)); }),
                          "at least 2"));
}

TEST_CASE("a poll of the observer stops the choice") {
  struct StopAfter : gasg21::Unobserved {
    int left = 0;
    bool poll() { return --left == 0; }
  };
  const Problem<double> p(40, 300, 3, 0.3, 0.2, 0.01, 5);
  for (const int polls : {1, 400, 700}) {
    StopAfter observer;
    observer.left = polls;
    CHECK_THROWS_AS(choose_dimension<double>(DenseView<double>(p.X), {}, observer),
                    gasg21::Stopped);
    CHECK(observer.left == 0);
  }
}

TEST_CASE("an affine subspace has one dimension less than its lifted samples, noisy or not") {
  for (const double noise : {0.0, 0.3}) {
    support::Random random(11);
    const arma::mat V = gasg21::random_basis<double>(40, 3, random);
    const arma::vec scale = {4, 2, 1.5};
    arma::mat X = V * (arma::diagmat(scale) * support::gaussian<double>(3, 500, random));
    X += noise * support::gaussian<double>(40, 500, random) + 7;
    const gasg21::DenseView<double> view(X);
    const gasg21::Lift<double> lift = gasg21::choose_lift<double>(view);
    gasg21::Unobserved nobody;
    CHECK(gasg21::choose_affine_dimension<double>(gasg21::lifted(view, lift), {}, nobody) == 3);
  }
}

TEST_CASE("so many axes that they have a share of the variance") {
  using gasg21::axes_with_share;
  const arma::vec variance = {6, 3, 1};
  CHECK(axes_with_share(variance, 0.5) == 1);
  CHECK(axes_with_share(variance, 0.6) == 1);
  CHECK(axes_with_share(variance, 0.61) == 2);
  CHECK(axes_with_share(variance, 0.95) == 3);
  CHECK(axes_with_share({0, 0}, 0.5) == 2);  // nothing is known
  CHECK(axes_with_share({1, arma::datum::nan}, 0.5) == 2);
}
