// Extrapolation for a sequence of subspaces that converges slowly.
#pragma once

#include <algorithm>
#include <utility>

#include "gasg21/geometry/grassmann.hpp"
#include "gasg21/support/config.hpp"

namespace gasg21 {

/// Where a sequence of subspaces that converges slowly is going: the step U -> V prolonged, by the
/// secant through this step and the one before, as if both were steps of a linear iteration. Only
/// ever forward: backward, where steps grow, would lead to a saddle point.
template <class T>
class Secant {
 public:
  /// Moves V. (`angle` is that between U and V: far apart, nothing is linear.)
  void prolong(const arma::Mat<T>& U, arma::Mat<T>& V, double angle) {
    const arma::Mat<T> from = std::exchange(from_, U), to = std::exchange(to_, V);
    if (from.empty() || !(angle < 0.2)) return;
    const arma::Mat<T> step = tangent(U, V), end = tangent(U, to);
    const arma::Mat<T> before = end - tangent(U, from), change = step - before;
    const double towards = arma::dot(step, change), squared = arma::dot(change, change);
    const double further =
        towards > 0 ? (arma::dot(step, before) > 0 ? 1.0 : 0.0) : std::min(-towards / squared, 4.0);
    if (!(further > 0)) return;
    arma::Mat<T> W = U + step + T(further) * (step - end);
    if (orthonormalize(W)) V = std::move(W);
  }

 private:
  /// The direction from U to the subspace of A, to second order in the angle; normal to U.
  static arma::Mat<T> tangent(const arma::Mat<T>& U, const arma::Mat<T>& A) {
    const arma::Mat<T> projected = A * (A.t() * U);
    return projected - U * (U.t() * projected);
  }

  arma::Mat<T> from_, to_;  // the step before
};

}  // namespace gasg21
