// Losses: what the residual of one sample costs. A loss names the fit that gives the weights w and
// the unit direction e of the gradient, which is -weight(length) e w'. For a loss of |r| the fit is
// least squares, e = r / |r|, and the length is |r|.
#pragma once

#include <cmath>

#include "gasg21/fit/fixed_fit.hpp"
#include "gasg21/fit/l1_admm.hpp"
#include "gasg21/fit/tracked_fit.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"

namespace gasg21 {

/// Common part of the losses of |r|.
struct LeastSquaresLoss {
  /// The fit in a basis that a tracker moves.
  template <class T>
  TrackedFit<T> make_fit(uword n, uword d) const {
    return {n, d};
  }
  /// The fit in a fixed basis.
  template <class T>
  FixedFit<T> make_fixed_fit(const arma::Mat<T>& U) const {
    return FixedFit<T>(U);
  }
  /// Whether the standard error of least squares describes the result.
  static constexpr bool is_least_squares() { return true; }
};

/// |r|, the paper's L21 sum: all samples have gradients of the same length, Eqs. (5) and (7).
struct L21Loss : LeastSquaresLoss {
  double weight(double /*residual*/) const { return 1; }
};

/// |r|^2 / 2, which makes the tracker GROUSE (Sec. III-C): outliers have the longest gradients.
struct SquaredLoss : LeastSquaresLoss {
  double weight(double residual) const { return residual; }
};

/// The sum of the |r_i|, which makes the tracker GRASTA: all *entries* count alike, so corrupted
/// entries do little harm. Its weights w differ from least squares.
struct L1Loss {
  L1AdmmOptions options;

  template <class T>
  L1Admm<T> make_fit(uword n, uword d) const {
    return {n, d, options};
  }
  template <class T>
  L1Admm<T> make_fixed_fit(const arma::Mat<T>& U) const {
    return {U.n_rows, U.n_cols, options};
  }
  static constexpr bool is_least_squares() { return false; }
  double weight(double length) const { return length; }
};

}  // namespace gasg21
