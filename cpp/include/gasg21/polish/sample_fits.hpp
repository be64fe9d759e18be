// The fits of all samples to one basis: what the polish keeps of them between its two looks at the
// data.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "gasg21/data/observation.hpp"
#include "gasg21/data/views.hpp"
#include "gasg21/fit/fixed_fit.hpp"
#include "gasg21/kernels/sample_sums.hpp"
#include "gasg21/support/aligned.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/parallel.hpp"

namespace gasg21 {

/// Squared residuals of noise-free, unit-norm samples are rounding errors, below this.
inline constexpr double least_r2 = 1e-34;

/// O(d) numbers per sample.
template <class T>
struct SampleFits {
  arma::Mat<T> W;         // d x m, weights of the unit-norm samples
  arma::vec r2;           // squared residuals of the unit-norm samples
  arma::vec count;        // observed entries; 0 = the sample cannot be used
  arma::Col<T> up, down;  // (x * up) * down is the unit-norm sample
  arma::vec omega;        // Tyler weight of the sample, set by `Scatter`

  SampleFits(uword d, uword m)
      : W(d, m, arma::fill::zeros),
        r2(m, arma::fill::zeros),
        count(m, arma::fill::zeros),
        up(m, arma::fill::zeros),
        down(m, arma::fill::zeros),
        omega(m, arma::fill::zeros) {}

  bool is_used(uword j) const { return count[j] > 0; }

  /// Keeps the fit of sample j to an observation of it.
  void keep(uword j, const Observation<T>& x, const FixedFit<T>& fit) {
    W.col(j) = fit.w();
    r2[j] = double(fit.residual()) * double(fit.residual());
    count[j] = double(x.count());
    std::tie(up[j], down[j]) = x.factors();
  }

  /// Sample j cannot be used.
  void drop(uword j) {
    W.col(j).zeros();
    count[j] = 0;
  }

  /// Residuals of the unit-norm samples; NaN for those that cannot be used.
  std::vector<double> residuals() const {
    std::vector<double> all(r2.n_elem, std::numeric_limits<double>::quiet_NaN());
    for (uword j = 0; j < r2.n_elem; ++j)
      if (is_used(j)) all[j] = std::sqrt(r2[j]);
    return all;
  }
};

namespace detail {

/// Prefetches entries of a sample. A piece of a sample, or a short one, ends before the
/// hardware prefetcher has started.
template <class T>
void fetch(const DenseSample<T>& x, uword from, uword to) {
#if defined(__GNUC__)
  for (uword i = from; i < to; i += kernels::block_rows<T>) __builtin_prefetch(x.values + i);
#else
  (void)x, (void)from, (void)to;
#endif
}
template <class T, class Index>
void fetch(const SparseSample<T, Index>&, uword, uword) {}
template <class T>
void fetch(const AnySample<T>& x, uword from, uword to) {
  std::visit([&](const auto& sample) { fetch(sample, from, to); }, x);
}

}  // namespace detail

/// Fits all samples to U. Throws Stopped if it is stopped.
template <class T, class Data>
void fit_samples(const arma::Mat<T>& U, const Data& data, SampleFits<T>& fits,
                 const Parallel& parallel) {
  const uword n = U.n_rows, d = U.n_cols;
  const uword chunk = std::clamp<uword>(1'000'000 / (n * d), 1, 64);
  const uword ahead = std::min<uword>(n, 1024);  // the rest of a longer sample follows by itself
  struct Scratch {
    Observation<T> x;
    FixedFit<T> fit;
  };
  const auto fit_one = [&](uword j, Scratch& scratch) {
    auto& [x, fit] = scratch;
    const auto sample = data.sample(j);
    if (j + 1 < data.n_cols) detail::fetch(data.sample(j + 1), 0, ahead);
    require(is_sorted(sample), "the rows of sample ", j,
            " must rise: the polish reads them in parts");
    if (x.read(sample) == Usable::yes && fit.solve(U, x) == Solved::yes)
      fits.keep(j, x, fit);
    else
      fits.drop(j);
  };
  parallel.for_work(double(n) * double(d) * double(data.n_cols))
      .for_all((data.n_cols + chunk - 1) / chunk,
               [&] { return Scratch{Observation<T>(n), FixedFit<T>(U)}; },
               [&](uword task, Scratch& scratch) {
                 const uword end = std::min(data.n_cols, (task + 1) * chunk);
                 for (uword j = task * chunk; j < end; ++j) fit_one(j, scratch);
               });
}

/// sum_j weight_j w_j w_j' for the columns w_j of W.
template <class T>
arma::mat weighted_gram(const arma::Mat<T>& W, const arma::vec& weight) {
  const uword d = W.n_rows;
  arma::mat G(d, d);
  Aligned<double> scratch((d + d * (d + 1) / 2) * kernels::block_rows<double>);
  kernels::sample_sum_kernels<T>().gram(W.memptr(), d, W.n_cols, weight.memptr(), G.memptr(),
                                        scratch.data());
  return arma::symmatu(G);
}

}  // namespace gasg21
