// A subspace with all that its fits say about the inliers: principal axes, spread, decision, prior.
#pragma once

#include <memory>
#include <utility>

#include "gasg21/data/lift.hpp"
#include "gasg21/inliers/axes.hpp"
#include "gasg21/inliers/fitted.hpp"
#include "gasg21/support/config.hpp"

namespace gasg21 {

template <class T>
struct Subspace {
  arma::Mat<T> U;  // n x d, orthonormal; of the lifted samples if there is a lift
  std::shared_ptr<const Lift<T>> lift;  // none = a linear subspace
  PrincipalAxes<T> axes;

  /// `exact`: samples with a smaller residual lie in the subspace. `rotate` = false keeps the basis
  /// of a linear subspace as it is, as the paper's algorithm does.
  Subspace(arma::Mat<T> basis, std::shared_ptr<const Lift<T>> lift_, const Fitted& fitted,
           double exact, bool rotate = true)
      : U(std::move(basis)), lift(std::move(lift_)) {
    const arma::mat map = to_subspace(U, lift.get());
    arma::mat A = product(arma::mat(map.t()), fitted.W);
    std::vector<uword> in;
    for (uword j = 0; j < fitted.size(); ++j)
      if (fitted.count[j] > 0 && fitted.r2[j] < 0.25) {
        A.col(j) *= fitted.norm[j];
        in.push_back(j);
      }
    arma::vec mean(A.n_rows, arma::fill::zeros);
    arma::mat C(A.n_rows, A.n_rows, arma::fill::eye);
    if (in.size() > A.n_rows) {
      const arma::mat B = A.cols(arma::uvec(in));
      mean = arma::mean(B, 1);
      const arma::mat Z = B.each_col() - mean;
      C = product(Z, arma::mat(Z.t())) / double(in.size());
    }
    (void)exact;
    axes = principal_axes(U, lift.get(), mean, C);
    if (!rotate && !lift) axes.components = U;
  }
};

}  // namespace gasg21
