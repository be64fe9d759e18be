// Fits to a basis without data: weights and residuals drawn from their laws.
#pragma once

#include <cmath>
#include <gasg21/inliers/fitted.hpp>
#include <gasg21/support/random.hpp>

#include "support.hpp"

namespace support {

struct FitsOptions {
  uword n = 50, d = 3, inliers = 400, outliers = 0;
  double noise = 0.05;    // of one entry; a weight has standard deviation 1
  double observed = 1;    // share of the entries
  double outlier = 0.25;  // standard deviation of an entry of an outlier
};

/// Inliers first, then outliers in random directions. The basis is that of the first d axes, so the
/// first d entries of a sample are its weights.
inline gasg21::Fitted made_fits(const FitsOptions& o, std::uint64_t seed) {
  Random random(seed);
  const uword m = o.inliers + o.outliers;
  gasg21::Fitted fitted{o.n, arma::mat(o.d, m), arma::vec(m), arma::vec(m), arma::vec(m)};
  for (uword j = 0; j < m; ++j) {
    const bool inlier = j < o.inliers;
    const double N = std::round(double(o.n) * o.observed);
    double r2 = 0, w2 = 0;
    for (uword i = 0; i < o.d; ++i) {
      // The weights of an outlier make up for the missing entries.
      const double w = (inlier ? 1 : o.outlier * std::sqrt(double(o.n) / N)) * random.normal();
      fitted.W(i, j) = w;
      w2 += w * w * N / double(o.n);
    }
    for (double i = double(o.d); i < N; ++i) {
      const double e = (inlier ? o.noise : o.outlier) * random.normal();
      r2 += e * e;
    }
    fitted.norm[j] = std::sqrt(w2 + r2);
    fitted.W.col(j) /= fitted.norm[j];
    fitted.r2[j] = r2 / (w2 + r2);
    fitted.count[j] = N;
  }
  return fitted;
}

}  // namespace support
