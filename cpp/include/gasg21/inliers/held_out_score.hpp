// How well a subspace predicts entries that it does not see: one number for model selection.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "gasg21/data/medians.hpp"
#include "gasg21/data/views.hpp"
#include "gasg21/support/config.hpp"

namespace gasg21 {

/// The point whose distance from a sample is the unit of its errors: the medians of the coordinates
/// over some of the samples, so that fits with and without a centre compare. Zeros for few samples,
/// whose medians would be the samples themselves.
template <class T, class Data>
arma::vec score_reference(const Data& data) {
  constexpr double most_entries = 4194304;
  const double entries = double(data.n_cols) * double(data.n_rows);
  const uword step = std::max<uword>(1, uword(entries / most_entries));
  if (data.n_cols / step < 10) return arma::vec(data.n_rows, arma::fill::zeros);
  std::vector<uword> some;
  for (uword j = 0; j < data.n_cols; j += step) some.push_back(j);
  return arma::conv_to<arma::vec>::from(
      coordinate_medians<T>(SubsetView<Data>(data, std::move(some))));
}

/// 1 minus a robust mean of the samples' held-out errors (Completer::held_out_error): 1 is perfect,
/// 0 as good as the reference. NaN without any error. The mean is the M-scale sigma of Huber's
/// bounded loss: mean(min(error / sigma, 1)) = 3/4, which up to three quarters of outlying samples
/// cannot change by much, times 3/4, so that equal errors have themselves as their mean. Errors
/// below 1e-12 count as none, so that dimensions that all fit exactly tie.
inline double held_out_score(std::vector<double> errors) {
  constexpr double share = 0.75, none = 1e-12, huge = 1e6;
  errors.erase(std::remove_if(errors.begin(), errors.end(), [](double e) { return !(e >= 0); }),
               errors.end());
  if (errors.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(errors.begin(), errors.end());
  std::vector<double> sums{0.0};  // of the smallest ones
  for (const double e : errors) sums.push_back(sums.back() + std::min(e, huge));
  // The largest are bounded: the sum of the others / sigma + their number = share m.
  double left = share * double(errors.size()), sigma = 0;
  for (std::size_t below = errors.size(); below > 0 && left > 0; --below, --left) {
    sigma = sums[below] / left;
    if (sigma >= std::min(errors[below - 1], huge)) break;
  }
  return 1 - std::max(share * sigma, none);
}

}  // namespace gasg21
