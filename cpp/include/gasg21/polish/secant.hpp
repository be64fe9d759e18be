// Extrapolation for a sequence of subspaces that converges slowly.
#pragma once

#include <algorithm>
#include <utility>

#include "gasg21/geometry/grassmann.hpp"
#include "gasg21/geometry/products.hpp"
#include "gasg21/support/config.hpp"

namespace gasg21 {

/// A secant through the last two steps estimates the limit, as if both were steps of a linear
/// iteration. Moves there, at most five step lengths, never backward: where steps grow, the
/// backward direction leads to a saddle point.
template <class T>
class Secant {
 public:
  /// Moves V, the end of a step from U. `angle` is the angle between them: beyond 0.2 the linear
  /// model does not hold, and V stays.
  void extrapolate(const arma::Mat<T>& U, arma::Mat<T>& V, double angle) {
    const arma::Mat<T> from = std::exchange(from_, U), to = std::exchange(to_, V);
    if (from.empty() || !(angle < 0.2)) return;
    const arma::Mat<T> step = tangent(U, V), end = tangent(U, to);
    const arma::Mat<T> before = end - tangent(U, from), change = step - before;
    const double toward = inner_product(step, change), squared = inner_product(change, change);
    const double further = toward > 0 ? (inner_product(step, before) > 0 ? 1.0 : 0.0)
                                      : std::min(-toward / squared, 4.0);
    if (!(further > 0)) return;
    arma::Mat<T> W = U + step + T(further) * (step - end);
    if (orthonormalize(W)) V = std::move(W);
  }

 private:
  /// The direction from U to the subspace of A, to second order in the angle; orthogonal to U.
  static arma::Mat<T> tangent(const arma::Mat<T>& U, const arma::Mat<T>& A) {
    const arma::Mat<T> projected = product(A, transposed_product(A, U));
    return projected - product(U, transposed_product(U, projected));
  }

  arma::Mat<T> from_, to_;  // the previous step
};

}  // namespace gasg21
