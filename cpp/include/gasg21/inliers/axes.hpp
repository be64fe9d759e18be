// Principal axes: the basis that users see. Its directions are those in which the inliers vary
// most.
#pragma once

#include <cmath>
#include <utility>

#include "gasg21/data/lift.hpp"
#include "gasg21/geometry/affine.hpp"
#include "gasg21/geometry/jacobi_svd.hpp"
#include "gasg21/geometry/products.hpp"
#include "gasg21/support/config.hpp"

namespace gasg21 {

/// A linear or affine subspace in its principal axes.
template <class T>
struct PrincipalAxes {
  arma::Mat<T> components;       // n x d, orthonormal, strongest first
  arma::Col<T> mean;             // n; zeros for a linear subspace
  arma::vec explained_variance;  // of the inliers along each axis
};

/// How many of the leading axes hold a share of the inliers' variance; all if it is not known.
inline uword dimension_of_share(const arma::vec& explained_variance, double share) {
  const double wanted = share * arma::accu(explained_variance);
  if (!(wanted > 0) || !std::isfinite(wanted)) return explained_variance.n_elem;
  uword count = 0;
  for (double sum = 0; count < explained_variance.n_elem && sum < wanted; ++count)
    sum += explained_variance[count];
  return count;
}

/// Makes the largest entry of each column positive.
template <class T>
void fix_signs(arma::Mat<T>& U) {
  for (uword c = 0; c < U.n_cols; ++c)
    if (U(arma::index_max(arma::abs(U.col(c))), c) < T(0)) U.col(c) *= T(-1);
}

/// The map from weights in a basis, linear or lifted, to weights in the subspace itself.
template <class T>
arma::mat to_subspace(const arma::Mat<T>& U, const Lift<T>* lift) {
  if (!lift || lift->n_appended() == 0) return arma::mat(U.n_cols, U.n_cols, arma::fill::eye);
  return flat_of(U, lift->constant).directions;
}

/// The axes of a subspace whose inliers have weights with this mean and covariance, in the
/// coordinates of `to_subspace`.
template <class T>
PrincipalAxes<T> principal_axes(const arma::Mat<T>& U, const Lift<T>* lift, const arma::vec& mean,
                                const arma::mat& covariance) {
  const auto in_T = [](const arma::mat& A) { return arma::conv_to<arma::Mat<T>>::from(A); };
  const ThinSvd<double> spectrum = thin_svd(covariance);
  const arma::mat map = to_subspace(U, lift);
  PrincipalAxes<T> axes{product(U, in_T(product(map, spectrum.V))),
                        arma::Col<T>(U.n_rows, arma::fill::zeros), spectrum.s};
  if (lift) {
    const uword n = lift->centre.n_elem;
    const arma::Mat<T> along = product(U, in_T(product(map, arma::mat(mean))));
    axes.components = axes.components.head_rows(n);
    axes.mean = lift->centre + along.head_rows(n);
    if (lift->n_appended() > 0) axes.mean += flat_of(U, lift->constant).nearest;
  }
  fix_signs(axes.components);
  return axes;
}

}  // namespace gasg21
