// data/medians.hpp: the median of each coordinate.
#include <gasg21/data/medians.hpp>

#include "support.hpp"

using gasg21::coordinate_medians;
using gasg21::DenseView;
using support::quiet_nan;

TEST_CASE("each coordinate has its own median, without what is missing") {
  const double nan = quiet_nan<double>;
  const arma::mat X = {{1, 2, nan, 9, 3}, {-1, -1, 4, 5, 6}, {nan, nan, nan, nan, nan}};
  const arma::vec centre = coordinate_medians<double>(DenseView<double>(X));
  CHECK(centre[0] == 2.5);
  CHECK(centre[1] == 4);
  CHECK(centre[2] == 0);  // never observed
}

TEST_CASE("samples with an infinite entry do not count") {
  const double inf = arma::datum::inf;
  const arma::mat X = {{1, 2, 3, 100, 100}, {1, 2, 3, inf, -inf}};
  const arma::vec centre = coordinate_medians<double>(DenseView<double>(X));
  CHECK(centre[0] == 2);
  CHECK(centre[1] == 2);
}

TEST_CASE("more coordinates than are read at once") {
  support::Random random(1);
  const arma::mat X = support::gaussian<double>(150, 21, random);
  const arma::vec centre = coordinate_medians<double>(DenseView<double>(X));
  CHECK(support::distance(arma::mat(centre), arma::mat(arma::median(X, 1))) == 0);
}
