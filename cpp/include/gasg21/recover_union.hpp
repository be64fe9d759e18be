// recover_union(data, K, d, options): the default algorithm for a union of K subspaces. Candidates,
// selection, a few passes of the stream, polish and repair. One run of KGASG21.fit does this.
#pragma once

#include <vector>

#include "gasg21/data/views.hpp"
#include "gasg21/fit/assign.hpp"
#include "gasg21/k_subspaces.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/union/one_run.hpp"

namespace gasg21 {

using UnionOptions = UnionRunOptions;

/// The result of `recover_union`.
template <class T>
struct UnionRecovery {
  std::vector<arma::Mat<T>> bases;  // K of them, n x d_k, orthonormal
  arma::uvec labels;                // nearest subspace of each sample; K = not determined
  arma::Col<T> residuals;           // distance of the unit-norm samples to it
  Status status;
  arma::vec estimated_angles;  // standard error of the largest angle to each true subspace, radians
  std::vector<PassRecord> history;
  KSubspaces<T> stream;  // continues from here, one vector at a time

  bool converged() const { return is_converged(status); }
};

/// Finds the subspaces of the given dimensions that the good samples lie on. The data is a view.
template <class T, class Data, class Observer>
UnionRecovery<T> recover_union(const Data& data, const std::vector<uword>& dimensions,
                               const UnionOptions& options, Observer& observer) {
  const AdaptiveStep fit_rule(AdaptiveStepOptions::defaults(true, false)), stream_rule;
  UnionRun<KSubspaces<T>> fit(dimensions, fit_rule, stream_rule, CovarianceScaling{}, options);
  fit.run(data, {}, observer);
  fit.hand_back();
  fit.stream().follow_after_fit(options.following, data, is_converged(fit.status()));
  const Assignment<T> nearest =
      assign(SubspaceBank<T>(fit.bases()), data, Parallel(options.n_threads));
  return {fit.bases(),   nearest.labels, nearest.residuals, fit.status(), fit.estimated_angles(),
          fit.history(), fit.stream()};
}

/// The same for an n x m matrix, one sample per column; NaN = missing. K subspaces of dimension d.
template <class T>
UnionRecovery<T> recover_union(const arma::Mat<T>& X, uword K, uword d,
                               const UnionOptions& options = {}) {
  Unobserved nobody;
  return recover_union<T>(DenseView<T>(X), std::vector<uword>(K, d), options, nobody);
}

}  // namespace gasg21
