// inliers/weight_prior.hpp: the law of the weights is found from noisy, incomplete samples.
#include <cmath>
#include <gasg21/geometry/jacobi_svd.hpp>
#include <gasg21/inliers/weight_prior.hpp>
#include <limits>

#include "support.hpp"

using gasg21::DenseView;
using gasg21::Fitted;
using gasg21::learn_prior;
using gasg21::random_basis;
using gasg21::WeightPrior;
using support::gaussian;
using support::quiet_nan;
using support::Random;
using support::uword;

namespace {

/// Samples U w + noise with weights of variances 9, 4, 1 (times n / 14), in units of their own, and
/// with twice the noise in the first coordinates.
struct Samples {
  Random random;
  arma::mat U, X;
  arma::vec spread{3, 2, 1};

  Samples(uword n, uword m, double noise, double observed, double outliers, std::uint64_t seed)
      : random(seed), U(random_basis<double>(n, 3, random)), X(n, m) {
    for (uword j = 0; j < m; ++j) {
      arma::vec x = U * (spread % gaussian<double>(3, random)) * std::sqrt(double(n) / 14);
      for (uword i = 0; i < n; ++i) x[i] += (i < n / 4 ? 2 : 1) * noise * random.normal();
      if (random.uniform() < outliers) x = gaussian<double>(n, random);
      X.col(j) = x * std::exp(random.normal());
    }
    for (double& entry : X)
      if (random.uniform() > observed) entry = quiet_nan<double>;
  }
  WeightPrior learnt() const { return learn_prior(U, DenseView<double>(X)); }
};

/// C / s, and what it should be.
void check_ratio(const WeightPrior& prior, double noise, uword n, double tolerance) {
  for (uword c = 0; c < 3; ++c) {
    const double truth = std::pow(3.0 - double(c), 2) * double(n) / 14 / (noise * noise);
    CHECK(std::abs(std::log(prior.C(c, c) / prior.s / truth)) < tolerance);
  }
}

}  // namespace

TEST_CASE("scatter and noise are found, each sample in its own units") {
  for (const double observed : {1.0, 0.6, 0.2}) {
    CAPTURE(observed);
    const Samples samples(60, 3000, 0.5, observed, 0, 1);
    const WeightPrior prior = samples.learnt();
    check_ratio(prior, 0.5 * std::sqrt(7.0 / 4), 60, 0.45);
    REQUIRE(prior.noise.n_elem == 60);
    const double ratio = arma::mean(prior.noise.head(15)) / arma::mean(prior.noise.tail(45));
    CHECK(ratio == doctest::Approx(4).epsilon(0.25));
    // An entry has the mean square 1.
    CHECK(arma::trace(prior.C) / 60 + prior.s == doctest::Approx(1));
  }
}

TEST_CASE("a third of outlying samples does little harm") {
  const WeightPrior clean = Samples(60, 3000, 0.3, 0.7, 0, 2).learnt();
  const WeightPrior dirty = Samples(60, 3000, 0.3, 0.7, 0.33, 2).learnt();
  for (uword c = 0; c < 3; ++c)
    CHECK(std::abs(std::log(dirty.C(c, c) / dirty.s * clean.s / clean.C(c, c))) < 1.0);
}

TEST_CASE("data without noise has none, also among outliers") {
  for (const double outliers : {0.0, 0.6}) {
    const WeightPrior prior = Samples(60, 1000, 0, 0.5, outliers, 3).learnt();
    CHECK(prior.s < 1e-22);
    CHECK(prior.noise.empty());
  }
}

TEST_CASE("a direction without weights gets none") {
  Samples samples(40, 1000, 0.2, 0.7, 0, 4);
  arma::mat frame = random_basis<double>(40, 4, samples.random);
  frame.cols(0, 2) = samples.U;
  REQUIRE(gasg21::orthonormalize(frame));
  const WeightPrior prior = learn_prior(frame, DenseView<double>(samples.X));
  CHECK(prior.C(3, 3) < 0.02 * prior.C(2, 2));
}

TEST_CASE("fits alone give nearly the same where many entries are observed") {
  const Samples samples(80, 2000, 0.4, 0.7, 0.2, 5);
  Fitted fitted{80, arma::mat(3, 2000), arma::vec(2000), arma::vec(2000), arma::vec(2000)};
  for (uword j = 0; j < 2000; ++j) {
    const arma::uvec rows = arma::find_finite(samples.X.col(j));
    const arma::vec x = samples.X.col(j), z = arma::normalise(arma::vec(x.elem(rows)));
    const arma::mat A = samples.U.rows(rows);
    fitted.W.col(j) = arma::solve(A, z);
    fitted.r2[j] = std::pow(arma::norm(z - A * fitted.W.col(j)), 2);
    fitted.count[j] = double(rows.n_elem);
    fitted.norm[j] = arma::norm(x.elem(rows));
  }
  fitted.count[7] = 0;  // not usable
  fitted.W.col(7).fill(quiet_nan<double>);
  const WeightPrior exact = samples.learnt(), found = learn_prior(fitted);
  CHECK(found.noise.empty());
  for (uword c = 0; c < 3; ++c)
    CHECK(std::abs(std::log(found.C(c, c) / found.s * exact.s / exact.C(c, c))) < 0.4);
}

TEST_CASE("samples that say nothing are no harm, nor are none at all") {
  arma::mat X(10, 5);
  X.fill(quiet_nan<double>);
  X.col(1).zeros();
  Random random(6);
  const auto U = random_basis<double>(10, 2, random);
  const WeightPrior prior = learn_prior(U, DenseView<double>(X));
  CHECK(prior.C.is_finite());
  CHECK(prior.s > 0);
  const Fitted none{10, arma::mat(2, 0), {}, {}, {}};
  CHECK(learn_prior(none).C.is_finite());
}

TEST_CASE("data with a period does not deceive") {
  Samples samples(30, 4000, 0.1, 0.8, 0, 7);
  for (uword j = 0; j < 4000; j += 20) samples.X.col(j) = gaussian<double>(30, samples.random);
  CHECK(samples.learnt().s < 0.1);
}

TEST_CASE("the range of the entries, of each coordinate and of a whole sample") {
  arma::mat X{{1, 5, quiet_nan<double>}, {-2, 3, quiet_nan<double>}};
  X.insert_rows(2, arma::rowvec(3, arma::fill::value(quiet_nan<double>)));
  const auto range = gasg21::entry_range<double>(DenseView<double>(X));
  CHECK(range.low[0] == 1);
  CHECK(range.high[0] == 5);
  CHECK(range.low[1] == -2);
  CHECK(range.high[1] == 3);
  CHECK(range.low[2] > range.high[2]);  // never observed
  CHECK(range.largest == doctest::Approx(std::sqrt(17.0)));
}

TEST_CASE_TEMPLATE("the range is the same in every form of the data", T, double, float) {
  support::Random random(3);
  arma::Mat<T> X(1100, 40);  // longer than the pieces that are read at once
  X.imbue([&] { return random.uniform() < 0.3 ? quiet_nan<T> : T(random.normal()); });
  X(7, 5) = std::numeric_limits<T>::infinity();  // does not count
  const arma::Mat<unsigned char> mask(1100, 40, arma::fill::ones);
  DenseView<T> masked(X);
  masked.mask = mask.memptr();
  masked.mask_stride = 1100;
  const auto plain = gasg21::entry_range<T>(gasg21::AnyView<T>(DenseView<T>(X)));
  const auto other = gasg21::entry_range<T>(masked);
  CHECK(arma::approx_equal(plain.low, other.low, "absdiff", 0));
  CHECK(arma::approx_equal(plain.high, other.high, "absdiff", 0));
  CHECK(plain.high.is_finite());
  CHECK(plain.largest == doctest::Approx(other.largest).epsilon(1e-6));
}
