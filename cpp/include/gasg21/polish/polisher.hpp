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

#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/geometry/grassmann.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/polish/coordinate_sums.hpp"
#include "gasg21/polish/tyler_scatter.hpp"

namespace gasg21 {

/// Where a sequence of subspaces that converges slowly is going: the step U -> V prolonged, by the
/// secant through this step and the one before, as if both were steps of a linear iteration. Only
/// ever forward: backward, where steps grow, would lead to a saddle point.
template <class T>
class Secant {
 public:
  /// Moves V. (`angle` is that between U and V: far apart, nothing is linear.)
  void prolong(const arma::Mat<T>& U, arma::Mat<T>& V, double angle) {
    const arma::Mat<T> from = std::exchange(from_, U), to = std::exchange(to_, V);
    if (from.empty() || !(angle < 0.2)) return;
    const arma::Mat<T> step = tangent(U, V), end = tangent(U, to);
    const arma::Mat<T> before = end - tangent(U, from), change = step - before;
    const double towards = arma::dot(step, change), squared = arma::dot(change, change);
    const double further =
        towards > 0 ? (arma::dot(step, before) > 0 ? 1.0 : 0.0) : std::min(-towards / squared, 4.0);
    if (!(further > 0)) return;
    arma::Mat<T> W = U + step + T(further) * (step - end);
    if (orthonormalize(W)) V = std::move(W);
  }

 private:
  /// The direction from U to the subspace of A, to second order in the angle; normal to U.
  static arma::Mat<T> tangent(const arma::Mat<T>& U, const arma::Mat<T>& A) {
    const arma::Mat<T> projected = A * (A.t() * U);
    return projected - U * (U.t() * projected);
  }

  arma::Mat<T> from_, to_;  // the step before
};

/// What one block contributes to a round of the polish that many machines share: for a subspace and
/// a scatter that all of them know. Sums of blocks add up; `next` makes the new subspace of them.
template <class T>
struct BlockSums {
  ScatterSums scatter;
  RowSums<T> rows;
  arma::mat information;

  BlockSums& operator+=(const BlockSums& other) {
    scatter.C += other.scatter.C;
    scatter.s += other.scatter.s;
    scatter.weight += other.scatter.weight;
    rows += other.rows;
    information += other.information;
    return *this;
  }
};

/// block -> sums.
template <class T, class Data>
BlockSums<T> block_sums(const arma::Mat<T>& U, const Scatter& scatter, const Data& block,
                        const Parallel& parallel = Parallel()) {
  SampleFits<T> fits(U.n_cols, block.n_cols);
  fit_block(U, block, 0, fits, parallel);
  scatter.set_weights(fits);
  BlockSums<T> sums{ScatterSums(fits), RowSums<T>(U.n_rows, U.n_cols), information(fits, U.n_rows)};
  add_block(U, block, 0, fits, sums.rows, parallel);
  return sums;
}

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
    const double change = update_rows(U_, rows_, scatter_, parallel);
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
  RowSums<T> rows_;
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
