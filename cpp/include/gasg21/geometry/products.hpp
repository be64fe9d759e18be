// Products of matrices with few columns. They do not use BLAS, so their bits do not depend on which
// BLAS a program links, and C++ and Python agree.
#pragma once

#include <cmath>

#include "gasg21/kernels/plain.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"

namespace gasg21 {

/// A'B.
template <class T>
arma::Mat<T> transposed_product(const arma::Mat<T>& A, const arma::Mat<T>& B) {
  require(A.n_rows == B.n_rows, "the matrices have ", A.n_rows, " and ", B.n_rows, " rows");
  arma::Mat<T> result(A.n_cols, B.n_cols);
  for (uword c = 0; c < B.n_cols; ++c)
    kernels::transpose_times(A.memptr(), A.n_rows, A.n_cols, B.colptr(c), result.colptr(c));
  return result;
}

/// A B.
template <class T>
arma::Mat<T> product(const arma::Mat<T>& A, const arma::Mat<T>& B) {
  require(A.n_cols == B.n_rows, "a matrix of ", A.n_cols, " columns times one of ", B.n_rows,
          " rows");
  arma::Mat<T> result(A.n_rows, B.n_cols, arma::fill::zeros);
  for (uword c = 0; c < B.n_cols; ++c)
    kernels::add_times(A.memptr(), A.n_rows, A.n_cols, B.colptr(c), T(1), result.colptr(c));
  return result;
}

/// The sum of the products of the entries.
template <class T>
T inner_product(const arma::Mat<T>& A, const arma::Mat<T>& B) {
  require(A.n_elem == B.n_elem, "the matrices have ", A.n_elem, " and ", B.n_elem, " entries");
  return kernels::dot(A.memptr(), B.memptr(), A.n_elem);
}

/// The root of the sum of the squares of the entries.
template <class T>
T frobenius_norm(const arma::Mat<T>& A) {
  return std::sqrt(inner_product(A, A));
}

}  // namespace gasg21
