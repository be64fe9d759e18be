// Inliers against random directions: a mixture of the angular Gaussian law of the polish, with the
// scatter of Tyler's estimator, and the uniform law on the sphere.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "gasg21/inliers/fitted.hpp"
#include "gasg21/kernels/plain.hpp"
#include "gasg21/polish/sample_fits.hpp"
#include "gasg21/polish/tyler_scatter.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/random.hpp"
#include "gasg21/support/special_functions.hpp"

namespace gasg21 {

/// Scatter and share of the inliers. Random directions are the rest.
class Mixture {
 public:
  Mixture() = default;
  /// For n coordinates.
  Mixture(Scatter scatter, double share, uword n)
      : scatter_(std::move(scatter)), share_(share), n_(double(n)) {
    prepare();
  }

  const Scatter& scatter() const { return scatter_; }
  double share() const { return share_; }

  /// ln of the odds that a sample is an inlier, from its Tyler weight and its observed entries. For
  /// missing entries U_Omega'U_Omega is taken as (N / n) I.
  double log_odds(double omega, double N) const {
    const double d = double(scatter_.C.n_rows);
    return log_share_ + N / 2 * std::log(omega) -
           ((N - d) * log_s_ + d * std::log(N / n_) + log_det_) / 2;
  }

  /// `log_odds` of each sample; NaN for those that tell nothing.
  arma::vec log_odds(SampleFits<double>& fits) const {
    scatter_.set_weights(fits);
    arma::vec odds(fits.count.n_elem);
    for (uword j = 0; j < odds.n_elem; ++j)
      odds[j] = fits.is_used(j) ? log_odds(fits.omega[j], fits.count[j]) : arma::datum::nan;
    return odds;
  }

  /// The share of inliers that this mixture would call random, by simulation: as many inliers as
  /// there are samples, with their numbers of observed entries. The draws are always the same.
  double lost_inliers(const SampleFits<double>& fits) const {
    const uword d = scatter_.C.n_rows;
    Random random(0);
    arma::vec z(d), w(d);
    double lost = 0, drawn = 0;
    for (uword j = 0; j < fits.count.n_elem; ++j) {
      if (!fits.is_used(j)) continue;
      random.normals(z.memptr(), d);
      const double N = fits.count[j];
      const double noise = chi_squared_at(random.normal(), N - double(d));
      const double length = squared_length(z, w) * N / n_ + scatter_.s * noise;
      lost += log_odds(length / (kernels::dot(z.memptr(), z.memptr(), d) + noise), N) < 0;
      ++drawn;
    }
    return drawn > 0 ? lost / drawn : 0;
  }

 private:
  Scatter scatter_;
  double share_ = 0, n_ = 0, log_share_ = 0, log_s_ = 0, log_det_ = 0;
  arma::mat L_;  // the factors of C = L D L'

  void prepare() {
    L_ = scatter_.factor();
    log_share_ = std::log(share_ / (1 - share_));
    log_s_ = std::log(scatter_.s);
    log_det_ = 0;
    for (uword i = 0; i < L_.n_rows; ++i) log_det_ -= std::log(L_(i, i));
  }

  /// |w|^2 of the weights w = L D^(1/2) z, whose scatter is C.
  double squared_length(const arma::vec& z, arma::vec& w) const {
    const uword d = L_.n_rows;
    w.zeros();
    for (uword c = 0; c < d; ++c) {
      const double x = z[c] / std::sqrt(L_(c, c));
      w[c] += x;
      for (uword i = c + 1; i < d; ++i) w[i] += L_(i, c) * x;
    }
    return kernels::dot(w.memptr(), w.memptr(), d);
  }
};

/// The fits as the polish has them, to weigh them by Tyler's estimator.
inline SampleFits<double> to_weigh(const Fitted& fitted) {
  SampleFits<double> fits(fitted.W.n_rows, fitted.W.n_cols);
  for (uword j = 0; j < fitted.W.n_cols; ++j) {
    if (!tells(fitted, j)) continue;  // its weights may be NaN
    fits.W.col(j) = fitted.W.col(j);
    fits.r2[j] = fitted.r2[j];
    fits.count[j] = fitted.count[j];
  }
  return fits;
}

/// The mixture by expectation and maximisation, from Tyler's scatter of all samples.
inline Mixture fit_mixture(SampleFits<double>& fits, uword n) {
  constexpr int first_steps = 10, most_steps = 30;
  constexpr double least = 1e-6, converged = 1e-4;
  Scatter scatter;
  scatter.weigh(fits, first_steps);
  Mixture mixture(scatter, 0.5, n);
  for (int step = 0; step < most_steps; ++step) {
    const arma::vec odds = mixture.log_odds(fits);
    double inliers = 0, used = 0;
    for (uword j = 0; j < odds.n_elem; ++j) {
      if (!fits.is_used(j)) continue;
      const double probability = 1 / (1 + std::exp(-odds[j]));
      fits.omega[j] *= probability;
      inliers += probability;
      ++used;
    }
    if (inliers <= double(fits.W.n_rows + 1)) break;  // too few for a scatter
    const Scatter next{ScatterSums(fits)};
    const double share = std::clamp(inliers / used, least, 1 - least);
    const bool done = std::abs(share - mixture.share()) < converged &&
                      std::abs(std::log(next.s / mixture.scatter().s)) < converged;
    mixture = Mixture(next, share, n);
    if (done) break;
  }
  return mixture;
}

/// The distance (Kolmogorov, Smirnov) of squared residuals from the law of random directions,
/// Beta((N - d) / 2, d / 2), over the samples `of`.
inline double distance_from_random(const Fitted& fitted, const std::vector<uword>& of) {
  const double d = double(fitted.W.n_rows), k = double(of.size());
  std::vector<double> levels;
  for (const uword j : of)
    levels.push_back(beta_cdf(fitted.r2[j], (fitted.count[j] - d) / 2, d / 2));
  std::sort(levels.begin(), levels.end());
  double largest = 0;
  for (std::size_t i = 0; i < levels.size(); ++i)
    largest = std::max({largest, levels[i] - double(i) / k, double(i + 1) / k - levels[i]});
  return largest;
}

}  // namespace gasg21
