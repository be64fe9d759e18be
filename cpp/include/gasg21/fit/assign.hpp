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

namespace detail {

/// Reads and fits the samples begin, begin + 1, ..., end - 1, several at a time.
template <class T, class Data, class Use>
void fit_some(const SubspaceBank<T>& bank, const Data& data, uword begin, uword end,
              typename SubspaceBank<T>::Scratch& scratch, Use& use) {
  for (uword first = begin; first < end; first += scratch.n_samples()) {
    const uword here = std::min(scratch.n_samples(), end - first), next = first + here;
    for (uword s = 0; s < here; ++s) scratch.read(data.sample(first + s), s);
    bank.fit_all(scratch, here, next < data.n_cols ? dense_values(data.sample(next)) : nullptr);
    for (uword s = 0; s < here; ++s) use(first + s, scratch, s);
  }
}

}  // namespace detail

/// Reads and fits all samples. Calls use(sample, scratch, its number there) for each, on several
/// threads. Throws Stopped if it was interrupted.
template <class T, class Data, class Use>
void for_all_fitted(const SubspaceBank<T>& bank, const Data& data, const Parallel& parallel,
                    Use&& use) {
  require(data.n_rows == bank.n(), "the data has ", data.n_rows, " rows, but n = ", bank.n());
  constexpr uword chunk = 64;
  using Scratch = typename SubspaceBank<T>::Scratch;
  parallel.for_all((data.n_cols + chunk - 1) / chunk,
                   [&] { return Scratch(bank, bank.samples_at_once()); },
                   [&](uword task, Scratch& scratch) {
                     const uword end = std::min(data.n_cols, (task + 1) * chunk);
                     detail::fit_some(bank, data, task * chunk, end, scratch, use);
                   });
}

/// The nearest subspace of each sample; their number = undetermined. Throws Stopped if it was
/// interrupted.
template <class T, class Data>
arma::uvec assign_labels(const SubspaceBank<T>& bank, const Data& data,
                         const Parallel& parallel = Parallel()) {
  arma::uvec labels(data.n_cols);
  for_all_fitted(bank, data, parallel, [&](uword j, auto& scratch, uword s) {
    labels[j] = bank.nearest_cluster(scratch, s);
  });
  return labels;
}

/// The same with the residuals, in half as much time again.
template <class T, class Data>
Assignment<T> assign(const SubspaceBank<T>& bank, const Data& data,
                     const Parallel& parallel = Parallel()) {
  Assignment<T> all{arma::uvec(data.n_cols), arma::Col<T>(data.n_cols)};
  for_all_fitted(bank, data, parallel, [&](uword j, auto& scratch, uword s) {
    const Nearest<T> best = bank.nearest(scratch, s);
    all.labels[j] = best.cluster;
    all.residuals[j] = best.residual;
  });
  return all;
}

}  // namespace gasg21
