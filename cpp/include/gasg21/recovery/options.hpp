// How a fit of one subspace is to go.
#pragma once

#include <cstdint>

#include "gasg21/stream/follower.hpp"
#include "gasg21/support/config.hpp"

namespace gasg21 {

/// Where a fit starts.
enum class Start { random, spherical_pca };

struct RecoverOptions {
  uword max_passes = 20;         // of the stream; the polish makes at most twice as many
  double tol = 1e-6;             // the angle to aim at, radians; 0 without polish = run all passes
  bool center = false;           // true = an affine subspace
  bool polish = true;            // false = the stream alone
  bool doubt = true;             // look for reasons not to believe a result
  uword working_components = 0;  // fit this many dimensions, then keep the best d; 0 = d
  Start start = Start::random;
  std::uint64_t seed = 0;
  unsigned n_threads = 1;  // of the polish; the result does not depend on it
  Following following{};   // how the tracker goes on after the fit
};

}  // namespace gasg21
