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
  template <class Gradient>
  void learn(const Gradient& /*g*/, double /*residual*/, double /*eta*/) {}

  void forget() {}
  bool fits(uword /*d*/) const { return true; }

  /// The previous gradient against this one, Eq. (10); `overlap` is the product of their unit
  /// directions.
  // Departs from Sec. III-C: the paper counts O(n d^2) for this product, because it forms the
  // matrices; pinned by "without scaling agreement is the Frobenius product of the matrices".
  template <class Gradient>
  double agreement(const Gradient& previous, const Gradient& g, double overlap) const {
    return previous.weight * g.weight * overlap *
           double(kernels::short_dot(previous.w.memptr(), g.w.memptr(), g.w.n_elem));
  }

  /// The unit direction v to turn within the subspace, and the angle for a step of length eta,
  /// Eq. (9): the geodesic of -grad has the speed sigma = weight |w|.
  template <class Gradient, class Column>
  double turn(const Gradient& g, double eta, Column& v) const {
    const auto sigma = std::sqrt(kernels::short_dot(g.w.memptr(), g.w.memptr(), g.w.n_elem));
    v.set_size(g.w.n_elem);
    for (uword c = 0; c < v.n_elem; ++c) v[c] = g.w[c] / sigma;
    return eta * g.weight * double(sigma);
  }
};

/// Weights measured in units of their own spread: C is a running covariance of the weights in which
/// vectors near the subspace count most, and a step turns along C^-1 w. On ill-conditioned data the
/// paper's metric hardly ever turns the weak directions; this one turns all alike. Kept as its
/// Cholesky factor, so that an update costs O(d^2). It does not minimise the paper's L21 sum when
/// data is very ill-conditioned.
class CovarianceScaling {
 public:
  CovarianceScaling() : CovarianceScaling(0.998) {}

  /// Each update leaves the share `forgetting` of what was known of C.
  explicit CovarianceScaling(double forgetting) : forgetting_(forgetting) {
    require(forgetting > 0 && forgetting < 1, "forgetting=", forgetting, " must be in (0, 1)");
  }

  /// One in the middle of its work, for resuming.
  CovarianceScaling(double forgetting, arma::mat factor, double weight)
      : CovarianceScaling(forgetting) {
    require(factor.n_rows == factor.n_cols && factor.is_finite() && std::isfinite(weight) &&
                (factor.empty() ? weight == 0
                                : weight > 0 && factor.is_trimatl() && factor.diag().min() > 0),
            "not the state of a CovarianceScaling");
    L_ = std::move(factor);
    weight_ = weight;
  }

  /// C, with the gradient's weights, and v = C^-1 w.
  template <class Gradient>
  void learn(const Gradient& g, double residual, double eta) {
    const uword d = g.w.n_elem;
    if (L_.empty()) L_ = std::sqrt(1e-3) * arma::eye(d, d);
    w_.set_size(d);
    v_.set_size(d);
    before_.set_size(d);
    std::copy(g.w.begin(), g.w.end(), w_.begin());
    // A vector further from the subspace than the step is long is likely to be an outlier.
    const double weight = 1 / std::max(eta * eta + residual * residual, 1e-60);
    L_ *= std::sqrt(forgetting_);
    v_ = std::sqrt(weight) * w_;
    kernels::cholesky_update(L_.memptr(), d, v_.memptr());
    weight_ = forgetting_ * weight_ + weight;
    lift();
    v_ = w_;
    solve(v_);
    q_ = arma::dot(w_, v_);
    if (!std::isfinite(q_)) throw NumericalError("the covariance of the weights is not finite");
  }

  void forget() {
    L_.reset();
    weight_ = 0;
  }
  /// Whether what was learned is about weights of d entries.
  bool fits(uword d) const { return L_.empty() || L_.n_rows == d; }

  /// The inner product of the two gradients in the metric, over their lengths in it.
  template <class Gradient>
  double agreement(const Gradient& previous, const Gradient& /*g*/, double overlap) const {
    std::copy(previous.w.begin(), previous.w.end(), before_.begin());
    const double product = arma::dot(before_, v_);
    kernels::forward_solve(L_.memptr(), L_.n_rows, before_.memptr());
    const double squared = weight_ / double(before_.n_elem) * arma::dot(before_, before_);
    return overlap * product / std::sqrt(q_ * squared);
  }

  /// The unit direction v to turn, and the angle for a step of length eta in the metric.
  template <class Gradient, class Column>
  double turn(const Gradient& /*g*/, double eta, Column& v) const {
    const double length = arma::norm(v_);
    v.set_size(v_.n_elem);
    for (uword c = 0; c < v_.n_elem; ++c) v[c] = typename Column::elem_type(v_[c] / length);
    return std::atan(eta / std::max(1.0, std::sqrt(q_)) * length);
  }

  double forgetting() const { return forgetting_; }
  /// The sum of weight * w w', of which C is d / weight() times. Empty at first.
  arma::mat sums() const { return L_ * L_.t(); }
  /// Its Cholesky factor.
  const arma::mat& factor() const { return L_; }
  double weight() const { return weight_; }

 private:
  /// Keeps C from becoming singular where the data has no spread: a pivot below 1e-12 of the mean
  /// diagonal is raised to four times that, by as much on the diagonal of the sums. That lasts for
  /// log 4 / (1 - forgetting) updates, 700 by default, so that the mean cost stays O(d^2).
  void lift() {
    const uword d = L_.n_rows;
    const double least = 1e-12 * arma::accu(arma::square(L_)) / double(d);
    for (uword i = 0; i < d; ++i) {
      const double pivot = L_(i, i) * L_(i, i);
      if (pivot >= least) continue;
      v_.zeros();
      v_[i] = std::sqrt(4 * least - pivot);
      kernels::cholesky_update(L_.memptr(), d, v_.memptr(), i);
    }
  }

  /// b := C^-1 b.
  void solve(arma::vec& b) const {
    kernels::cholesky_solve(L_.memptr(), L_.n_rows, b.memptr());
    b *= weight_ / double(b.n_elem);
  }

  double forgetting_;
  arma::mat L_;  // lower triangular, with a positive diagonal
  double weight_ = 0;
  arma::vec w_, v_;  // from here on: scratch, made anew by each `learn`
  mutable arma::vec before_;
  double q_ = 0;
};

}  // namespace gasg21
