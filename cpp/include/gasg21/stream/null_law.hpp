// Law of a vector in a random direction: how near it comes to a subspace, and how much the
// gradients of two of them agree by chance.
#pragma once

#include <cmath>
#include <vector>

#include "gasg21/inliers/null_bounds.hpp"
#include "gasg21/support/config.hpp"

namespace gasg21 {

/// Residuals and gradients of random directions, by the number of observed entries.
class NullLaw {
 public:
  struct Null {
    double residual;  // a random direction comes nearer with the probability `level`
    double chance;    // standard deviation of the agreement of two random gradients, as a cosine
  };

  /// For vectors of n entries and a subspace of d dimensions.
  NullLaw(uword n, uword d, double level) : n_(n), d_(d), level_(level) {}

  /// For vectors with `count` observed entries.  Pre: d < count <= n.
  const Null& at(uword count) {
    if (by_count_.empty()) by_count_.resize(n_ + 1, {unknown, unknown});
    Null& null = by_count_[count];
    if (null.residual == unknown) null = compute(double(count));
    return null;
  }

 private:
  static constexpr double unknown = -1;

  Null compute(double count) const {
    const double d = double(d_), free = count - d;
    return {null_residual(count, d, level_), 1 / std::sqrt(free * d)};
  }

  uword n_, d_;
  double level_;
  std::vector<Null> by_count_;  // computed when a count first appears
};

}  // namespace gasg21
