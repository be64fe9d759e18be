// Weights and residual of one observation in a tracked basis: the same as LeastSquares, in two
// passes over the basis or over its observed rows. Alg. 1, steps 3 and 4.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "gasg21/basis/tracked_basis.hpp"
#include "gasg21/data/observation.hpp"
#include "gasg21/fit/least_squares.hpp"
#include "gasg21/kernels/plain.hpp"
#include "gasg21/kernels/small_solve.hpp"
#include "gasg21/support/aligned.hpp"
#include "gasg21/support/config.hpp"

namespace gasg21 {

template <class T>
class TrackedFit {
 public:
  TrackedFit(uword n, uword d)
      : w_(d), y_(d), G_(d, d), q_(d * kernels::block_rows<T>), r_(whole_blocks<T>(n), T(0)) {}

  /// The weights of the unit-norm sample, d entries.
  const arma::Col<T>& w() const { return w_; }
  /// |r| of the unit-norm sample.
  T residual() const { return residual_; }
  /// How far the sample is from the subspace, in the eyes of the loss.
  T distance() const { return residual_; }
  /// The length of the gradient's direction before it is normalised: |r|.
  T length() const { return residual_; }
  /// The inner product of the direction e = r / |r| and the last direction.
  double overlap() const { return overlap_; }
  /// The residual is rounding error: x lies in the span of U_Omega as far as T can tell.
  bool exact() const { return residual_ <= 4 * eps * (1 + std::sqrt(squared_w_)); }
  /// |w|.
  T size() const { return std::sqrt(squared_w_); }

  /// Pre: U'U = I up to rounding.  Post: as LeastSquares::solve. x must stay until `move`.
  Solved solve(TrackedBasis<T>& U, const Observation<T>& x) {
    if (x.count() <= U.d()) return Solved::too_few_entries;
    by_rows_ = U.choose_rows(x.few());
    // In row blocks, too, gathering pays if d is large: a Gram matrix costs d^2 for each row.
    return by_rows_ || (x.few() && U.d() >= 16) ? solve_gathered(U, x) : solve_in_blocks(U, x);
  }

  /// The same without a choice of the layout.  Pre: the basis lies in row blocks.
  Solved solve_in_blocks(TrackedBasis<T>& U, const Observation<T>& x) {
    on_rows_ = nullptr;
    r_is_x_ = false;
    if (x.count() <= U.d()) return Solved::too_few_entries;
    return x.full() ? solve_full(U, x) : solve_with_gaps(U, x);
  }

  /// Moves U along the geodesic of direction e v' by the angle theta.  Pre: solved for x, not
  /// exact.  Post: x holds other values.
  void move(TrackedBasis<T>& U, Observation<T>& x, const arma::Col<T>& v, double theta) {
    if (r_is_x_) x.swap_dense(r_);
    if (!on_rows_) return U.move(r_, kind_, scale_, refined_ ? &y_ : nullptr, v, theta);
    for (uword k = 0; k < count_; ++k) r_[k] *= scale_;
    if (by_rows_) return U.move_rows(on_rows_, count_, r_.data(), v, theta);
    std::fill(e_.begin(), e_.end(), T(0));
    for (uword k = 0; k < count_; ++k) e_[on_rows_[k]] = r_[k];
    U.move(e_, Residual::whole, T(1), nullptr, v, theta);
  }

 private:
  static constexpr T eps = std::numeric_limits<T>::epsilon();
  static constexpr T root_eps = sizeof(T) == 8 ? T(1.490116e-8) : T(3.452670e-4);

  /// Nothing is missing: G = I.
  Solved solve_full(TrackedBasis<T>& U, const Observation<T>& x) {
    const uword d = U.d();
    kind_ = Residual::whole;
    const T xe = U.sums(x.dense(), nullptr, w_.memptr());
    const T xx = x.dense_norm() * x.dense_norm();
    const T rr = xx - kernels::short_dot(w_.memptr(), w_.memptr(), d);
    if (rr > T(0.5) * xx) {
      // Far from the subspace nothing cancels, and e = (x - U w) / |r| can wait for the next pass.
      r_is_x_ = true;
      y_ = w_;
      refined_ = true;
      finish(rr, xe - kernels::short_dot(U.direction_weights().data(), w_.memptr(), d), x);
      return Solved::yes;
    }
    // Always refined: otherwise errors in U'U = I amplify themselves.
    T products[2];
    for (bool again = false;; again = true) {
      U.residual(w_.memptr(), x.dense(), r_.data(), q_.data(), products);
      std::copy(q_.data(), q_.data() + d, y_.memptr());
      if (refine_w(products, again)) break;
    }
    refined_ = true;
    // U y may be no larger than the rounding errors of r, which come from x.
    if (kernels::short_dot(y_.memptr(), y_.memptr(), d) <=
        64 * eps * eps * x.dense_norm() * x.dense_norm())
      kind_ = Residual::orthogonal;
    finish(products[0], products[1], x);  // r'e differs from (r - U y)'e by rounding errors of x
    return Solved::yes;
  }

  /// Something is missing: w = G^-1 b.
  Solved solve_with_gaps(TrackedBasis<T>& U, const Observation<T>& x) {
    const uword d = U.d();
    const T xx = x.dense_norm() * x.dense_norm();
    kind_ = Residual::with_gaps;
    const bool most = U.subtracts() && 2 * x.count() > U.n();
    const T xe = U.sums(x.dense(), G_.memptr(), w_.memptr(), most, q_.data());
    bool refine = true;
    if (!factor(refine)) return solve_nearly_singular(U, x);
    if (U.finds_direction() && !refine) {
      std::copy(w_.begin(), w_.end(), y_.begin());
      kernels::ldl_solve(G_.memptr(), d, w_.memptr());
      const T rr = xx - kernels::short_dot(w_.memptr(), y_.memptr(), d);
      // Far from the subspace, as in solve_full. (|w| <= |r|, so that errors in U'U = I shrink.)
      if (rr > T(0.5) * xx && kernels::short_dot(w_.memptr(), w_.memptr(), d) <= rr) {
        r_is_x_ = true;
        std::copy(w_.begin(), w_.end(), y_.begin());
        refined_ = true;
        finish(rr, xe - kernels::short_dot(q_.data(), w_.memptr(), d), x);
        return Solved::yes;
      }
    } else {
      kernels::ldl_solve(G_.memptr(), d, w_.memptr());
    }
    T products[2];
    for (bool again = false;; again = true) {
      U.residual(w_.memptr(), x.dense(), r_.data(), q_.data(), products);
      // Refine if G is ill-conditioned or holds the errors of U'U = I, or if r is so small that the
      // rounding errors of x count.
      refined_ = refine || most || products[0] < T(0.01) * xx;
      if (!refined_) break;
      std::copy(q_.data(), q_.data() + d, y_.memptr());
      kernels::ldl_solve(G_.memptr(), d, y_.memptr());
      if (changes_w()) return solve_nearly_singular(U, x);
      if (refine_w(products, again)) break;
    }
    // r - U q is orthogonal to U, too, and differs from r - U_Omega y by rounding errors of x.
    if (refined_ && kernels::short_dot(q_.data(), q_.data(), d) <= 64 * eps * eps * xx) {
      std::copy(q_.data(), q_.data() + d, y_.memptr());
      kind_ = Residual::orthogonal_with_gaps;
    }
    finish(products[0], products[1], x);
    return Solved::yes;
  }

  /// w += y, the refinement by U_Omega'r = q. Reduces r'r = products[0] accordingly and returns
  /// true, unless the difference would have few digits and this is the first refinement.
  bool refine_w(T* products, bool again) {
    const uword d = w_.n_elem;
    for (uword c = 0; c < d; ++c) w_[c] += y_[c];
    const T gain = kernels::short_dot(y_.memptr(), q_.data(), d);
    if (!again && !(gain <= T(0.01) * products[0])) return false;
    products[0] -= gain;
    return true;
  }

  /// Sets the results from r'r and r'e, with the direction e of the last step.
  void finish(T rr, T re, const Observation<T>& x) {
    const T length = std::sqrt(std::max(rr, T(0)));
    scale_ = 1 / length;
    overlap_ = double(re * scale_);
    const T shrink = 1 / x.dense_norm();
    residual_ = length * shrink;
    for (T& weight : w_) weight *= shrink;
    squared_w_ = kernels::short_dot(w_.memptr(), w_.memptr(), w_.n_elem);
  }

  /// For few observed entries: the same on a copy of the observed rows.
  Solved solve_gathered(TrackedBasis<T>& U, const Observation<T>& x) {
    const uword d = U.d(), n_blocks = whole_blocks<T>(x.count()) / kernels::block_rows<T>;
    const auto& kernels = kernels::tracked_basis_kernels<T>(d);
    on_rows_ = x.rows();
    r_is_x_ = false;
    count_ = x.count();
    gathered_.resize(whole_blocks<T>(U.n()) * d);
    e_.resize(r_.size());
    scratch_.resize(kernels::sums_scratch<T>(d));
    U.gather(on_rows_, count_, gathered_.data(), e_.data());
    kernels.sums({gathered_.data(), n_blocks, d, nullptr, e_.data(), x.values(), x.values(),
                  G_.memptr(), w_.memptr(), scratch_.data()});
    bool refine;
    if (!factor(refine)) return solve_nearly_singular(U, x);
    kernels::ldl_solve(G_.memptr(), d, w_.memptr());
    T products[2];
    kernels.residual(gathered_.data(), n_blocks, d, w_.memptr(), x.values(), e_.data(), r_.data(),
                     q_.data(), products);
    if (refine || products[0] < T(0.01)) {
      std::copy(q_.data(), q_.data() + d, y_.memptr());
      kernels::ldl_solve(G_.memptr(), d, y_.memptr());
      if (changes_w()) return solve_nearly_singular(U, x);
      for (uword c = 0; c < d; ++c) w_[c] += y_[c];
      kernels.residual(gathered_.data(), n_blocks, d, y_.memptr(), r_.data(), e_.data(), r_.data(),
                       q_.data(), products);
    }
    U.rotate_weights(w_);
    squared_w_ = kernels::short_dot(w_.memptr(), w_.memptr(), d);
    residual_ = std::sqrt(products[0]);
    scale_ = 1 / residual_;
    overlap_ = double(products[1] * scale_);
    return Solved::yes;
  }

  /// Factors G. Returns false if it is nearly singular. `refine` is false if all eigenvalues of G,
  /// of which none exceeds 1, are above 0.01: then w needs no refinement. (The product of the other
  /// eigenvalues is largest if they are equal, so the smallest is at least
  /// mean / e prod(pivot / mean).)
  bool factor(bool& refine) {
    const uword d = w_.n_elem;
    T mean = 0;
    for (uword c = 0; c < d; ++c) mean += G_(c, c) / T(d);
    if (kernels::ldl(G_.memptr(), d) < root_eps) return false;
    T least = mean / T(2.72);
    for (uword c = 0; c < d; ++c) least /= G_(c, c) * mean;  // ldl leaves 1 / pivot
    refine = !(least > T(0.01));
    return true;
  }

  /// Whether the refinement changes w beyond half of its digits: G is then nearly singular, even if
  /// its pivots do not show it.
  bool changes_w() const {
    const uword d = w_.n_elem;
    return kernels::short_dot(y_.memptr(), y_.memptr(), d) >
           eps * kernels::short_dot(w_.memptr(), w_.memptr(), d);
  }

  /// By LeastSquares, for a nearly singular U_Omega.
  Solved solve_nearly_singular(const TrackedBasis<T>& U, const Observation<T>& x) {
    if (!careful_) careful_.emplace(U.n(), U.d());
    const Solved solved = careful_->solve(U.matrix(), x);
    if (solved != Solved::yes) return solved;
    w_ = careful_->w();
    squared_w_ = arma::dot(w_, w_);
    residual_ = careful_->residual();
    scale_ = 1 / residual_;
    refined_ = false;
    kind_ = Residual::whole;
    std::fill(r_.begin(), r_.end(), T(0));
    T overlap = 0;
    for (uword k = 0; k < x.count(); ++k) {
      const T r = careful_->r()[k];
      r_[on_rows_ ? k : x.rows()[k]] = r;
      overlap += r * U.direction(x.rows()[k]);
    }
    overlap_ = double(overlap * scale_);
    return Solved::yes;
  }

  arma::Col<T> w_, y_;
  arma::Mat<T> G_;
  Aligned<T> q_;
  Aligned<T> r_;                       // n entries, padded, see kind_; if gathered, those on Omega
  Aligned<T> gathered_, e_, scratch_;  // U_Omega in row blocks, the last direction on Omega
  const uword* on_rows_ = nullptr;     // Omega, or null if not gathered
  bool by_rows_ = false;               // the basis is row-major
  uword count_ = 0;
  bool refined_ = false, r_is_x_ = false;
  Residual kind_ = Residual::whole;
  T residual_ = 0, scale_ = 1, squared_w_ = 0;
  double overlap_ = 0;
  std::optional<LeastSquares<T>> careful_;
};

}  // namespace gasg21
