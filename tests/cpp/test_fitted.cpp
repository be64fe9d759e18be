// inliers/fitted.hpp: fits of samples without the data, and those of the last samples of a stream.
#include <gasg21/data/views.hpp>
#include <gasg21/fit/projector.hpp>
#include <gasg21/inliers/fitted.hpp>
#include <vector>

#include "support.hpp"

using gasg21::DenseView;
using gasg21::Fitted;
using gasg21::Parallel;
using gasg21::RecentFits;
using support::quiet_nan;
using support::Random;
using support::Stream;
using support::uword;

namespace {

arma::mat samples(Stream<double>& stream, uword count) {
  arma::mat X(stream.truth.n_rows, count);
  for (uword j = 0; j < count; ++j) X.col(j) = stream.next();
  return X;
}

}  // namespace

TEST_CASE("fits have the weights, residuals and lengths of the projector") {
  Stream<double> stream(30, 3, 0.3, 0.4, 1);
  arma::mat X = samples(stream, 60) * 7.0;
  X.col(5).fill(quiet_nan<double>);
  X.col(6).zeros();
  const Fitted fits = gasg21::fit_all(stream.truth, DenseView<double>(X), Parallel());
  REQUIRE(fits.size() == 60);
  CHECK_FALSE(gasg21::tells(fits, 5));
  CHECK_FALSE(gasg21::tells(fits, 6));
  gasg21::Projector<double> projector(stream.truth);
  for (uword j = 0; j < 60; ++j) {
    if (!gasg21::tells(fits, j)) continue;
    projector.read(gasg21::DenseSample<double>{X.colptr(j)});
    arma::vec w(3);
    projector.weights(w.memptr());
    CHECK(arma::norm(fits.W.col(j) * fits.norm[j] - w) < 1e-12 * arma::norm(w) + 1e-300);
    CHECK(std::sqrt(fits.r2[j]) == doctest::Approx(projector.residual()).epsilon(1e-9));
    const arma::vec x = X.col(j);
    const arma::vec seen = x.elem(arma::find_finite(x));
    CHECK(fits.count[j] == double(seen.n_elem));
    CHECK(fits.norm[j] == doctest::Approx(arma::norm(seen)).epsilon(1e-12));
  }
}

TEST_CASE("some samples stand for many, also where the data has a period") {
  Stream<double> good(20, 2, 0, 0, 2), bad(20, 2, 1, 0, 3);
  arma::mat X(20, 20000);
  for (uword j = 0; j < X.n_cols; ++j) X.col(j) = j % 2 ? good.next() : bad.next();
  const Fitted fits = gasg21::fit_some(good.truth, DenseView<double>(X), Parallel());
  CHECK(fits.size() <= 2100);
  const double near = double(arma::accu(fits.r2 < 1e-20)) / double(fits.size());
  CHECK(near == doctest::Approx(0.5).epsilon(0.1));
}

TEST_CASE("a stream keeps its last fits, and forgets the oldest") {
  RecentFits recent(2);
  for (uword j = 0; j < RecentFits::most + 10; ++j) {
    const double w[] = {double(j), 1};
    recent.add(w, 0.5, 7, 3);
  }
  const Fitted fits = recent.fitted(9);
  REQUIRE(fits.size() == RecentFits::most);
  CHECK(fits.n == 9);
  CHECK(fits.W.row(0).min() == 10);
  CHECK(fits.W.row(0).max() == double(RecentFits::most + 9));
  CHECK(fits.r2[0] == 0.25);
  CHECK(fits.count[0] == 7);
  CHECK(fits.norm[0] == 3);
}

TEST_CASE("recent fits resume") {
  RecentFits recent(2);
  const double w[] = {1, 2};
  for (int j = 0; j < 5; ++j) recent.add(w, 0.1 * j, 4, 1);
  RecentFits again = RecentFits::resumed(2, recent.values(), recent.next());
  recent.add(w, 0.9, 4, 1);
  again.add(w, 0.9, 4, 1);
  CHECK(recent.values() == again.values());
  CHECK_THROWS_AS(RecentFits::resumed(4, recent.values(), 0), std::invalid_argument);
  CHECK_THROWS_AS(RecentFits::resumed(2, {}, 3), std::invalid_argument);
}
