// The leading directions of a subspace that was fitted with more dimensions than are kept.
#pragma once

#include <algorithm>

#include "gasg21/geometry/affine.hpp"
#include "gasg21/geometry/jacobi_svd.hpp"
#include "gasg21/geometry/products.hpp"
#include "gasg21/polish/standard_error.hpp"
#include "gasg21/support/config.hpp"

namespace gasg21 {

/// The d directions of U in which the inliers' weights, of scatter C, vary most. The axis of a
/// constant is one of them, whatever its share: without it a lifted subspace has no point.
template <class T>
arma::mat leading_directions(const arma::mat& C, const arma::Mat<T>& U, uword d,
                             bool has_constant) {
  if (!has_constant) return thin_svd(C).V.eval().head_cols(d);
  const arma::vec axis = constant_axis(U);
  const arma::mat rest = orthogonal_complement(axis);
  const arma::mat V = thin_svd(transposed_product(rest, product(C, rest))).V.eval();
  return arma::join_rows(axis / std::max(arma::norm(axis), 1e-300),
                         product(rest, arma::mat(V.head_cols(d - 1))));
}

/// The standard error of the directions of U. That of the constant tells where an affine subspace
/// lies, not how it is inclined.
template <class T>
double error_of(const arma::mat& information, const arma::Mat<T>& U, bool has_constant) {
  return standard_error(
      has_constant ? information_besides(information, constant_axis(U)) : information, U.n_rows);
}

/// The standard error of the d leading directions of U.
template <class T>
double error_of_leading(const arma::mat& information, const arma::mat& C, const arma::Mat<T>& U,
                        uword d, bool has_constant) {
  if (d == U.n_cols) return error_of(information, U, has_constant);
  const arma::mat V = leading_directions(C, U, d, has_constant);
  const arma::mat kept = transposed_product(V, product(information, V));
  return error_of(kept, arma::Mat<T>(product(U, arma::conv_to<arma::Mat<T>>::from(V))),
                  has_constant);
}

}  // namespace gasg21
