// One subspace or flat of dense samples, for algorithms that need one on the way.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "gasg21/data/views.hpp"
#include "gasg21/fit/projector.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/parallel.hpp"

namespace gasg21 {

/// A linear subspace of complete or incomplete samples.
struct OneSubspace {
  arma::mat basis;             // n x d, orthonormal
  double estimated_angle = 0;  // NaN = unknown
  double bound = 0;            // random directions have larger residuals

  /// The residuals of the unit-norm samples: 1 for a sample of zeros, NaN where undetermined.
  arma::vec residuals(const arma::mat& X, const Parallel& parallel = Parallel()) const;
  /// Whether each sample is as far from the subspace as a random direction, or tells nothing.
  std::vector<bool> is_outlier(const arma::mat& X, const Parallel& parallel = Parallel()) const;
  /// Fills in the missing entries; NaN where they are not determined.
  void complete(arma::mat& X, const Parallel& parallel = Parallel()) const;
};

/// An affine subspace.
struct OneFlat {
  arma::mat directions;  // n x d, orthonormal
  arma::vec point;       // n, on the flat
  double estimated_angle = 0;
};

namespace detail {

/// Calls use(j, projector) for each sample after it was read, on several threads.
template <class Use>
void each_projected(const arma::mat& basis, const arma::mat& X, const std::vector<uword>& columns,
                    const Parallel& parallel, Use&& use) {
  constexpr uword chunk = 64;
  const uword count = columns.size();
  parallel.for_work(double(basis.n_elem) * double(count))
      .for_all((count + chunk - 1) / chunk, [&] { return Projector<double>(basis); },
               [&](uword task, Projector<double>& projector) {
                 for (uword c = task * chunk; c < std::min(count, (task + 1) * chunk); ++c) {
                   projector.read(DenseSample<double>{X.colptr(columns[c])});
                   use(columns[c], projector);
                 }
               });
}

}  // namespace detail

inline arma::vec OneSubspace::residuals(const arma::mat& X, const Parallel& parallel) const {
  require(X.n_rows == basis.n_rows, "samples of ", X.n_rows, " entries do not fit a subspace of ",
          basis.n_rows);
  arma::vec found(X.n_cols);
  std::vector<uword> all(X.n_cols);
  for (uword j = 0; j < X.n_cols; ++j) all[j] = j;
  detail::each_projected(basis, X, all, parallel, [&](uword j, const Projector<double>& fit) {
    const bool is_zero = !fit.determined() && fit.residual() == 0;
    found[j] = is_zero ? 1 : fit.residual();
  });
  return found;
}

inline std::vector<bool> OneSubspace::is_outlier(const arma::mat& X,
                                                 const Parallel& parallel) const {
  const arma::vec found = residuals(X, parallel);
  std::vector<bool> outlier(X.n_cols);
  for (uword j = 0; j < X.n_cols; ++j) outlier[j] = !(found[j] <= bound);  // so is NaN
  return outlier;
}

inline void OneSubspace::complete(arma::mat& X, const Parallel& parallel) const {
  std::vector<uword> incomplete;
  for (uword j = 0; j < X.n_cols; ++j)
    if (X.col(j).has_nan()) incomplete.push_back(j);
  detail::each_projected(
      basis, X, incomplete, parallel,
      [&](uword j, const Projector<double>& fit) { fit.fill_missing(X.colptr(j)); });
}

}  // namespace gasg21
