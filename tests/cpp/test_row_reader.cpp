// inliers/row_reader.hpp: single samples are answered as many are.
#include <gasg21/inliers/row_reader.hpp>
#include <gasg21/recover.hpp>

#include "support.hpp"

using gasg21::Completer;
using gasg21::DenseSample;
using gasg21::DenseView;
using gasg21::Fitted;
using gasg21::Parallel;
using gasg21::RowReader;
using gasg21::Subspace;
using support::gaussian;
using support::quiet_nan;
using support::Random;
using support::uword;

namespace {

constexpr uword n = 30, d = 3, m = 400;

/// Noisy samples with gaps about an offset; a zero vector, an empty one, and one with few entries.
template <class T>
arma::Mat<T> samples(double offset) {
  Random random(1);
  const arma::mat V = gasg21::random_basis<double>(n, d, random);
  const arma::vec mean = offset * gaussian<double>(n, random);
  arma::mat X(n, m);
  for (uword j = 0; j < m; ++j) {
    X.col(j) = mean + V * gaussian<double>(d, random) + 0.01 * gaussian<double>(n, random);
    if (j % 4 == 0) X.col(j) = mean + gaussian<double>(n, random);
    for (uword i = 0; i < n; ++i)
      if (random.uniform() < 0.2) X(i, j) = quiet_nan<double>;
  }
  X.col(5).zeros();
  X.col(6).fill(quiet_nan<double>);
  X.submat(2, 7, n - 1, 7).fill(quiet_nan<double>);
  return arma::conv_to<arma::Mat<T>>::from(X);
}

/// Equal, or both NaN.
bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

TEST_CASE_TEMPLATE("a reader answers each sample as the loops over many do, bit for bit", T, double,
                   float) {
  for (const bool center : {false, true}) {
    const arma::Mat<T> X = samples<T>(center ? 5 : 0);
    gasg21::RecoverOptions options;
    options.center = center;
    const Subspace<T> subspace = gasg21::recover(X, d, options).subspace;
    const auto* lift = subspace.lift().get();
    REQUIRE((lift != nullptr) == center);
    const DenseView<T> plain(X), view = lift ? gasg21::lifted(plain, *lift) : plain;
    const Fitted fits = gasg21::fit_all(subspace.basis(), view, Parallel());
    const arma::vec decision = subspace.decision_function(fits);
    const arma::mat distances = subspace.distances(fits);
    const gasg21::Lift<T> about_mean{subspace.axes().mean, T(0)};
    RowReader<T> reader(subspace);
    for (uword j = 0; j < m; ++j) {
      gasg21::Projector<T> in_basis(subspace.basis()), in_axes(subspace.axes().components);
      in_basis.read(view.sample(j));
      in_axes.read(lift ? gasg21::lifted(plain, about_mean).sample(j) : plain.sample(j));
      arma::Col<T> expected(d), found(d);
      in_axes.weights(expected.memptr());
      reader.weights(plain.sample(j), found.memptr());
      double pair[2];
      reader.distances(plain.sample(j), pair);
      bool equal =
          same(double(reader.residual(plain.sample(j), false)), double(in_basis.residual()));
      for (uword c = 0; c < d; ++c) equal &= same(double(found[c]), double(expected[c]));
      equal &= same(reader.decision(plain.sample(j)), decision[j]);
      equal &= same(pair[0], distances(0, j)) && same(pair[1], distances(1, j));
      CHECK(equal);
    }
    CHECK(std::isnan(reader.residual(plain.sample(6), false)));
    if (!center) {  // a lifted vector of zeros is not zero
      CHECK(reader.residual(plain.sample(5), false) == 0);
      CHECK(std::isnan(reader.residual(plain.sample(5), true)));
    }
  }
}

TEST_CASE("a reader completes samples as the completer does, with a mask and with a lift") {
  for (const bool center : {false, true}) {
    const arma::mat X = samples<double>(center ? 5 : 0);
    gasg21::RecoverOptions options;
    options.center = center;
    const Subspace<double> subspace = gasg21::recover(X, d, options).subspace;
    const auto* lift = subspace.lift().get();
    RowReader<double> reader(subspace);
    Completer<double> completer(subspace.basis(), subspace.prior(), subspace.range());
    for (uword j = 0; j < 50; ++j) {
      std::vector<unsigned char> mask(n, 1);
      mask[j % n] = 0;
      const DenseSample<double> row{X.colptr(j), mask.data()};
      arma::vec expected = X.col(j), found(n);
      completer.read(DenseSample<double>{X.colptr(j), mask.data(), nullptr, lift});
      completer.fill_missing(expected.memptr(), n, lift ? lift->centre.memptr() : nullptr);
      if (j == 6) {
        CHECK(!reader.complete(row, found.memptr()));  // nothing is observed
        continue;
      }
      CHECK(reader.complete(row, found.memptr()));
      CHECK(arma::approx_equal(found, expected, "absdiff", 0));
      CHECK(found.is_finite());
    }
  }
}

TEST_CASE("a reader does not complete where the fit has never observed a coordinate") {
  arma::mat X = samples<double>(0);
  X.row(4).fill(quiet_nan<double>);
  const Subspace<double> subspace = gasg21::recover(X, d, {}).subspace;
  arma::vec out(n);
  CHECK(!RowReader<double>(subspace).complete(DenseSample<double>{X.colptr(0)}, out.memptr()));
}
