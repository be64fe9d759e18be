// Losses: what one sample's residual costs. A loss names the fit that gives its weights w and the
// direction e in which a sample pulls; the gradient is -weight(length) e w', with the length of
// that pull. For every loss of |r| the fit is least squares and the length is |r|.
#pragma once

#include <cmath>

#include "gasg21/fit/l1_admm.hpp"
#include "gasg21/fit/tracked_fit.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"

namespace gasg21 {

/// What the losses of |r| have in common.
struct LeastSquaresLoss {
  template <class T>
  TrackedFit<T> make_fit(uword n, uword d) const {
    return {n, d};
  }
};

/// |r|, the paper's L21 sum: each sample pulls with the same force, Eqs. (5) and (7).
struct L21Loss : LeastSquaresLoss {
  double weight(double /*residual*/) const { return 1; }
};

/// |r|^2 / 2, which makes the tracker GROUSE (Sec. III-C): an outlier pulls hardest.
struct SquaredLoss : LeastSquaresLoss {
  double weight(double residual) const { return residual; }
};

/// The sum of the |r_i|, which makes the tracker GRASTA: each *entry* pulls with the same force, so
/// corrupted entries do little harm. Its weights are not those of least squares.
struct L1Loss {
  L1AdmmOptions options;

  template <class T>
  L1Admm<T> make_fit(uword n, uword d) const {
    return {n, d, options};
  }
  double weight(double length) const { return length; }
};

}  // namespace gasg21
