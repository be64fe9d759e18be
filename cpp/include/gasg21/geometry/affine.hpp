// The affine subspace behind a linear one of lifted samples (x - centre, constant).
#pragma once

#include <cmath>

#include "gasg21/geometry/products.hpp"
#include "gasg21/support/config.hpp"

namespace gasg21 {

/// k x (k - 1), orthonormal columns that are orthogonal to a vector of k entries. A vector of zeros
/// counts as the last unit vector.
inline arma::mat orthogonal_complement(arma::vec v) {
  const uword last = v.n_elem - 1;
  const double length = std::sqrt(arma::dot(v, v));
  if (length > 0) v /= length;
  // A Householder reflection maps the last unit vector to v, up to the sign.
  v[last] += v[last] < 0 ? -1.0 : 1.0;
  const double scale = 2 / arma::dot(v, v);
  arma::mat H(v.n_elem, last, arma::fill::eye);
  for (uword c = 0; c < last; ++c) H.col(c) -= (scale * v[c]) * v;
  return H;
}

/// The axis of the constant in the coordinates of a lifted basis: its last row.
template <class T>
arma::vec constant_axis(const arma::Mat<T>& U) {
  return arma::conv_to<arma::vec>::from(U.row(U.n_rows - 1));
}

/// An affine subspace of dimension d in the coordinates of a lifted basis U, (n + 1) x (d + 1).
template <class T>
struct Flat {
  arma::mat directions;  // (d + 1) x d: U * directions are its directions; orthonormal columns
  arma::Col<T> nearest;  // n: its point that is nearest to the centre, less the centre
};

/// The directions are the part of the span that is orthogonal to the axis of the constant. A span
/// that is orthogonal to that axis has no point at a finite distance: then d of its directions are
/// kept, through the centre.
template <class T>
Flat<T> flat_of(const arma::Mat<T>& U, T constant) {
  const uword n = U.n_rows - 1;
  arma::vec axis = constant_axis(U);
  const double share = arma::dot(axis, axis);
  const bool has_point = share > 1e-20;
  if (!has_point) axis.zeros();
  Flat<T> flat{orthogonal_complement(axis), arma::Col<T>(n, arma::fill::zeros)};
  if (has_point) {
    const arma::Mat<T> weights = arma::conv_to<arma::Mat<T>>::from(axis / share);
    flat.nearest = constant * product(U, weights).head_rows(n);
  }
  return flat;
}

}  // namespace gasg21
