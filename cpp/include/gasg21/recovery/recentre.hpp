// The centre of an affine subspace under a loss of the single entries. Such a loss takes the
// constant of a lift for a corrupted entry, so the centre is moved onto the subspace instead.
#pragma once

#include <utility>
#include <vector>

#include "gasg21/data/views.hpp"
#include "gasg21/fit/projector.hpp"
#include "gasg21/geometry/products.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/median.hpp"

namespace gasg21 {

/// The median residual of each coordinate over some samples, fitted by the loss: how far the centre
/// lies off the subspace. 0 for coordinates that are not observed. The data is centred.
template <class T, class Data, class Loss>
arma::Col<T> median_residuals(const arma::Mat<T>& U, const Data& data, const Loss& loss) {
  constexpr uword enough = 2000;
  const auto some = about(data, enough);
  auto fit = loss.template make_fixed_fit<T>(U);
  Projector<T, decltype(fit)> projector(U, std::move(fit));
  std::vector<std::vector<T>> residuals(U.n_rows);
  arma::Col<T> w(U.n_cols);
  for (uword j = 0; j < some.n_cols; ++j) {
    if (!projector.read(some.sample(j))) continue;
    projector.weights(w.memptr());
    const arma::Col<T> fitted = product(U, arma::Mat<T>(w));
    each_entry(some.sample(j), 0, U.n_rows, [&](uword i, T value, bool observed) {
      if (observed) residuals[i].push_back(value - fitted[i]);
    });
  }
  arma::Col<T> medians(U.n_rows, arma::fill::zeros);
  for (uword i = 0; i < U.n_rows; ++i)
    if (!residuals[i].empty()) medians[i] = median(std::move(residuals[i]));
  return medians;
}

}  // namespace gasg21
