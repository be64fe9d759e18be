// Weights and residual of one observation in a subspace: w = argmin |x_Omega - U_Omega w|, Eq. (5)
// and Alg. 1, steps 3 and 4.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "gasg21/data/observation.hpp"
#include "gasg21/geometry/jacobi_svd.hpp"
#include "gasg21/geometry/products.hpp"
#include "gasg21/kernels/plain.hpp"
#include "gasg21/kernels/small_solve.hpp"
#include "gasg21/support/config.hpp"

namespace gasg21 {

enum class Solved { yes, too_few_entries, rank_deficient };

/// Solves least squares on Omega for one vector after another, and reuses its memory. Works for any
/// U_Omega: uses the singular values if it is nearly singular. TrackedFit is faster.
template <class T>
class LeastSquares {
 public:
  LeastSquares(uword n, uword d) : gathered_(n * d), w_(d), r_(n), G_(d, d), q_(d) {}

  /// The weights, d entries.
  const arma::Col<T>& w() const { return w_; }
  /// The residual on Omega, x.count() entries.
  const T* r() const { return r_.memptr(); }
  /// |r|.
  T residual() const { return residual_; }
  /// The residual is rounding error: x lies in the span of U_Omega as far as T can tell.
  bool exact() const { return residual_ <= 4 * eps * (1 + arma::norm(w_)); }

  /// Pre: U'U = I up to rounding.  Post: U_Omega'r = 0 to rounding *relative to |r|*, however small
  /// r is, because the refinement projects the computed residual once more.
  Solved solve(const arma::Mat<T>& U, const Observation<T>& x) {
    const uword k = x.count(), d = U.n_cols;
    if (k <= d) return Solved::too_few_entries;  // then r = 0 whatever x is: no information
    const T* A = U.memptr();
    if (!x.full()) {
      kernels::gather_rows(U.memptr(), U.n_rows, d, x.rows(), k, gathered_.memptr());
      A = gathered_.memptr();
      kernels::gram(A, k, d, G_.memptr());
      use_svd_ = kernels::ldl(G_.memptr(), d) < std::sqrt(eps);
      if (use_svd_ && !decompose(A, k, d)) return Solved::rank_deficient;
    }
    fit(A, x);
    // If the refinement changes w beyond half of its digits, G is nearly singular, even if its
    // pivots do not show it.
    if (!x.full() && !use_svd_ && arma::norm(q_) > std::sqrt(eps) * arma::norm(w_)) {
      use_svd_ = true;
      if (!decompose(A, k, d)) return Solved::rank_deficient;
      fit(A, x);
    }
    residual_ = std::sqrt(kernels::dot(r(), r(), k));
    return Solved::yes;
  }

  /// q = argmin |b - U_Omega q|, without refinement, and `fitted` = U_Omega q, for another b on the
  /// Omega last solved for; U must not have changed since.
  void project(const arma::Mat<T>& U, const Observation<T>& x, const T* b, arma::Col<T>& q,
               T* fitted) const {
    const uword k = x.count(), d = U.n_cols;
    const T* A = x.full() ? U.memptr() : gathered_.memptr();
    solve_for(A, x.full(), k, d, b, q);
    std::fill(fitted, fitted + k, T(0));
    kernels::add_times(A, k, d, q.memptr(), T(1), fitted);
  }

 private:
  static constexpr T eps = std::numeric_limits<T>::epsilon();

  /// q = argmin |b - A q|.
  void solve_for(const T* A, bool full, uword k, uword d, const T* b, arma::Col<T>& q) const {
    if (!full && use_svd_) {
      kernels::transpose_times(svd_.P.memptr(), k, d, b, q.memptr());
      q = product(svd_.V, arma::Mat<T>(q / svd_.s));
    } else {
      kernels::transpose_times(A, k, d, b, q.memptr());
      if (!full) kernels::ldl_solve(G_.memptr(), d, q.memptr());  // full: G = I
    }
  }

  /// w += q, r -= A q, where q minimises |r - A q|.
  void correct(const T* A, bool full, uword k, uword d) {
    solve_for(A, full, k, d, r(), q_);
    w_ += q_;
    kernels::add_times(A, k, d, q_.memptr(), T(-1), r_.memptr());
  }

  void fit(const T* A, const Observation<T>& x) {
    std::copy(x.values(), x.values() + x.count(), r_.memptr());
    w_.zeros();
    correct(A, x.full(), x.count(), w_.n_elem);
    correct(A, x.full(), x.count(), w_.n_elem);
  }

  /// A = P s V', for a nearly singular G = A'A. Returns false if A is singular: beyond a condition
  /// of 1 / sqrt(eps) the weights are noise.
  bool decompose(const T* A, uword k, uword d) {
    svd_ = thin_svd(arma::Mat<T>(A, k, d));
    return svd_.s[d - 1] > std::sqrt(eps) * svd_.s[0];
  }

  arma::Col<T> gathered_;  // U_Omega, column-major with x.count() rows
  arma::Col<T> w_, r_;
  T residual_ = 0;
  arma::Mat<T> G_;
  arma::Col<T> q_;
  bool use_svd_ = false;
  ThinSvd<T> svd_;
};

}  // namespace gasg21
