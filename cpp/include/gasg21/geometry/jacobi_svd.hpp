// Singular value decomposition of matrices with few columns, the only decomposition that the
// library needs. It does not use LAPACK, so that results do not depend on the installed LAPACK or
// on its threads, and the Python module does not need one.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "gasg21/geometry/products.hpp"
#include "gasg21/kernels/plain.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"

namespace gasg21 {

/// A = P diag(s) V' with s in descending order. A column of P is zero if its singular value is.
template <class T>
struct ThinSvd {
  arma::Mat<T> P;
  arma::Col<T> s;
  arma::Mat<T> V;
};

/// Thin SVD by one-sided Jacobi rotations (Hestenes 1958). It is slower than the SVD of LAPACK for
/// many columns, and more accurate for small singular values.
template <class T>
ThinSvd<T> thin_svd(arma::Mat<T> A) {
  const uword n = A.n_rows, k = A.n_cols;
  arma::Mat<T> V(k, k, arma::fill::eye);
  const auto rotate = [](T* a, T* b, uword length, T c, T s) {
    for (uword i = 0; i < length; ++i) {
      const T left = a[i], right = b[i];
      a[i] = c * left - s * right;
      b[i] = s * left + c * right;
    }
  };
  // Bounds of rounding errors: of a dot product of n terms, and of a column relative to A.
  const T eps = std::numeric_limits<T>::epsilon();
  const T orthogonal = eps * (4 + std::sqrt(T(n))), negligible = eps * frobenius_norm(A);
  bool rotated = true;
  for (int sweep = 0; rotated; ++sweep) {
    if (sweep == 60) throw NumericalError("the singular value decomposition did not converge");
    rotated = false;
    for (uword p = 0; p + 1 < k; ++p)
      for (uword q = p + 1; q < k; ++q) {
        T *a = A.colptr(p), *b = A.colptr(q);
        const T ab = kernels::dot(a, b, n);
        const T aa = kernels::dot(a, a, n), bb = kernels::dot(b, b, n);
        const T norm_a = std::sqrt(aa), norm_b = std::sqrt(bb);
        if (std::min(norm_a, norm_b) <= negligible) continue;
        if (std::abs(ab) <= orthogonal * norm_a * norm_b) continue;
        rotated = true;
        const T zeta = (bb - aa) / (2 * ab);
        const T t = std::copysign(T(1), zeta) / (std::abs(zeta) + std::sqrt(1 + zeta * zeta));
        const T c = 1 / std::sqrt(1 + t * t);
        rotate(a, b, n, c, c * t);
        rotate(V.colptr(p), V.colptr(q), k, c, c * t);
      }
  }
  arma::Col<T> s(k);
  for (uword c = 0; c < k; ++c) s[c] = std::sqrt(kernels::dot(A.colptr(c), A.colptr(c), n));
  const arma::uvec order = arma::stable_sort_index(s, "descend");
  ThinSvd<T> result{A.cols(order), s(order), V.cols(order)};
  for (uword c = 0; c < k; ++c)
    if (result.s[c] > 0) result.P.col(c) /= result.s[c];
  return result;
}

/// The singular values of A, in descending order.
template <class T>
arma::Col<T> singular_values(const arma::Mat<T>& A) {
  return thin_svd(A).s;
}

/// The smallest eigenvalue of a symmetric matrix. A shift makes the matrix positive definite first,
/// so the absolute error is about eps times its norm.
inline double smallest_eigenvalue(arma::mat A) {
  const double shift = frobenius_norm(A);
  A.diag() += shift;
  return singular_values(A)[A.n_rows - 1] - shift;
}

}  // namespace gasg21
