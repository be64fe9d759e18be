// The polish: a batch stage after the stream. Row-wise least squares with the weights of the
// subspace-constrained Tyler estimator (Lerman, Yu and Zhang), here with missing data. It solves
// what the stream cannot (very many outliers, very ill-conditioned or sparse data), reaches the
// accuracy of least squares on the true inliers under noise, and estimates its own error. It is
// another estimator than the paper's L21 sum.
//
// Everything in it is a sum over samples, so data may come in blocks, from a disk or from many
// machines:   block -> fits,   fits -> scatter sums -> weights,   block -> row sums -> new basis.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "gasg21/geometry/grassmann.hpp"
#include "gasg21/polish/coordinate_sums.hpp"
#include "gasg21/polish/sample_fits.hpp"
#include "gasg21/polish/secant.hpp"
#include "gasg21/polish/standard_error.hpp"
#include "gasg21/polish/tyler_scatter.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/parallel.hpp"

namespace gasg21 {

struct PolishOptions {
  uword max_passes = 40;
  double tol = 1e-6;   // stop when a pass changes the subspace by no more than this, or
  double share = 0.1;  // by no more than this share of the estimated error
  unsigned n_threads = 1;
};

struct PolishResult {
  uword passes = 0;
  double change = 0;           // of the last pass, radians
  double estimated_angle = 0;  // standard error of the largest angle to the truth
  bool converged = false;
};

/// One subspace and what the polish knows about the samples: one pass = `fit` every block, `weigh`,
/// `add` every block, `update`.
template <class T>
class Polisher {
 public:
  Polisher(arma::Mat<T> U, uword n_samples)
      : U_(std::move(U)), fits_(U_.n_cols, n_samples), rows_(U_.n_rows, U_.n_cols) {
    require(double(orthonormality_error(U_)) < 1e-3, "the basis is not orthonormal");
  }

  template <class Data>
  bool fit(const Data& block, uword first, const Parallel& parallel) {
    check(block, first);
    return fit_block(U_, block, first, fits_, parallel);
  }

  void weigh(const std::function<bool()>& stop = {}) {
    information_ = gasg21::information(fits_, U_.n_rows);
    // Thirty iterations at first, from equal weights, so that a converged fit is not thrown away.
    scatter_.weigh(fits_, passes_ == 0 ? 31 : 3, stop);
    rows_.sums.zeros();
  }

  template <class Data>
  bool add(const Data& block, uword first, const Parallel& parallel) {
    check(block, first);
    return add_block(U_, block, first, fits_, rows_, parallel);
  }

  /// Returns the angle by which the subspace moved: the step of the rows, prolonged to where such
  /// steps lead, so that a slow approach is not taken for an arrival.
  double update(const Parallel& parallel) {
    ++passes_;
    const arma::Mat<T> before = U_;
    const double change = update_coordinates(U_, rows_, scatter_, parallel);
    const arma::Mat<T> plain = U_;
    secant_.prolong(before, U_, change);
    rotate(scatter_, plain, U_);
    return std::max(change, double(largest_angle(before, U_)));
  }

  const arma::Mat<T>& basis() const { return U_; }
  const SampleFits<T>& fits() const { return fits_; }
  const Scatter& scatter() const { return scatter_; }
  const arma::mat& information() const { return information_; }
  double estimated_angle() const { return standard_error(information_, U_.n_rows); }

 private:
  template <class Data>
  void check(const Data& block, uword first) const {
    require(block.n_rows == U_.n_rows && first + block.n_cols <= fits_.count.n_elem,
            "the block does not fit the polish");
  }

  arma::Mat<T> U_;
  SampleFits<T> fits_;
  CoordinateSums<T> rows_;
  Scatter scatter_;
  Secant<T> secant_;
  arma::mat information_;  // before the last update
  uword passes_ = 0;
};

/// Polishes U on data that is at hand as a whole.
template <class T, class Data>
PolishResult polish(arma::Mat<T>& U, const Data& data, const PolishOptions& options = {}) {
  Polisher<T> polisher(U, data.n_cols);
  const Parallel parallel(options.n_threads);
  const double tol = std::max(options.tol, 10.0 * std::numeric_limits<T>::epsilon());
  PolishResult result;
  while (result.passes < options.max_passes && !result.converged) {
    polisher.fit(data, 0, parallel);
    polisher.weigh();
    polisher.add(data, 0, parallel);
    result.change = polisher.update(parallel);
    result.estimated_angle = polisher.estimated_angle();
    result.converged = result.change <= std::max(tol, options.share * result.estimated_angle);
    ++result.passes;
  }
  U = polisher.basis();
  return result;
}

}  // namespace gasg21
