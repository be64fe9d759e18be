// recover_union(data, K, d, options): the default algorithm for a union of K subspaces. KGASG21.fit
// runs the same UnionFit, so both give the same labels for the same seed.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "gasg21/data/views.hpp"
#include "gasg21/k_subspaces.hpp"
#include "gasg21/recovery/report.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/union/model_order.hpp"
#include "gasg21/union/options.hpp"
#include "gasg21/union/union.hpp"
#include "gasg21/union/union_fit.hpp"

namespace gasg21 {

/// The result of `recover_union`.
template <class T>
struct UnionRecovery {
  Union<T> model;                   // answers for new samples: labels, residuals, completion
  std::vector<arma::Mat<T>> bases;  // K of them, n x d_k, orthonormal
  arma::Mat<T> means;               // n x K: a point of each subspace; 0 unless they are affine
  arma::uvec labels;                // the subspace of each sample; K = none
  arma::Col<T> residuals;           // distance of the unit-norm samples to it
  Status status;
  arma::vec estimated_angles;  // standard error of the largest angle to each true subspace, radians
  std::optional<double> agreement;     // of different representations; empty = none was asked
  std::optional<Selection> selection;  // of the numbers that the data has chosen
  std::vector<PassRecord> history;
  KSubspaces<T> stream;  // continues from here, in the working coordinates of the model

  bool converged() const { return is_converged(status); }
};

/// Finds the subspaces that the good samples lie on. The data is a view; the observer sees each
/// pass, and may stop the fit. Throws Stopped if it was stopped before there were subspaces.
template <class T, class Observer>
UnionRecovery<T> recover_union(const AnyView<T>& data, const UnionOrder& order,
                               const UnionOptions& options, Observer& observer) {
  const AdaptiveStep fit_rule(AdaptiveStepOptions::defaults(true, false)), stream_rule;
  UnionFit<KSubspaces<T>> fit(data, order, fit_rule, stream_rule, CovarianceScaling{}, options);
  fit.run({}, observer);
  std::vector<arma::Mat<T>> bases;
  arma::Mat<T> means(fit.model().n_features(), fit.model().n_clusters());
  for (uword k = 0; k < fit.model().n_clusters(); ++k) {
    UnionMember<T> member = fit.model().subspace(k);
    bases.push_back(std::move(member.directions));
    means.col(k) = member.point;
  }
  const auto& found = fit.found();
  return {fit.model(),  std::move(bases),       std::move(means), fit.labels(),    fit.residuals(),
          found.status, found.estimated_angles, found.agreement,  fit.selection(), found.history,
          fit.stream()};
}

/// The same for an n x m matrix, one sample per column; NaN = missing. K subspaces of dimension d;
/// `automatic` leaves a number to the data.
template <class T>
UnionRecovery<T> recover_union(const arma::Mat<T>& X, uword K, uword d,
                               const UnionOptions& options = {}) {
  Unobserved nobody;
  return recover_union<T>(AnyView<T>(DenseView<T>(X)), UnionOrder{K, {d}}, options, nobody);
}

}  // namespace gasg21
