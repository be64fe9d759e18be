// Assigns each sample to its nearest subspace, Alg. 3, step 12.
#pragma once

#include <algorithm>
#include <limits>

#include "gasg21/fit/subspace_bank.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/parallel.hpp"

namespace gasg21 {

/// The nearest subspace of each sample, and the residual in it.
template <class T>
struct Assignment {
  arma::uvec labels;       // the number of subspaces = undetermined
  arma::Col<T> residuals;  // of the unit-norm samples; 0 for a zero sample, NaN = undetermined
};

/// Assigns all samples. Throws Stopped if it was interrupted.
template <class T, class Data>
Assignment<T> assign(const SubspaceBank<T>& bank, const Data& data,
                     const Parallel& parallel = Parallel()) {
  require(data.n_rows == bank.n(), "the data has ", data.n_rows, " rows, but n = ", bank.n());
  constexpr uword chunk = 64;
  Assignment<T> all{arma::uvec(data.n_cols), arma::Col<T>(data.n_cols)};
  using Scratch = typename SubspaceBank<T>::Scratch;
  parallel.for_all((data.n_cols + chunk - 1) / chunk, [&] { return Scratch(bank); },
                   [&](uword task, Scratch& scratch) {
                     for (uword j = task * chunk; j < std::min(data.n_cols, (task + 1) * chunk);
                          ++j) {
                       Nearest<T> best{bank.size(), std::numeric_limits<T>::quiet_NaN()};
                       const Usable usable = scratch.x.read(data.sample(j));
                       if (usable == Usable::yes) best = bank.nearest(scratch);
                       if (usable == Usable::zero) best.residual = 0;
                       all.labels[j] = best.cluster;
                       all.residuals[j] = best.residual;
                     }
                   });
  return all;
}

}  // namespace gasg21
