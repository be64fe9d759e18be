// Weights and gradient of one observation under the L1 norm, by ADMM: GRASTA's. J. He, L. Balzano
// and J. Lui, arXiv:1109.3827; J. He, L. Balzano and A. Szlam, CVPR 2012.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "gasg21/basis/tracked_basis.hpp"
#include "gasg21/data/observation.hpp"
#include "gasg21/fit/least_squares.hpp"
#include "gasg21/kernels/plain.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/median.hpp"

namespace gasg21 {

/// The constants of the authors' code.
struct L1AdmmOptions {
  double rho = 1.8;            // the penalty grows by this factor in each iteration
  std::int64_t max_iter = 30;  // iterations for a vector at most
  double tol = 1e-10;          // bound for |U_Omega w + s - x| and the change of w, to stop
};

/// Solves min |s|_1 subject to U_Omega w + s = x for one vector after another, and reuses its
/// memory. With rho = 1 and enough iterations this is the L1 minimum; the authors' growing penalty
/// stops near it (pinned by "a growing penalty ends near the minimum").
template <class T>
class L1Admm {
 public:
  L1Admm(uword n, uword d, const L1AdmmOptions& options = {})
      : options_(options), start_(n, d), w_(d), s_(n), y_(n), b_(n), fitted_(n), e_(n), q_(d) {
    require(options.rho >= 1 && options.rho <= 10, "rho=", options.rho, " must be in [1, 10]");
    require(options.max_iter >= 1, "max_iter=", options.max_iter, " must be at least 1");
    require(options.tol >= 0 && std::isfinite(options.tol), "tol=", options.tol,
            " must not be below 0");
  }

  /// The weights, d entries.
  const arma::Col<T>& w() const { return w_; }
  /// The sparse part and the dual vector on Omega, x.count() entries each: y = -sign(s) where s is
  /// not 0, |y| <= 1 everywhere.
  const T* s() const { return s_.memptr(); }
  const T* y() const { return y_.memptr(); }
  std::int64_t n_iter() const { return n_iter_; }

  /// |r| of *least squares*: how far x is from the subspace, the same for every loss.
  T residual() const { return start_.residual(); }
  /// How far x is from the subspace if corrupt entries do not count: the scale of a normal law with
  /// the median of |s|. It is raised a little, because a median of a random direction varies more
  /// than its norm.
  T distance() const {
    constexpr T normal = T(1.4826), raised = T(1.25);
    std::vector<T> sizes(s_.memptr(), s_.memptr() + count_);
    for (T& size : sizes) size = std::abs(size);
    return std::min(T(1), raised * normal * median(std::move(sizes)) * std::sqrt(T(count_)));
  }
  /// The gradient is rounding error: x lies in the span of U_Omega as far as T can tell.
  bool exact() const { return start_.exact() || length_ <= 4 * eps; }

  /// |w|.
  T size() const { return arma::norm(w_); }
  /// The length of the gradient's direction before it is normalised.
  T length() const { return length_; }
  /// The unit direction e of the gradient, n entries.
  const arma::Col<T>& direction() const { return e_; }
  /// The inner product of this direction and the direction of the last step.
  double overlap() const { return overlap_; }

  /// The same in a tracked basis.
  Solved solve(TrackedBasis<T>& U, const Observation<T>& x) {
    U.apply_pending();
    U.use_blocks();
    const Solved solved = solve(U.matrix(), x);
    if (solved == Solved::yes)
      overlap_ = double(kernels::dot(e_.memptr(), U.direction().memptr(), e_.n_elem));
    return solved;
  }

  /// Moves U along the geodesic of direction e v' by the angle theta.  Pre: solved, not exact.
  void move(TrackedBasis<T>& U, Observation<T>& /*x*/, const arma::Col<T>& v, double theta) {
    moved_.assign(whole_blocks<T>(U.n()), T(0));
    std::copy(e_.begin(), e_.end(), moved_.begin());
    U.move(moved_, Residual::whole, T(1), nullptr, v, theta);
  }

  /// Pre: U'U = I up to rounding.  Post: U'e = 0 to rounding.
  Solved solve(const arma::Mat<T>& U, const Observation<T>& x) {
    const Solved solved = start_.solve(U, x);  // the first iteration's weights
    if (solved != Solved::yes) return solved;
    count_ = x.count();
    minimise(U, x);
    if (!start_.exact()) find_direction(U, x);
    return Solved::yes;
  }

 private:
  static constexpr T eps = std::numeric_limits<T>::epsilon();

  /// ADMM for the augmented Lagrangian |s|_1 + y'h + mu / 2 |h|^2 with h = U_Omega w + s - x. Here
  /// |x| = 1, so the authors' first mu = 1.25 / |x| is 1.25.
  void minimise(const arma::Mat<T>& U, const Observation<T>& x) {
    const uword k = x.count();
    const T* v = x.values();
    // The constant of a lift is never corrupt, so it counts as much as many entries.
    const uword free = k - x.appended();
    const T heavy = std::sqrt(T(k));
    T mu = T(1.25), moved = std::numeric_limits<T>::infinity();
    w_ = start_.w();
    for (uword i = 0; i < k; ++i) fitted_[i] = v[i] - start_.r()[i];
    y_.zeros();
    for (n_iter_ = 1;; ++n_iter_) {
      for (uword i = 0; i < k; ++i) {
        const T z = mu * (v[i] - fitted_[i]) - y_[i];
        const T bound = i < free ? T(1) : heavy;
        const T clipped = std::clamp(z, -bound, bound);
        s_[i] = (z - clipped) / mu;
        b_[i] = -clipped - y_[i];  // mu h
        y_[i] = -clipped;          // y + mu h
      }
      const T h = std::sqrt(kernels::dot(b_.memptr(), b_.memptr(), k)) / mu;
      // Departs from the authors' code: w must have converged too, because the constraint may
      // hold long before the minimum is reached; pinned by "with a constant penalty ...".
      const bool ended = h < T(options_.tol) && moved < T(options_.tol);
      if (ended || n_iter_ >= options_.max_iter) return;
      mu = std::min(T(mu * T(options_.rho)), T(1) / eps);  // beyond that h is rounding error
      for (uword i = 0; i < k; ++i) b_[i] = v[i] - s_[i] - y_[i] / mu;
      start_.project(U, x, b_.memptr(), q_, fitted_.memptr());
      moved = arma::norm(q_ - w_);
      w_.swap(q_);
    }
  }

  /// The gradient of the Lagrangian in U is Gamma w' with Gamma = (I - U U') y, y zero off Omega.
  /// Projected twice, so that U'e = 0 to rounding also where U'y is nearly all of y.
  void find_direction(const arma::Mat<T>& U, const Observation<T>& x) {
    e_.zeros();
    for (uword i = 0; i < x.count(); ++i) e_[x.rows()[i]] = -y_[i];
    for (int twice = 0; twice < 2; ++twice) {
      kernels::transpose_times(U.memptr(), U.n_rows, U.n_cols, e_.memptr(), q_.memptr());
      kernels::add_times(U.memptr(), U.n_rows, U.n_cols, q_.memptr(), T(-1), e_.memptr());
    }
    length_ = std::sqrt(kernels::dot(e_.memptr(), e_.memptr(), e_.n_elem));
    if (length_ > 0) e_ /= length_;
  }

  L1AdmmOptions options_;
  LeastSquares<T> start_;
  arma::Col<T> w_, s_, y_, b_, fitted_;  // w has d entries, the others one per observed row
  arma::Col<T> e_, q_;                   // n and d entries
  Aligned<T> moved_;
  T length_ = 0;
  double overlap_ = 0;
  std::int64_t n_iter_ = 0;
  uword count_ = 0;  // observed entries
};

}  // namespace gasg21
