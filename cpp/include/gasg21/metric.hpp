// Metrics: in which units of the weights a step is measured. For a gradient, a metric gives the
// direction within the subspace, the angle of the step, and the agreement with another gradient.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "gasg21/geometry/grassmann.hpp"
#include "gasg21/kernels/plain.hpp"
#include "gasg21/kernels/small_solve.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"

namespace gasg21 {

/// The paper's metric: the canonical one of the Grassmannian.
struct NoScaling {
  /// Called with each gradient before it is used. This metric has nothing to learn.
  template <class Gradient>
  void learn(const Gradient& /*g*/, double /*residual*/, double /*eta*/) {}

  void forget() {}
  bool fits(uword /*d*/) const { return true; }
  static constexpr bool scaled() { return false; }

  /// The inner product of the previous gradient and this one, Eq. (10), in O(n + d); `overlap` is
  /// the product of their unit directions.
  // Departs from Sec. III-C: the paper forms the matrices and counts O(n d^2), because it does not
  // use that both have rank one; pinned by "without scaling agreement is the Frobenius product of
  // the matrices".
  template <class Gradient>
  double agreement(const Gradient& previous, const Gradient& g, double overlap) const {
    return previous.weight * g.weight * overlap *
           double(kernels::short_dot(previous.w.memptr(), g.w.memptr(), g.w.n_elem));
  }

  /// Sets v, the unit direction within the subspace, and returns the angle of a step of length eta,
  /// Eq. (9): the geodesic of -grad has the speed sigma = weight |w|.
  template <class Gradient, class Column>
  double step(const Gradient& g, double eta, Column& v) const {
    const auto sigma = std::sqrt(kernels::short_dot(g.w.memptr(), g.w.memptr(), g.w.n_elem));
    const auto shrink = 1 / sigma;  // one division instead of one per entry
    v.set_size(g.w.n_elem);
    for (uword c = 0; c < v.n_elem; ++c) v[c] = g.w[c] * shrink;
    return eta * g.weight * double(sigma);
  }
};

/// The scaled metric: weights in units of their own spread. C is a running covariance of the
/// weights in which vectors near the subspace count most, and a step rotates along C^-1 w. On
/// ill-conditioned data the paper's metric hardly rotates the weak directions; this one rotates all
/// alike. C is kept as factors L D L', so an update costs O(d^2). On very ill-conditioned data this
/// does not minimise the paper's L21 sum.
class CovarianceScaling {
 public:
  CovarianceScaling() : CovarianceScaling(0.998) {}

  /// Each update multiplies the old C by `forgetting`.
  explicit CovarianceScaling(double forgetting) : forgetting_(forgetting), growth_(1 / forgetting) {
    require(forgetting > 0 && forgetting < 1, "forgetting=", forgetting, " must be in (0, 1)");
  }

  /// Resumes from a saved state.
  CovarianceScaling(double forgetting, arma::mat factor, double weight, double trace)
      : CovarianceScaling(forgetting) {
    require(factor.n_rows == factor.n_cols && factor.is_finite() && std::isfinite(weight) &&
                std::isfinite(trace) &&
                (factor.empty()
                     ? weight == 0
                     : weight > 0 && trace > 0 && factor.is_trimatl() && factor.diag().min() > 0),
            "not the state of a CovarianceScaling");
    L_ = std::move(factor);
    weight_ = weight;
    trace_ = trace;
  }

  /// Adds the gradient's weights to C and computes v = C^-1 w.
  template <class Gradient>
  void learn(const Gradient& g, double residual, double eta) {
    const uword d = g.w.n_elem;
    if (L_.empty()) {
      L_ = 1e3 * arma::eye(d, d);
      trace_ = 1e-3 * double(d);
    }
    v_.set_size(d);
    before_.set_size(d);
    std::copy(g.w.begin(), g.w.end(), v_.begin());
    // A vector that is further from the subspace than the step is long is probably an outlier.
    const double weight = 1 / std::max(eta * eta + residual * residual, 1e-60);
    for (uword c = 0; c < d; ++c) L_.memptr()[c * (d + 1)] *= growth_;
    q_ = kernels::ldl_update(L_.memptr(), d, weight, v_.memptr());
    weight_ = forgetting_ * weight_ + weight;
    const double squared = double(kernels::short_dot(g.w.memptr(), g.w.memptr(), d));
    trace_ = forgetting_ * trace_ + weight * squared;
    if (raise_small_pivots()) {
      std::copy(g.w.begin(), g.w.end(), v_.begin());
      q_ = kernels::ldl_forward(L_.memptr(), d, v_.memptr());
      for (uword c = 0; c < d; ++c) v_[c] *= L_(c, c);
    }
    kernels::ldl_backward(L_.memptr(), d, v_.memptr());
    const double scale = weight_ / double(d);  // of R^-1 to C^-1
    for (uword c = 0; c < d; ++c) v_[c] *= scale;
    q_ *= scale;
    if (!std::isfinite(q_)) throw NumericalError("the covariance of the weights is not finite");
  }

  void forget() {
    L_.reset();
    weight_ = trace_ = 0;
  }
  static constexpr bool scaled() { return true; }
  /// Whether C is d x d, or still empty.
  bool fits(uword d) const { return L_.empty() || L_.n_rows == d; }

  /// The cosine of the two gradients in this metric.
  template <class Gradient>
  double agreement(const Gradient& previous, const Gradient& /*g*/, double overlap) const {
    const uword d = v_.n_elem;
    std::copy(previous.w.begin(), previous.w.end(), before_.begin());
    const double product = kernels::short_dot(before_.memptr(), v_.memptr(), d);
    const double squared = kernels::ldl_forward(L_.memptr(), d, before_.memptr());
    return overlap * product / std::sqrt(q_ * squared * (weight_ / double(d)));
  }

  /// Sets v, the unit direction within the subspace, and returns the angle of a step of length eta
  /// in this metric.
  template <class Gradient, class Column>
  double step(const Gradient& /*g*/, double eta, Column& v) const {
    const double length = std::sqrt(kernels::short_dot(v_.memptr(), v_.memptr(), v_.n_elem));
    const double shrink = 1 / length;
    v.set_size(v_.n_elem);
    for (uword c = 0; c < v_.n_elem; ++c) v[c] = typename Column::elem_type(v_[c] * shrink);
    return std::atan(eta / std::max(1.0, std::sqrt(q_)) * length);
  }

  double forgetting() const { return forgetting_; }
  /// The weighted sum of w w'. C is d / weight() times this. Empty at first.
  arma::mat sums() const {
    if (L_.empty()) return {};
    arma::mat L = L_;
    L.diag().ones();
    return L * arma::diagmat(1 / L_.diag()) * L.t();
  }
  /// Its factors: L below the diagonal, 1 / D on it.
  const arma::mat& factor() const { return L_; }
  double weight() const { return weight_; }
  /// The trace of the sums.
  double trace() const { return trace_; }

 private:
  /// Keeps C regular where the data has no spread: raises a pivot below 1e-12 of the mean diagonal
  /// to four times that. The next raise is due after log 4 / (1 - forgetting) updates, 700 by
  /// default, so the mean cost stays O(d^2). Returns whether a pivot was raised.
  bool raise_small_pivots() {
    const uword d = L_.n_rows;
    const double least = 1e-12 * trace_ / double(d);
    bool raised = false;
    for (uword i = 0; i < d; ++i) {
      if (least * L_.memptr()[i * (d + 1)] <= 1) continue;
      v_.zeros();
      v_[i] = 1;
      const double more = 4 * least - 1 / L_(i, i);
      kernels::ldl_update(L_.memptr(), d, more, v_.memptr(), i);
      trace_ += more;
      raised = true;
    }
    return raised;
  }

  double forgetting_, growth_;  // of C, and of its inverse
  arma::mat L_;                 // lower triangular: L below the diagonal, 1 / D > 0 on it
  double weight_ = 0, trace_ = 0;
  arma::vec v_;  // scratch from here on, set by each `learn`
  mutable arma::vec before_;
  double q_ = 0;
};

}  // namespace gasg21
