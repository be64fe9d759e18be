// Metrics: in which units of the weights a step is measured. A metric says along which direction of
// the subspace to turn for a gradient, how far, and how much two gradients agree.
#pragma once

#include "config.hpp"
#include "grassmann.hpp"

namespace gasg21 {

/// The paper's: the canonical metric of the Grassmannian.
struct NoScaling {
  /// Takes note of a gradient before it is used. There is nothing to learn here.
  template <class T>
  void learn(const RankOneGradient<T>& /*g*/, double /*residual*/, double /*eta*/) {}

  /// The previous gradient against this one, Eq. (10).
  template <class T>
  double agreement(const RankOneGradient<T>& previous, const RankOneGradient<T>& g) const {
    return inner(previous, g);
  }

  /// The unit direction v to turn within the subspace, and the angle for a step of length eta,
  /// Eq. (9): the geodesic of -grad has the speed sigma = weight |w|.
  template <class T>
  double turn(const RankOneGradient<T>& g, double eta, arma::Col<T>& v) const {
    const double sigma = double(arma::norm(g.w));
    v = g.w / T(sigma);
    return eta * g.weight * sigma;
  }
};

}  // namespace gasg21
