// Where the inliers lie within the subspace and about it, in the data's units: centre, covariance,
// noise, and the two distances of robust PCA's outlier map.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "gasg21/geometry/products.hpp"
#include "gasg21/inliers/decision.hpp"
#include "gasg21/inliers/fitted.hpp"
#include "gasg21/kernels/sample_sums.hpp"
#include "gasg21/polish/sample_fits.hpp"
#include "gasg21/polish/tyler_scatter.hpp"
#include "gasg21/support/aligned.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/median.hpp"
#include "gasg21/support/special_functions.hpp"

namespace gasg21 {

/// A centre and a scatter about it.
struct Ellipsoid {
  arma::vec centre;
  arma::mat scatter;

  /// Squared distance of each column of A from the centre, in units of the scatter.
  arma::vec squared_distances(const arma::mat& A) const {
    const arma::mat L = factor();
    const arma::mat centred = A.each_col() - centre;
    arma::vec result(A.n_cols);
    Aligned<double> scratch(A.n_rows * kernels::block_rows<double>);
    kernels::sample_sum_kernels<double>().lengths(centred.memptr(), A.n_rows, A.n_cols, L.memptr(),
                                                  result.memptr(), scratch.data());
    return result;
  }

  /// Weighted mean and scatter of the columns of A; the scatter is divided by `total`.
  static Ellipsoid of(const arma::mat& A, const arma::vec& weight, double total) {
    Ellipsoid result;
    result.centre = product(A, arma::mat(weight)) / arma::accu(weight);
    const arma::mat centred = A.each_col() - result.centre;
    result.scatter = weighted_gram(centred, weight) / total;
    return result;
  }

 private:
  /// Samples that all agree have no scatter; then distances are Euclidean.
  arma::mat factor() const {
    if (arma::trace(scatter) > 0) return Scatter(scatter, 1).factor();
    return arma::mat(scatter.n_rows, scatter.n_rows, arma::fill::eye);
  }
};

/// Moments of the inliers in the data's units. Plain values, so that it can be stored.
struct Distances {
  arma::mat R;       // d_inner x d, turns weights of the basis into those measured; empty = none
  arma::vec centre;  // mean of the inliers' weights, without gross leverage points
  arma::mat covariance;       // and their covariance
  double noise_variance = 0;  // of one entry of an inlier
  double n_inliers = 0;       // that these were taken from; 0 = nothing is known
  Ellipsoid core;    // of the nearest three quarters of the inliers, scaled to the chi-squared law
  double noise = 0;  // squared residual per degree of freedom, scaled to the chi-squared law

  /// The weights of samples in the data's units, one column per sample.
  arma::mat weights(const Fitted& fitted) const {
    require(R.empty() || R.n_rows == fitted.W.n_rows, "the map is for ", R.n_rows, " weights, not ",
            fitted.W.n_rows);
    arma::mat A = R.empty() ? fitted.W : transposed_product(R, fitted.W);
    for (uword j = 0; j < A.n_cols; ++j) A.col(j) *= fitted.norm[j];
    return A;
  }

  /// 2 x m: distance from the centre within the subspace, and residual, each the root of a mean
  /// square per degree of freedom in units of the inliers: about 1 for them. NaN for samples that
  /// tell nothing.
  arma::mat pairs(const Fitted& fitted) const {
    arma::mat result(2, fitted.W.n_cols);
    result.fill(arma::datum::nan);
    if (!(n_inliers > 0)) return result;
    const arma::mat A = weights(fitted);
    const arma::vec within = core.squared_distances(A);
    const double d = double(A.n_rows), d_inner = double(fitted.W.n_rows);
    for (uword j = 0; j < result.n_cols; ++j) {
      if (!tells(fitted, j)) continue;
      result(0, j) = std::sqrt(within[j] / d);
      result(1, j) = fitted.norm[j] * std::sqrt(fitted.r2[j] / (fitted.count[j] - d_inner) / noise);
    }
    return result;
  }
};

namespace detail {

/// The nearest three quarters of the columns of A and their ellipsoid: from the t law with three
/// degrees of freedom, which has one solution, by concentration steps (Rousseeuw and Van Driessen).
/// It does not depend on the coordinates of A.
inline Ellipsoid concentrated(const arma::mat& A) {
  constexpr int soft_steps = 10, hard_steps = 20;
  constexpr double nu = 3;
  const double d = double(A.n_rows), m = double(A.n_cols);
  arma::vec weight(A.n_cols, arma::fill::ones);
  Ellipsoid found = Ellipsoid::of(A, weight, m);
  for (int step = 0; step < soft_steps; ++step) {
    weight = (nu + d) / (nu + found.squared_distances(A));
    found = Ellipsoid::of(A, weight, m);
  }
  const auto kept = std::max<uword>(1, uword(0.75 * m));
  for (int step = 0; step < hard_steps; ++step) {
    const arma::vec distance = found.squared_distances(A);
    std::vector<double> sorted(distance.begin(), distance.end());
    std::nth_element(sorted.begin(), sorted.begin() + std::ptrdiff_t(kept - 1), sorted.end());
    const arma::vec before = weight;
    weight.transform([](double) { return 0.0; });
    for (uword j = 0; j < weight.n_elem; ++j) weight[j] = distance[j] <= sorted[kept - 1];
    found = Ellipsoid::of(A, weight, arma::accu(weight));
    if (std::equal(weight.begin(), weight.end(), before.begin())) break;
  }
  return found;
}

inline double median_of(const arma::vec& values) {
  return median(std::vector<double>(values.begin(), values.end()));
}

/// Scales the ellipsoid so that the squared distances have the median of the chi-squared law.
inline void scale_to_law(Ellipsoid& core, const arma::mat& A) {
  const double middle = median_of(core.squared_distances(A));
  if (middle > 0) core.scatter *= middle / chi_squared_quantile(level_of_median, double(A.n_rows));
}

/// Mean and covariance of all columns but gross leverage points.
inline void set_moments(Distances& result, const arma::mat& A) {
  constexpr double gross = 4;
  const double most = gross * chi_squared_quantile(level_9999, double(A.n_rows));
  arma::vec weight = result.core.squared_distances(A);
  weight.transform([&](double squared) { return squared <= most ? 1.0 : 0.0; });
  const double count = arma::accu(weight);
  const Ellipsoid moments = Ellipsoid::of(A, weight, std::max(count - 1, 1.0));
  result.centre = moments.centre;
  result.covariance = moments.scatter;
}

/// The noise of one entry, and its robust scale, over the samples `of`.
inline void set_noise(Distances& result, const Fitted& fitted, const std::vector<uword>& of) {
  NoiseLaw law;
  const double d = double(fitted.W.n_rows);
  double squares = 0, degrees = 0;
  std::vector<double> scaled;
  for (const uword j : of) {
    const double norm2 = fitted.norm[j] * fitted.norm[j], k = fitted.count[j] - d;
    squares += fitted.r2[j] * norm2;
    degrees += k;
    scaled.push_back(std::max(fitted.r2[j], least_r2) * norm2 / law(k).median);
  }
  result.noise_variance = squares / degrees;
  result.noise = median(std::move(scaled));
}

}  // namespace detail

/// Learns the distances from the fits that the decision takes for inliers. For a lifted fit, R
/// turns the weights into weights of the flat: d_inner x d with orthonormal columns.
inline Distances learn_distances(const Fitted& fitted, const Decision& decision,
                                 const arma::mat& R = {}) {
  Distances result;
  result.R = R;
  const arma::vec margins = decision.margins(fitted, false);
  std::vector<uword> inliers;
  for (uword j = 0; j < margins.n_elem; ++j)
    if (margins[j] >= 0) inliers.push_back(j);
  if (inliers.empty()) return result;
  const arma::mat A = result.weights(fitted).cols(arma::uvec(inliers));
  result.n_inliers = double(inliers.size());
  result.core = detail::concentrated(A);
  detail::scale_to_law(result.core, A);
  detail::set_moments(result, A);
  detail::set_noise(result, fitted, inliers);
  return result;
}

}  // namespace gasg21
