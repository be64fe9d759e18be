// seeding/choose_lift.hpp: a centre and a constant from the data.
#include <algorithm>
#include <cmath>
#include <gasg21/data/views.hpp>
#include <gasg21/seeding/choose_lift.hpp>

#include "support.hpp"

using gasg21::choose_lift;
using gasg21::DenseView;
using gasg21::Lift;
using support::gaussian;
using support::quiet_nan;
using support::Random;

TEST_CASE("the constant is a tenth of the typical distance from the centre") {
  Random random(1);
  for (const double missing : {0.0, 0.4}) {
    arma::mat X = 3 * gaussian<double>(100, 500, random);
    X += 50;
    for (double& entry : X)
      if (random.uniform() < missing) entry = quiet_nan<double>;
    const Lift<double> lift = choose_lift<double>(DenseView<double>(X));
    CHECK(arma::abs(lift.centre - 50).max() < 1.5);
    CHECK(lift.constant == doctest::Approx(0.1 * 3 * 10).epsilon(0.05));
    CHECK(gasg21::offset_ratio<double>(DenseView<double>(X)) ==
          doctest::Approx(50.0 / 3).epsilon(0.1));
  }
}

TEST_CASE("samples that are all alike have no spread, and a constant nevertheless") {
  const arma::mat X(6, 30, arma::fill::value(2.0));
  const Lift<double> lift = choose_lift<double>(DenseView<double>(X));
  CHECK(lift.constant == 1);
  CHECK(gasg21::offset_ratio<double>(DenseView<double>(X)) == 0);  // no spread to compare with
}

TEST_CASE("the scale of the data does not matter") {
  Random random(2);
  const arma::mat X = gaussian<double>(20, 100, random) + 1;
  const Lift<double> lift = choose_lift<double>(DenseView<double>(X));
  for (const double scale : {0x1p-900, 0x1p900}) {
    const arma::mat Y = X * scale;
    const Lift<double> scaled = choose_lift<double>(DenseView<double>(Y));
    CHECK(scaled.constant == lift.constant * scale);
    CHECK(gasg21::offset_ratio<double>(DenseView<double>(Y)) ==
          gasg21::offset_ratio<double>(DenseView<double>(X)));
  }
}

TEST_CASE("the lift of a union keeps parallel flats apart") {
  // Two parallel lines at -p and p: the lifted flats differ by the angle between (-p, c) and (p,
  // c).
  Random random(5);
  arma::mat X = gaussian<double>(30, 600, random);
  X.rows(2, 29) *= 0.01;
  X.row(0) *= 0.5;
  for (arma::uword j = 0; j < X.n_cols; ++j) X(1, j) = j % 2 == 0 ? 1 : -1;
  const auto angle = [&](double share) {
    const Lift<double> lift = choose_lift<double>(DenseView<double>(X), share);
    const double up = lift.constant, across = 1;
    return std::min(2 * std::atan2(across, up), arma::datum::pi - 2 * std::atan2(across, up));
  };
  CHECK(angle(gasg21::constant_share_of_union) > 0.9);
  CHECK(angle(gasg21::constant_share(true)) < 0.3);
}
