// What the tests of the polish share: problems with a known answer, and where to start from.
#pragma once

#include <cstdint>
#include <gasg21/polish/polisher.hpp>
#include <gasg21/run.hpp>

#include "support.hpp"

namespace support {

/// m samples of a subspace with noise, among them outliers; NaN = missing.
template <class T>
struct Problem {
  Random random;
  arma::Mat<T> truth, X;

  Problem(uword n, uword m, uword d, double outliers, double missing, double noise,
          std::uint64_t seed)
      : random(seed), truth(gasg21::random_basis<T>(n, d, random)), X(n, m) {
    for (uword j = 0; j < m; ++j) {
      X.col(j) = truth * gaussian<T>(d, random) + T(noise) * gaussian<T>(n, random);
      if (random.uniform() < outliers) X.col(j) = gaussian<T>(n, random);
    }
    for (T& entry : X)
      if (random.uniform() < missing) entry = quiet_nan<T>;
  }
  /// A basis at some distance from the truth.
  arma::Mat<T> near(double by) {
    arma::Mat<T> U = truth + T(by) * gaussian<T>(truth.n_rows, truth.n_cols, random);
    REQUIRE(gasg21::orthonormalize(U));
    return U;
  }
  double angle(const arma::Mat<T>& U) const { return double(gasg21::largest_angle(U, truth)); }
};

/// The subspace after some passes of the scaled stream.
template <class T>
arma::Mat<T> streamed(const arma::Mat<T>& X, uword d, uword passes) {
  using Scaled =
      gasg21::Tracker<T, gasg21::AdaptiveStep, gasg21::L21Loss, gasg21::CovarianceScaling>;
  gasg21::AdaptiveStepOptions options;
  options.eta0 = 1;
  options.mu_max = 6;
  Scaled tracker(X.n_rows, d, gasg21::AdaptiveStep(options), 1);
  for (uword pass = 0; pass < passes; ++pass) gasg21::run_pass(tracker, gasg21::DenseView<T>(X));
  return tracker.basis();
}

/// `passes` passes over the whole data.
template <class T, class Data>
gasg21::Polisher<T> polished(const arma::Mat<T>& U, const Data& data, int passes,
                             unsigned threads = 1) {
  gasg21::Polisher<T> polisher(U, data.n_cols);
  const gasg21::Parallel parallel(threads);
  for (int pass = 0; pass < passes; ++pass) {
    REQUIRE(polisher.fit(data, 0, parallel));
    polisher.weigh();
    REQUIRE(polisher.add(data, 0, parallel));
    polisher.update(parallel);
  }
  return polisher;
}

}  // namespace support
