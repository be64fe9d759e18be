// data/lift.hpp: a lifted view has the entries of the lifted data, whatever the layout.
#include <cstdint>
#include <gasg21/data/lift.hpp>
#include <gasg21/data/observation.hpp>
#include <gasg21/data/views.hpp>
#include <vector>

#include "sparse_support.hpp"

using gasg21::AnyView;
using gasg21::DenseView;
using gasg21::HeldOut;
using gasg21::Lift;
using gasg21::lifted;
using gasg21::Observation;
using gasg21::SparseView;
using gasg21::Usable;
using support::Compressed;
using support::quiet_nan;
using support::Random;
using support::uword;

namespace {

constexpr uword n = 40, m = 12;

arma::mat data(double missing, std::uint64_t seed) {
  Random random(seed);
  arma::mat X = support::gaussian<double>(n, m, random);
  for (double& entry : X)
    if (random.uniform() < missing) entry = quiet_nan<double>;
  return X;
}

Lift<double> some_lift(double constant) {
  Random random(7);
  return {support::gaussian<double>(n, random), constant};
}

/// The lifted data as a matrix.
arma::mat by_hand(const arma::mat& X, const Lift<double>& lift) {
  arma::mat Y = X.each_col() - lift.centre;
  if (lift.n_appended() > 0)
    Y = arma::join_cols(Y, lift.constant * arma::rowvec(X.n_cols, arma::fill::ones));
  return Y;
}

template <class View>
void check_view(const View& view, const arma::mat& expected) {
  REQUIRE(view.n_rows == expected.n_rows);
  for (uword j = 0; j < m; ++j) {
    const arma::vec want = expected.col(j);
    for (const uword width : {1u, 9u, 41u}) {
      arma::vec got(want.n_elem);
      got.fill(quiet_nan<double>);
      for (uword from = 0; from < want.n_elem; from += width)
        gasg21::each_entry(view.sample(j), from, std::min<uword>(want.n_elem, from + width),
                           [&](uword i, double value, bool observed) {
                             if (observed) got[i] = value;
                           });
      REQUIRE(support::same_bits<double>(got, want));
    }
    Observation<double> a(want.n_elem), b(want.n_elem);
    REQUIRE(a.read(view.sample(j)) == b.read(gasg21::DenseSample<double>{want.memptr()}));
    REQUIRE(a.count() == b.count());
    for (uword k = 0; k < a.count(); ++k) {
      REQUIRE(a.rows()[k] == b.rows()[k]);
      REQUIRE(a.values()[k] == b.values()[k]);
    }
  }
}

}  // namespace

TEST_CASE("a lifted view has the centred entries and the constant") {
  for (const double constant : {0.0, 0.5})
    for (const double missing : {0.0, 0.5, 0.9}) {
      const arma::mat X = data(missing, 1);
      const Lift<double> lift = some_lift(constant);
      const arma::mat expected = by_hand(X, lift);
      check_view(lifted(DenseView<double>(X), lift), expected);
      check_view(lifted(AnyView<double>(DenseView<double>(X)), lift), expected);
      const Compressed<double, std::int32_t> sparse(X);
      check_view(lifted(sparse.view(), lift), expected);
      check_view(lifted(AnyView<double>(sparse.view()), lift), expected);
    }
}

TEST_CASE("a mask hides entries of a lifted view, but never the constant") {
  const arma::mat X = data(0, 2);
  const Lift<double> lift = some_lift(0.5);
  Random random(3);
  std::vector<unsigned char> mask(n * m);
  arma::mat Y = by_hand(X, lift);
  for (uword j = 0; j < m; ++j)
    for (uword i = 0; i < n; ++i) {
      mask[j * n + i] = random.uniform() < 0.5;
      if (!mask[j * n + i]) Y(i, j) = quiet_nan<double>;
    }
  DenseView<double> view(X);
  view.mask = mask.data();
  view.mask_stride = n;
  check_view(lifted(view, lift), Y);
}

TEST_CASE("entries that are not stored can be zero: then they are centred, too") {
  arma::mat X = data(0.6, 4);
  const Compressed<double, std::int64_t> sparse(X);
  X.replace(arma::datum::nan, 0.0);
  auto view = sparse.view();
  view.rest_is_zero = true;
  const Lift<double> lift = some_lift(0.25);
  check_view(lifted(view, lift), by_hand(X, lift));
}

TEST_CASE("held-out entries of a lifted view are missing") {
  const arma::mat X = data(0.2, 5);
  const Lift<double> lift = some_lift(0.5);
  HeldOut held_out;
  held_out.rows[3] = {0, 17};
  arma::mat Y = by_hand(X, lift);
  Y(0, 3) = Y(17, 3) = quiet_nan<double>;
  check_view(gasg21::without(lifted(DenseView<double>(X), lift), held_out), Y);
}

TEST_CASE("a sample without observed entries stays one, although it has the constant") {
  arma::mat X(n, 1);
  X.fill(quiet_nan<double>);
  const Lift<double> lift = some_lift(0.5);
  Observation<double> x(n + 1);
  CHECK(x.read(lifted(DenseView<double>(X), lift).sample(0)) == Usable::all_missing);
  const Compressed<double, std::int32_t> sparse(X);
  CHECK(x.read(lifted(sparse.view(), lift).sample(0)) == Usable::all_missing);
}

TEST_CASE("the rows that hold data are those without the constant") {
  const arma::mat X = data(0, 6);
  const Lift<double> lift = some_lift(0.5);
  CHECK(gasg21::data_rows(DenseView<double>(X)) == n);
  CHECK(gasg21::data_rows(lifted(DenseView<double>(X), lift)) == n);
  const auto view = lifted(DenseView<double>(X), lift);
  CHECK(gasg21::data_rows(gasg21::about(view, 5)) == n);
}

TEST_CASE("a lift of another size is refused") {
  const arma::mat X = data(0, 6);
  const Lift<double> lift = some_lift(0.5);
  Observation<double> x(n);
  CHECK_THROWS_AS(x.read(lifted(DenseView<double>(X), lift).sample(0)), std::invalid_argument);
}
