// Small symmetric matrices that are positive definite, or nearly so: inverse and square root.
#pragma once

#include <cmath>

#include "gasg21/kernels/small_solve.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"

namespace gasg21 {

namespace detail {

/// The factors of A + ridge I (see kernels::ldl), with the smallest ridge that makes it positive
/// definite: at least `least` times the mean of the diagonal.
inline arma::mat ridged_factors(const arma::mat& A, double least) {
  const double unit = arma::trace(A) / double(A.n_rows);
  arma::mat L;
  for (double ridge = least; ridge < 1; ridge = ridge > 0 ? 100 * ridge : 1e-15) {
    L = A;
    L.diag() += ridge * unit;
    if (kernels::ldl(L.memptr(), L.n_rows) > 0) return L;
  }
  throw NumericalError("a matrix is not positive definite");
}

}  // namespace detail

/// A^-1. A gets a ridge of `least` times its mean diagonal, and more if it is not positive
/// definite.
inline void positive_inverse(const arma::mat& A, arma::mat& inverse, double least) {
  const arma::mat L = detail::ridged_factors(A, least);
  inverse.eye(A.n_rows, A.n_rows);
  for (uword c = 0; c < A.n_rows; ++c) kernels::ldl_solve(L.memptr(), A.n_rows, inverse.colptr(c));
}

/// R, lower triangular, with R R' = A, up to a ridge where A is singular.
inline arma::mat positive_root(const arma::mat& A) {
  const arma::mat L = detail::ridged_factors(A, 0);
  arma::mat R(A.n_rows, A.n_cols, arma::fill::zeros);
  for (uword c = 0; c < A.n_cols; ++c) {
    const double root = 1 / std::sqrt(L(c, c));  // the diagonal holds 1 / D
    R(c, c) = root;
    for (uword r = c + 1; r < A.n_rows; ++r) R(r, c) = L(r, c) * root;
  }
  return R;
}

}  // namespace gasg21
