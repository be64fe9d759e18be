// Weights and residuals of many observations in a fixed basis.
#pragma once

#include "gasg21/basis/tracked_basis.hpp"
#include "gasg21/data/observation.hpp"
#include "gasg21/fit/least_squares.hpp"
#include "gasg21/fit/tracked_fit.hpp"
#include "gasg21/support/config.hpp"

namespace gasg21 {

/// The sample alone decides how it is fitted. Results therefore depend neither on earlier samples
/// nor on the thread.
template <class T>
class FixedFit {
 public:
  /// U must outlive the fit and stay unchanged.
  explicit FixedFit(const arma::Mat<T>& U)
      : basis_(U, arma::Col<T>(U.n_rows, arma::fill::zeros)),
        in_blocks_(U.n_rows, U.n_cols),
        plain_(U.n_rows, U.n_cols) {}

  const arma::Col<T>& w() const { return few_ ? plain_.w() : in_blocks_.w(); }
  T residual() const { return few_ ? plain_.residual() : in_blocks_.residual(); }
  /// As TrackedFit::distance.
  T distance() const { return residual(); }

  Solved solve(const arma::Mat<T>& U, const Observation<T>& x) {
    few_ = x.few();
    return few_ ? plain_.solve(U, x) : in_blocks_.solve_in_blocks(basis_, x);
  }

 private:
  TrackedBasis<T> basis_;
  TrackedFit<T> in_blocks_;
  LeastSquares<T> plain_;
  bool few_ = false;
};

}  // namespace gasg21
