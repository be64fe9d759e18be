// Shared by the tests of the polish and of `recover`: problems with a known answer, and starts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <gasg21/polish/polisher.hpp>
#include <gasg21/recovery/stream.hpp>

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
  const auto fit_options = gasg21::AdaptiveStepOptions::defaults(true, false);
  gasg21::Tracker<T> tracker(X.n_rows, d, gasg21::AdaptiveStep(fit_options), 1);
  for (uword pass = 0; pass < passes; ++pass)
    gasg21::run(tracker, gasg21::DenseView<T>(X), tracker.random().permutation(X.n_cols),
                keep_going);
  return tracker.basis();
}

/// `passes` passes over the whole data.
template <class T, class Data>
gasg21::Polisher<T> polished(const arma::Mat<T>& U, const Data& data, int passes,
                             unsigned threads = 1) {
  gasg21::Polisher<T> polisher(U, data.n_cols);
  for (int pass = 0; pass < passes; ++pass) polisher.pass(data, gasg21::Parallel(threads));
  return polisher;
}

/// How a polish to the end went.
struct Polished {
  double change = 0;           // of the last pass, radians
  double estimated_angle = 0;  // standard error of the largest angle to the truth
  bool converged = false;
};

/// Polishes U until a pass moves it by no more than 1e-6 or a share of the estimated error, as
/// `recover` does.
template <class T, class Data>
Polished polish(arma::Mat<T>& U, const Data& data) {
  gasg21::Polisher<T> polisher(U, data.n_cols);
  Polished result;
  for (int pass = 0; pass < 40 && !result.converged; ++pass) {
    result.change = polisher.pass(data, gasg21::Parallel());
    result.estimated_angle = polisher.estimated_angle();
    result.converged = polisher.round().has_settled(1e-6);
  }
  U = polisher.basis();
  return result;
}

}  // namespace support
