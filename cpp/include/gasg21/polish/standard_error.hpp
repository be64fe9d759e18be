// How well the samples determine the subspace: the standard error of the largest angle to the true
// subspace, from the fits alone.
#pragma once

#include <algorithm>
#include <cmath>

#include "gasg21/geometry/affine.hpp"
#include "gasg21/geometry/jacobi_svd.hpp"
#include "gasg21/geometry/products.hpp"
#include "gasg21/polish/sample_fits.hpp"
#include "gasg21/support/config.hpp"

namespace gasg21 {

/// The information of the samples about each direction of the subspace, in units of their noise.
/// Fits have W, r2 and count, as SampleFits do.
template <class Fits>
arma::mat information(const Fits& fits, uword n) {
  const double d = double(fits.W.n_rows);
  arma::vec weight(fits.count.n_elem, arma::fill::zeros);
  double used = 0;
  for (uword j = 0; j < fits.count.n_elem; ++j) {
    if (!(fits.count[j] > 0)) continue;
    const double noise = std::max(fits.r2[j], least_r2) / (fits.count[j] - d);
    weight[j] = fits.count[j] / double(n) / noise;
    ++used;
  }
  arma::mat sums = weighted_gram(fits.W, weight);
  // Noise in the weights contributes the identity per sample on average, and is all that an outlier
  // contributes.
  sums.diag() -= used;
  return sums;
}

/// The information about the directions orthogonal to `axis`, when the coefficient along it is
/// estimated too: a Schur complement. Zeros if there is no information about the axis.
inline arma::mat information_besides(const arma::mat& information, const arma::vec& axis) {
  const arma::mat rest = orthogonal_complement(axis);
  const arma::mat unit = axis / std::max(std::sqrt(arma::dot(axis, axis)), 1e-300);
  const arma::mat mixed = transposed_product(rest, product(information, unit));
  const double own = inner_product(unit, product(information, unit));
  if (!(own > 0)) return arma::mat(rest.n_cols, rest.n_cols, arma::fill::zeros);
  return transposed_product(rest, product(information, rest)) -
         product(mixed, arma::mat(mixed.t())) / own;
}

/// Standard error of the largest angle, from the direction with the least information.
inline double standard_error(const arma::mat& information, uword n) {
  const double smallest = smallest_eigenvalue(information), lost = arma::datum::pi / 2;
  return smallest > 0 ? std::min(std::sqrt(double(n) / smallest), lost) : lost;
}
template <class T>
double standard_error(const SampleFits<T>& fits, uword n) {
  return standard_error(information(fits, n), n);
}

}  // namespace gasg21
