// What each sample counts: the weights of the subspace-constrained Tyler estimator, with missing
// data.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>

#include "gasg21/kernels/plain.hpp"
#include "gasg21/kernels/sample_sums.hpp"
#include "gasg21/polish/sample_fits.hpp"
#include "gasg21/support/aligned.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"

namespace gasg21 {

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
    kernels::sample_sum_kernels<T>().lengths(fits.W.memptr(), d, fits.W.n_cols, L.memptr(),
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

}  // namespace gasg21
