// The samples that a run of K subspaces is compared on with other representations, and that a
// consensus is sought among: complete ones near the subspaces, or near their span.
#pragma once

#include <utility>
#include <vector>

#include "gasg21/data/views.hpp"
#include "gasg21/fit/assign.hpp"
#include "gasg21/fit/subspace_bank.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/union/near_subspaces.hpp"
#include "gasg21/union/one_subspace.hpp"
#include "gasg21/union/screening.hpp"

namespace gasg21 {

struct Participants {
  std::vector<uword> columns;  // their numbers, rising
  arma::mat X;                 // the samples, complete

  uword size() const { return columns.size(); }

  /// Drops the others.
  void keep(const std::vector<bool>& which) {
    std::vector<uword> kept, places;
    for (uword j = 0; j < size(); ++j) {
      if (!which[j]) continue;
      kept.push_back(columns[j]);
      places.push_back(j);
    }
    columns = std::move(kept);
    X = arma::mat(X.cols(arma::conv_to<arma::uvec>::from(places)));
  }
};

/// The samples with their missing entries filled in from the subspaces of their labels; samples
/// without a label stay as they are.
inline arma::mat filled_from_own(arma::mat X, const arma::uvec& labels,
                                 const std::vector<arma::mat>& bases,
                                 const Parallel& parallel = Parallel()) {
  for (uword k = 0; k < bases.size() && X.has_nan(); ++k) {
    const arma::uvec own = arma::find(labels == k);
    arma::mat part = X.cols(own);
    OneSubspace{bases[k], 0, 0}.complete(part, parallel);
    X.cols(own) = part;
  }
  return X;
}

/// With a screening, those near the span of all clusters; else those near one of the subspaces.
/// Missing entries are filled in from there. Samples of zeros do not take part.
inline Participants participants(const arma::mat& X, const std::vector<arma::mat>& bases,
                                 const Screening* screening,
                                 const Parallel& parallel = Parallel()) {
  std::vector<bool> good;
  Participants found;
  if (screening) {
    good = screening->keeps(X, parallel);
    found.X = screening->complete(X, parallel);
  } else {
    const DenseView<double> data(X);
    const Assignment<double> assigned = assign(SubspaceBank<double>(bases), data, parallel);
    good = near_own(bases, assigned, data);
    found.X = filled_from_own(X, assigned.labels, bases, parallel);
  }
  for (uword j = 0; j < X.n_cols; ++j) {
    found.columns.push_back(j);
    good[j] = good[j] && found.X.col(j).is_finite() && arma::any(found.X.col(j));
  }
  found.keep(good);
  return found;
}

}  // namespace gasg21
