// What the polish knows of the samples between two looks at the data: their fits, what each of them
// counts (Tyler's weights, with missing data), and how well they determine the subspace.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>
#include <utility>

#include "gasg21/support/aligned.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/kernels/plain.hpp"
#include "gasg21/geometry/jacobi_svd.hpp"
#include "gasg21/data/observation.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/kernels/sample_sums.hpp"
#include "gasg21/fit/fixed_fit.hpp"

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
    StandingFit<T> fit;
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
  return parallel.for_each((data.n_cols + chunk - 1) / chunk,
                           [&] { return Scratch{Observation<T>(n), StandingFit<T>(U)}; },
                           [&](uword task, Scratch& scratch) {
                             for (uword j = task * chunk;
                                  j < std::min(data.n_cols, (task + 1) * chunk); ++j)
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
  kernels::sample_kernels<T>().gram(W.memptr(), d, W.n_cols, weight.memptr(), G.memptr(),
                                    scratch.data());
  return arma::symmatu(G);
}

}  // namespace detail

/// Sums over samples from which the scatter of the inliers follows. Add those of several blocks.
struct ScatterSums {
  arma::mat C;        // of omega w w'
  double s = 0;       // of omega r^2 / (N - d)
  double weight = 0;  // of omega

  template <class T>
  explicit ScatterSums(const SampleFits<T>& fits) : C(detail::weighted_gram(fits.W, fits.omega)) {
    const double d = double(fits.W.n_rows);
    for (uword j = 0; j < fits.count.n_elem; ++j) {
      if (fits.count[j] == 0) continue;
      s += fits.omega[j] * fits.r2[j] / (fits.count[j] - d);
      weight += fits.omega[j];
    }
  }
};

/// The scatter of the inliers: C of their weights, s of their squared residuals per degree of
/// freedom. From it comes what each sample counts.
struct Scatter {
  arma::mat C;  // empty = nothing is known yet: all samples count alike
  double s = 0;

  Scatter() = default;
  Scatter(arma::mat C_, double s_) : C(std::move(C_)), s(s_) {}
  explicit Scatter(const ScatterSums& sums) {
    require(sums.weight > 0, "no sample can be used");
    C = sums.C / sums.weight;
    s = std::max(sums.s / sums.weight, 1e-34);  // noise-free data: rounding level
  }

  /// Tyler's fixed point, `times` iterations; no look at the data. Sets fits.omega. `stop` is asked
  /// after each; true ends it.
  template <class T>
  void weigh(SampleFits<T>& fits, int times, const std::function<bool()>& stop = {}) {
    set_weights(fits);
    for (int i = 0; i < times && !(stop && stop()); ++i) {
      *this = Scatter(ScatterSums(fits));
      set_weights(fits);
    }
  }

  /// omega_j = 1 / (w' C^-1 w + r^2 / s).
  template <class T>
  void set_weights(SampleFits<T>& fits) const {
    const uword d = fits.W.n_rows;
    require(C.empty() || (C.n_rows == d && C.n_cols == d), "the scatter is not ", d, " x ", d);
    if (C.empty()) {
      for (uword j = 0; j < fits.count.n_elem; ++j) fits.omega[j] = fits.count[j] == 0 ? 0 : 1;
      return;
    }
    arma::mat L = factor();
    L.diag() = 1 / L.diag();
    Aligned<double> scratch(d * kernels::block_rows<double>);
    kernels::sample_kernels<T>().lengths(fits.W.memptr(), d, fits.W.n_cols, L.memptr(),
                                         fits.omega.memptr(), scratch.data());
    for (uword j = 0; j < fits.count.n_elem; ++j)
      fits.omega[j] = fits.count[j] == 0 ? 0 : 1 / (fits.omega[j] + fits.r2[j] / s);
  }

 private:
  /// The Cholesky factor of C, with as little on its diagonal as it takes.
  arma::mat factor() const {
    const double unit = arma::trace(C) / double(C.n_rows);
    for (double ridge = 1e-14; ridge < 1; ridge *= 100) {
      arma::mat L = C;
      L.diag() += ridge * unit;
      if (kernels::cholesky(L.memptr(), L.n_rows) > 0) return L;
    }
    throw NumericalError("the scatter of the weights is not positive");
  }
};

/// What the inliers say about each direction of the subspace, in units of their own noise.
template <class T>
arma::mat information(const SampleFits<T>& fits, uword n) {
  const double d = double(fits.W.n_rows);
  arma::vec weight(fits.count.n_elem, arma::fill::zeros);
  double used = 0;
  for (uword j = 0; j < fits.count.n_elem; ++j) {
    if (fits.count[j] == 0) continue;
    const double noise = std::max(fits.r2[j], 1e-34) / (fits.count[j] - d);
    weight[j] = fits.count[j] / double(n) / noise;
    ++used;
  }
  arma::mat sums = detail::weighted_gram(fits.W, weight);
  // Of that, noise in the weights makes up the identity on average; all of it for an outlier.
  sums.diag() -= used;
  return sums;
}

/// Standard error of the largest angle to the true subspace, from the fits alone: that of the
/// direction which the inliers say least about.
inline double standard_error(const arma::mat& information, uword n) {
  const double smallest = smallest_eigenvalue(information), lost = arma::datum::pi / 2;
  return smallest > 0 ? std::min(std::sqrt(double(n) / smallest), lost) : lost;
}
template <class T>
double standard_error(const SampleFits<T>& fits, uword n) {
  return standard_error(information(fits, n), n);
}

}  // namespace gasg21
