// Metrics: in which units of the weights a step is measured. A metric says along which direction of
// the subspace to turn for a gradient, how far, and how much two gradients agree.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "config.hpp"
#include "error.hpp"
#include "grassmann.hpp"
#include "kernels.hpp"

namespace gasg21 {

/// The paper's: the canonical metric of the Grassmannian.
struct NoScaling {
  /// Takes note of a gradient before it is used. There is nothing to learn here.
  template <class T>
  void learn(const RankOneGradient<T>& /*g*/, double /*residual*/, double /*eta*/) {}

  void forget() {}
  bool fits(uword /*d*/) const { return true; }

  /// The previous gradient against this one, Eq. (10).
  template <class T>
  double agreement(const RankOneGradient<T>& previous, const RankOneGradient<T>& g) const {
    return inner(previous, g);
  }

  /// The unit direction v to turn within the subspace, and the angle for a step of length eta,
  /// Eq. (9): the geodesic of -grad has the speed sigma = weight |w|.
  template <class T>
  double turn(const RankOneGradient<T>& g, double eta, arma::Col<T>& v) const {
    const double sigma = double(arma::norm(g.w));
    v = g.w / T(sigma);
    return eta * g.weight * sigma;
  }
};

/// Weights measured in units of their own spread: C is a running covariance of the weights in which
/// vectors near the subspace count most, and a step turns along C^-1 w. On ill-conditioned data the
/// paper's metric hardly ever turns the weak directions; this one turns all alike. Costs O(d^3 / 6)
/// an update. It does not minimise the paper's L21 sum when data is very ill-conditioned.
class CovarianceScaling {
 public:
  CovarianceScaling() : CovarianceScaling(0.998) {}

  /// Each update leaves the share `forgetting` of what was known of C.
  explicit CovarianceScaling(double forgetting) : forgetting_(forgetting) {
    require(forgetting > 0 && forgetting < 1, "forgetting=", forgetting, " must be in (0, 1)");
  }

  /// One in the middle of its work, for resuming.
  CovarianceScaling(double forgetting, arma::mat sums, double weight)
      : CovarianceScaling(forgetting) {
    require(sums.n_rows == sums.n_cols && sums.is_finite() && std::isfinite(weight) && weight >= 0,
            "not the state of a CovarianceScaling");
    sums_ = std::move(sums);
    weight_ = weight;
  }

  /// C, with the gradient's weights, and v = C^-1 w.
  template <class T>
  void learn(const RankOneGradient<T>& g, double residual, double eta) {
    const uword d = g.w.n_elem;
    if (sums_.empty()) sums_ = 1e-3 * arma::eye(d, d);
    w_ = arma::conv_to<arma::vec>::from(g.w);
    // A vector further from the subspace than the step is long is likely to be an outlier.
    const double weight = 1 / std::max(eta * eta + residual * residual, 1e-60);
    for (uword j = 0; j < d; ++j)
      for (uword i = 0; i < d; ++i)
        sums_(i, j) = forgetting_ * sums_(i, j) + (weight * w_[i]) * w_[j];
    weight_ = forgetting_ * weight_ + weight;
    factorize();
    v_ = solve(w_);
    q_ = arma::dot(w_, v_);
  }

  void forget() {
    sums_.reset();
    weight_ = 0;
  }
  /// Whether what was learned is about weights of d entries.
  bool fits(uword d) const { return sums_.empty() || sums_.n_rows == d; }

  /// The inner product of the two gradients in the metric, over their lengths in it.
  template <class T>
  double agreement(const RankOneGradient<T>& previous, const RankOneGradient<T>& g) const {
    const arma::vec before = arma::conv_to<arma::vec>::from(previous.w);
    const double length = std::sqrt(q_ * arma::dot(before, solve(before)));
    return double(kernels::dot(previous.e.memptr(), g.e.memptr(), g.e.n_elem)) *
           arma::dot(before, v_) / length;
  }

  /// The unit direction v to turn, and the angle for a step of length eta in the metric.
  template <class T>
  double turn(const RankOneGradient<T>& /*g*/, double eta, arma::Col<T>& v) const {
    const double length = arma::norm(v_);
    v = arma::conv_to<arma::Col<T>>::from(v_ / length);
    return std::atan(eta / std::max(1.0, std::sqrt(q_)) * length);
  }

  double forgetting() const { return forgetting_; }
  const arma::mat& sums() const { return sums_; }
  double weight() const { return weight_; }

 private:
  /// C = d sums / weight = L L', with a ridge that only data without spread in a direction feels.
  void factorize() {
    const uword d = sums_.n_rows;
    L_ = (double(d) / weight_) * sums_;
    L_.diag() += 1e-12 * arma::trace(L_) / double(d);
    if (kernels::cholesky(L_.memptr(), d) <= 0)
      throw NumericalError("the covariance of the weights is singular");
  }

  arma::vec solve(arma::vec b) const {
    kernels::cholesky_solve(L_.memptr(), L_.n_rows, b.memptr());
    return b;
  }

  double forgetting_;
  arma::mat sums_;  // of weight * w w'
  double weight_ = 0;
  arma::mat L_;  // from here on: scratch, made anew by each `learn`
  arma::vec w_, v_;
  double q_ = 0;
};

}  // namespace gasg21
