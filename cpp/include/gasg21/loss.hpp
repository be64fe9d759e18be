// Losses: what one sample's residual costs. The least-squares gradient of every loss of |r| has the
// direction -e w'; a loss is the weight in front of it. One that also needs other weights w than
// least squares (GRASTA's L1) brings its own fit and keeps this interface.
#pragma once

namespace gasg21 {

/// |r|, the paper's L21 sum: each sample pulls with the same force, Eqs. (5) and (7).
struct L21Loss {
  double weight(double /*residual*/) const { return 1; }
};

/// |r|^2 / 2, which makes the tracker GROUSE (Sec. III-C): an outlier pulls hardest.
struct SquaredLoss {
  double weight(double residual) const { return residual; }
};

}  // namespace gasg21
