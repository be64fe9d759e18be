// Whether the residuals of some samples may have a few directions in common. Those of isotropic
// noise and outliers have none, and then no other subspace is near many of the samples.
#pragma once

#include <algorithm>
#include <cmath>

#include "gasg21/data/observation.hpp"
#include "gasg21/fit/fixed_fit.hpp"
#include "gasg21/kernels/plain.hpp"
#include "gasg21/kernels/sample_sums.hpp"
#include "gasg21/support/aligned.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/random.hpp"

namespace gasg21 {

/// Looked for: a share of the samples whose residuals have a share of their energy in as many
/// common directions as the subspace has dimensions.
struct CommonDirections {
  double of_samples, of_energy;
};

namespace detail {

/// Compares the residual of each of some samples with the residuals before it.
template <class T>
class ResidualPairs {
 public:
  static constexpr uword most_samples = 128, window = 12;

  /// Residuals up to `least` are rounding error, and have nothing in common.
  ResidualPairs(const arma::Mat<T>& U, double least)
      : U_(U),
        least_(least),
        x_(U.n_rows),
        fit_(U),
        stride_(whole_blocks<T>(U.n_rows)),
        last_(stride_ * window, T(0)),
        next_(stride_, T(0)) {}

  /// The mean of the squared cosines of some pairs, in random order, beyond the mean of isotropic
  /// residuals.
  template <class Data>
  double mean_excess(const Data& samples, Random random) {
    const arma::uvec order = random.permutation(samples.n_cols);
    const uword count = std::min(most_samples, samples.n_cols);
    double sum = 0, pairs = 0;
    bool tells[window] = {};
    T cosines[window];
    for (uword k = 0; k < count; ++k) {
      const bool here = read(samples.sample(order[k]));
      kernels::sample_sum_kernels<T>().products(last_.data(), stride_, window, next_.data(),
                                                cosines);
      for (uword b = 0; b < std::min(k, window); ++b, ++pairs)
        if (here && tells[b])
          sum += double(cosines[b]) * double(cosines[b]) - 1 / double(U_.n_rows - U_.n_cols);
      tells[k % window] = here;
      std::copy(next_.begin(), next_.end(), last_.begin() + std::ptrdiff_t(k % window * stride_));
    }
    return sum / pairs;
  }

 private:
  /// Sets next_ to the residual of a sample, of unit length; 0 where it is missing, and if it tells
  /// nothing. Returns whether it does.
  template <class Sample>
  bool read(const Sample& sample) {
    std::fill(next_.begin(), next_.end(), T(0));
    const bool fitted = x_.read(sample) == Usable::yes && fit_.solve(U_, x_) == Solved::yes;
    if (!fitted || !(double(fit_.residual()) > least_)) return false;
    const T *const x = x_.dense(), unit = 1 / x_.dense_norm(), longer = 1 / fit_.residual();
    for (uword i = 0; i < U_.n_rows; ++i) next_[i] = x[i] * unit;
    kernels::add_times(U_.memptr(), U_.n_rows, U_.n_cols, fit_.w().memptr(), T(-1), next_.data());
    for (uword i = 0; i < U_.n_rows; ++i) next_[i] = x[i] == x[i] ? next_[i] * longer : T(0);
    return true;
  }

  const arma::Mat<T>& U_;
  double least_;
  Observation<T> x_;
  FixedFit<T> fit_;
  uword stride_;
  Aligned<T> last_, next_;  // residuals: of the samples before, and of this one
};

}  // namespace detail

/// False if the residuals of the samples to U clearly have nothing in common. True also where they
/// could not tell: in few dimensions, or with few entries observed. A sample observes the share
/// `observed` of its entries; residuals up to `least` are rounding error.
template <class T, class Data>
bool may_have_common(const CommonDirections& wanted, const arma::Mat<T>& U, const Data& samples,
                     double observed, double least, const Random& random) {
  using Pairs = detail::ResidualPairs<T>;
  const double n = double(U.n_rows), d = double(U.n_cols), m = double(samples.n_cols);
  // If s unit residuals have a share c of their energy in d directions, the squares of their
  // cosines add up to (c s)^2 / d or more; s of it is each with itself. A cosine shrinks with the
  // share of the entries that both samples observe.
  const double s = wanted.of_samples * m, inside = wanted.of_energy * s;
  const double excess = observed * observed * (inside * inside / d - s) / (m * m);
  const double pairs = std::min(m, double(Pairs::most_samples)) * double(Pairs::window);
  const double error = std::sqrt(2 / pairs) / (n - d);  // of the mean for isotropic residuals
  constexpr double margin = 5, clear = 3;
  if (observed < 0.5 || !(excess > margin * clear * error)) return true;
  return !(Pairs(U, least).mean_excess(samples, random) < excess / margin);
}

}  // namespace gasg21
