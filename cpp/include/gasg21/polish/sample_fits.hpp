// The fits of all samples to one basis: what the polish keeps of them between two looks at the
// data.
#pragma once

#include <algorithm>
#include <tuple>
#include <utility>

#include "gasg21/data/observation.hpp"
#include "gasg21/fit/fixed_fit.hpp"
#include "gasg21/kernels/sample_sums.hpp"
#include "gasg21/support/aligned.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/parallel.hpp"

namespace gasg21 {

/// What is kept of each sample between the two looks at the data of one pass: O(d) numbers.
template <class T>
struct SampleFits {
  arma::Mat<T> W;         // d x m, weights of the unit-norm samples
  arma::vec r2;           // squared residuals of the unit-norm samples
  arma::vec count;        // observed entries; 0 = the sample cannot be used
  arma::Col<T> up, down;  // (x * up) * down is the unit-norm sample
  arma::vec omega;        // what the sample counts, set by `Scatter::weigh`

  SampleFits(uword d, uword m)
      : W(d, m, arma::fill::zeros),
        r2(m, arma::fill::zeros),
        count(m, arma::fill::zeros),
        up(m, arma::fill::zeros),
        down(m, arma::fill::zeros),
        omega(m, arma::fill::zeros) {}
};

/// Fits the samples of a block, which are the samples first, first + 1, ... of the whole, to U.
/// False when it was stopped.
template <class T, class Data>
bool fit_block(const arma::Mat<T>& U, const Data& data, uword first, SampleFits<T>& fits,
               const Parallel& parallel) {
  const uword n = U.n_rows, d = U.n_cols;
  const uword chunk = std::clamp<uword>(1'000'000 / (n * d), 1, 64);
  struct Scratch {
    Observation<T> x;
    FixedFit<T> fit;
  };
  const auto one = [&](uword j, Scratch& scratch) {
    auto& [x, fit] = scratch;
    const uword at = first + j;
    fits.count[at] = 0;
    require(is_sorted(data.sample(j)), "the rows of sample ", at,
            " must rise: the polish reads them in parts");
    if (x.read(data.sample(j)) != Usable::yes || fit.solve(U, x) != Solved::yes) return;
    fits.W.col(at) = fit.w();
    fits.r2[at] = double(fit.residual()) * double(fit.residual());
    fits.count[at] = double(x.count());
    std::tie(fits.up[at], fits.down[at]) = x.factors();
  };
  return parallel.for_each(
      (data.n_cols + chunk - 1) / chunk, [&] { return Scratch{Observation<T>(n), FixedFit<T>(U)}; },
      [&](uword task, Scratch& scratch) {
        for (uword j = task * chunk; j < std::min(data.n_cols, (task + 1) * chunk); ++j)
          one(j, scratch);
      });
}

namespace detail {

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

}  // namespace detail

}  // namespace gasg21
