// Geometry of the Grassmannian: the rank-one gradient, the geodesic step, orthonormal bases and the
// angles between subspaces. Eqs. (7) to (9).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gasg21/geometry/jacobi_svd.hpp"
#include "gasg21/geometry/products.hpp"
#include "gasg21/kernels/plain.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/random.hpp"

namespace gasg21 {

/// The gradient -weight * e w' of the loss of one sample, Eq. (8). It is never formed as a matrix.
template <class T>
struct RankOneGradient {
  arma::Col<T> e;     // unit residual, n entries, zero off Omega
  arma::Col<T> w;     // least-squares weights, d entries
  double weight = 0;  // derivative of the loss at the residual; 0 = no gradient yet
};

/// A gradient whose direction e is stored elsewhere.
template <class T>
struct Weights {
  arma::Col<T> w;
  double weight = 0;
};

/// Moves U along the geodesic of direction e v' by the angle theta, Eq. (9).
/// Pre: U'U = I, U'e = 0, |e| = |v| = 1.  Post: U'U = I up to rounding. `shift` is scratch (n).
template <class T>
void geodesic_step(arma::Mat<T>& U, const arma::Col<T>& e, const arma::Col<T>& v, double theta,
                   arma::Col<T>& shift) {
  const double half = std::sin(theta / 2);
  const T along = T(-2 * half * half);  // cos(theta) - 1 without cancellation
  const T sine = T(std::sin(theta));
  shift = sine * e;
  kernels::add_times(U.memptr(), U.n_rows, U.n_cols, v.memptr(), along, shift.memptr());
  kernels::add_outer(U.memptr(), U.n_rows, U.n_cols, shift.memptr(), v.memptr());
}

/// max |U'U - I|.
template <class T>
T orthonormality_error(const arma::Mat<T>& U) {
  T worst = 0;
  for (uword j = 0; j < U.n_cols; ++j)
    for (uword i = j; i < U.n_cols; ++i) {
      const T product = kernels::dot(U.colptr(i), U.colptr(j), U.n_rows);
      const T error = std::abs(product - T(i == j));
      if (std::isnan(error)) return error;  // std::max would drop it
      worst = std::max(worst, error);
    }
  return worst;
}

/// Orthonormalizes the columns of U in order, by Gram-Schmidt. Each projection runs twice, for full
/// precision. R in U_old = U R has a positive diagonal, so weights stored beside U keep their
/// signs. Returns false if the columns are dependent; U is then unspecified.
template <class T>
bool orthonormalize(arma::Mat<T>& U) {
  const uword n = U.n_rows;
  std::vector<T> products(U.n_cols);
  for (uword c = 0; c < U.n_cols; ++c) {
    T* u = U.colptr(c);
    const T largest = arma::abs(U.col(c)).max();
    if (!(largest > 0) || !std::isfinite(largest)) return false;
    U.col(c) /= largest;  // prevents overflow of the squares
    const T before = std::sqrt(kernels::dot(u, u, n));
    for (int time = 0; time < 2; ++time) {
      kernels::transpose_times(U.memptr(), n, c, u, products.data());
      kernels::add_times(U.memptr(), n, c, products.data(), T(-1), u);
    }
    const T after = std::sqrt(kernels::dot(u, u, n));
    const T rounding = 10 * std::sqrt(T(n)) * std::numeric_limits<T>::epsilon() * before;
    if (!(after > rounding)) return false;
    U.col(c) /= after;
  }
  return true;
}

/// A uniformly random d-dimensional subspace of R^n, as an orthonormal basis.
template <class T>
arma::Mat<T> random_basis(uword n, uword d, Random& random) {
  require(d <= n, "d = ", d, " must be at most n = ", n);
  require(d == 0 || n <= std::numeric_limits<uword>::max() / sizeof(T) / d, "a basis of ", n,
          " rows and ", d, " columns is too large");  // Armadillo takes 2^63 x 2 for empty
  arma::Mat<T> U(n, d);
  do {  // the columns are dependent with probability 0
    random.normals(U.memptr(), U.n_elem);
  } while (!orthonormalize(U));
  return U;
}

/// The principal angles between the spans of two orthonormal bases, in radians, largest first.
/// Angles below pi / 4 come from their sine, because the arc cosine returns 0 for angles below
/// 1e-8.
template <class T>
arma::Col<T> principal_angles(const arma::Mat<T>& A, const arma::Mat<T>& B) {
  require(A.n_rows == B.n_rows, "the bases have ", A.n_rows, " and ", B.n_rows,
          " rows; they must have the same number of rows");
  if (A.n_cols < B.n_cols) return principal_angles(B, A);
  const arma::Mat<T> cosines = transposed_product(A, B);
  const arma::Mat<T> off = B - product(A, cosines);
  const arma::Col<T> c = singular_values(cosines), s = singular_values(off);
  arma::Col<T> angles(B.n_cols);
  for (uword i = 0; i < B.n_cols; ++i) {  // cosines descend: the last one belongs to s[0]
    const T sine = std::min(s[i], T(1)), cosine = std::min(c[B.n_cols - 1 - i], T(1));
    angles[i] = sine * sine < T(0.5) ? std::asin(sine) : std::acos(cosine);
  }
  return angles;
}

/// The largest principal angle between the spans of two orthonormal bases, in radians. It computes
/// in double for every T. It runs after each pass, so it only decomposes d x d matrices.
template <class T>
double largest_angle(const arma::Mat<T>& A, const arma::Mat<T>& B) {
  require(A.n_rows == B.n_rows, "the bases have ", A.n_rows, " and ", B.n_rows,
          " rows; they must have the same number of rows");
  if (A.n_cols < B.n_cols) return largest_angle(B, A);
  const arma::mat a = arma::conv_to<arma::mat>::from(A), b = arma::conv_to<arma::mat>::from(B);
  const uword n = a.n_rows, d = b.n_cols;
  arma::mat cosines(a.n_cols, d), off = b, gram(d, d);
  for (uword c = 0; c < d; ++c) {
    kernels::transpose_times(a.memptr(), n, a.n_cols, b.colptr(c), cosines.colptr(c));
    kernels::add_times(a.memptr(), n, a.n_cols, cosines.colptr(c), -1.0, off.colptr(c));
  }
  kernels::gram(off.memptr(), n, d, gram.memptr());
  const double squared_sine = singular_values(arma::mat(arma::symmatl(gram)))[0];
  if (squared_sine < 0.5) return std::asin(std::sqrt(squared_sine));
  return std::acos(std::min(singular_values(cosines)[d - 1], 1.0));
}

}  // namespace gasg21
