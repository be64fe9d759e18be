// How much each sample counts: the weights of the subspace-constrained Tyler estimator (Lerman, Yu
// and Zhang), extended to missing data.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>

#include "gasg21/kernels/sample_sums.hpp"
#include "gasg21/kernels/small_solve.hpp"
#include "gasg21/polish/sample_fits.hpp"
#include "gasg21/support/aligned.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/parallel.hpp"

namespace gasg21 {

/// Sums over samples that determine the scatter. The sums of several blocks add up.
struct ScatterSums {
  arma::mat C;        // sum of omega w w'
  double s = 0;       // sum of omega r^2 / (N - d)
  double weight = 0;  // sum of omega

  explicit ScatterSums(uword d) : C(d, d, arma::fill::zeros) {}

  template <class T>
  explicit ScatterSums(const SampleFits<T>& fits) : C(weighted_gram(fits.W, fits.omega)) {
    const double d = double(fits.W.n_rows);
    const double *omega = fits.omega.memptr(), *r2 = fits.r2.memptr(), *count = fits.count.memptr();
    for (uword j = 0; j < fits.count.n_elem; ++j) {
      if (!(count[j] > 0)) continue;
      s += omega[j] * r2[j] / (count[j] - d);
      weight += omega[j];
    }
  }

  ScatterSums& operator+=(const ScatterSums& other) {
    C += other.C;
    s += other.s;
    weight += other.weight;
    return *this;
  }
};

/// How many samples have at most half the mean square residual of a random direction.
template <class T>
uword count_near(const SampleFits<T>& fits) {
  const double d = double(fits.W.n_rows);
  uword near = 0;
  for (uword j = 0; j < fits.count.n_elem; ++j)
    near += fits.is_used(j) && 2 * fits.r2[j] * fits.count[j] < fits.count[j] - d;
  return near;
}

/// Where few samples lie near the subspace, the weights would concentrate on d samples that are
/// fitted exactly. A larger residual scale prevents that.
inline double softness(uword d, uword near) { return double(near) < 8 * double(d) ? 3 : 1; }

/// The scatter of the inliers: C of their weights, s of their squared residuals per degree of
/// freedom. It gives the Tyler weight of each sample.
struct Scatter {
  arma::mat C;  // empty = unknown: all samples count alike
  double s = 0;

  /// Fixed-point iterations: the first time from equal weights, so many that a converged fit is not
  /// thrown away; later a few.
  static constexpr int first_iterations = 31, later_iterations = 3;

  Scatter() = default;
  Scatter(arma::mat C_, double s_) : C(std::move(C_)), s(s_) {}
  explicit Scatter(const ScatterSums& sums) {
    require(sums.weight > 0, "no sample can be used");
    C = sums.C / sums.weight;
    s = std::max(sums.s / sums.weight, least_r2);
  }

  /// The fixed point of one round. `soften`: few samples may lie near the subspace.
  template <class T>
  void settle(SampleFits<T>& fits, bool soften, const std::function<bool()>& stop = {}) {
    const int iterations = C.empty() ? first_iterations : later_iterations;
    weigh(fits, iterations, soften ? softness(fits.W.n_rows, count_near(fits)) : 1, stop);
  }

  /// Tyler's fixed point, from the fits alone. Sets fits.omega. A `softness` above 1 enlarges the
  /// residual scale. Throws Stopped when `stop` returns true.
  template <class T>
  void weigh(SampleFits<T>& fits, int iterations, double softness = 1,
             const std::function<bool()>& stop = {}) {
    set_weights(fits, softness);
    for (int i = 0; i < iterations; ++i) {
      if (stop && stop()) throw Stopped{};
      *this = Scatter(ScatterSums(fits));
      set_weights(fits, softness);
    }
  }

  /// omega_j = 1 / (w' C^-1 w + r^2 / (softness s)).
  template <class T>
  void set_weights(SampleFits<T>& fits, double softness = 1) const {
    const uword d = fits.W.n_rows;
    require(C.empty() || (C.n_rows == d && C.n_cols == d), "the scatter is not ", d, " x ", d);
    if (C.empty()) {
      for (uword j = 0; j < fits.count.n_elem; ++j) fits.omega[j] = fits.is_used(j) ? 1 : 0;
      return;
    }
    const arma::mat L = factor();
    Aligned<double> scratch(d * kernels::block_rows<double>);
    kernels::sample_sum_kernels<T>().lengths(fits.W.memptr(), d, fits.W.n_cols, L.memptr(),
                                             fits.omega.memptr(), scratch.data());
    const double scale = softness * s;
    double* const omega = fits.omega.memptr();
    const double *const r2 = fits.r2.memptr(), *const count = fits.count.memptr();
    for (uword j = 0; j < fits.count.n_elem; ++j)
      omega[j] = count[j] > 0 ? 1 / (omega[j] + r2[j] / scale) : 0;
  }

  /// The factors of C = L D L' (see kernels::ldl), with the smallest ridge that makes C positive
  /// definite.
  arma::mat factor() const {
    const double unit = arma::trace(C) / double(C.n_rows);
    for (double ridge = 1e-14; ridge < 1; ridge *= 100) {
      arma::mat L = C;
      L.diag() += ridge * unit;
      if (kernels::ldl(L.memptr(), L.n_rows) > 0) return L;
    }
    throw NumericalError("the scatter of the weights is not positive definite");
  }
};

}  // namespace gasg21
