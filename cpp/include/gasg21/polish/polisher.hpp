// The polish: a batch stage after the stream. Least squares for each coordinate, reweighted by the
// subspace-constrained Tyler estimator, with missing data. It solves what the stream cannot (very
// many outliers, very ill-conditioned or sparse data), reaches the accuracy of least squares on the
// true inliers under noise, and estimates its own error. It is another estimator than the paper's
// L21 sum.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

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

/// The polish stops when a pass moves the subspace by less than this share of its estimated error.
inline constexpr double stop_share = 0.1;

/// Ends a pass: solves the sums, extrapolates, so that a slow approach is not taken for
/// convergence, and rotates the scatter along. Returns the angle by which the subspace moved.
template <class T>
double advance(arma::Mat<T>& U, const CoordinateSums<T>& sums, Scatter& scatter, Secant<T>& secant,
               const Parallel& parallel) {
  const arma::Mat<T> before = U;
  const double change = update_coordinates(U, sums, scatter, parallel);
  const arma::Mat<T> solved = U;
  secant.extrapolate(before, U, change);
  rotate(scatter, solved, U);
  return std::max(change, double(largest_angle(before, U)));
}

/// One subspace under polish. A pass is `fit`, `weigh`, `add`, `update`. All throw Stopped when the
/// work is stopped.
template <class T>
class Polisher {
 public:
  Polisher(arma::Mat<T> U, uword n_samples)
      : U_(std::move(U)), fits_(U_.n_cols, n_samples), sums_(U_.n_rows, U_.n_cols) {
    require(double(orthonormality_error(U_)) < 1e-3, "the basis is not orthonormal");
  }

  /// One pass. Returns the angle by which the subspace moved.
  template <class Data>
  double pass(const Data& data, const Parallel& parallel) {
    fit(data, parallel);
    weigh([&] { return parallel.is_stopped(); });
    add(data, parallel);
    return update(parallel);
  }

  /// Fits all samples to the basis.
  template <class Data>
  void fit(const Data& data, const Parallel& parallel) {
    check(data);
    fit_samples(U_, data, fits_, parallel);
  }

  /// Weighs the samples.
  void weigh(const std::function<bool()>& stop = {}) {
    information_ = gasg21::information(fits_, U_.n_rows);
    const int iterations = knows_scatter_ ? Scatter::later_iterations : Scatter::first_iterations;
    scatter_.weigh(fits_, iterations, 1, stop);
    sums_.sums.zeros();
  }

  /// Sums the normal equations of all coordinates.
  template <class Data>
  void add(const Data& data, const Parallel& parallel) {
    check(data);
    add_samples(U_, data, fits_, sums_, parallel);
  }

  /// Solves them. Returns the angle by which the subspace moved.
  double update(const Parallel& parallel) {
    knows_scatter_ = true;
    return advance(U_, sums_, scatter_, secant_, parallel);
  }

  /// The next pass is over other data: the moves so far do not tell where its moves lead.
  void change_data() { secant_ = Secant<T>(); }

  const arma::Mat<T>& basis() const { return U_; }
  const SampleFits<T>& fits() const { return fits_; }
  std::vector<double> residuals() const { return fits_.residuals(); }
  const Scatter& scatter() const { return scatter_; }
  /// Before the last update.
  const arma::mat& information() const { return information_; }
  double estimated_angle() const { return standard_error(information_, U_.n_rows); }

 private:
  template <class Data>
  void check(const Data& data) const {
    require(data.n_rows == U_.n_rows && data.n_cols == fits_.count.n_elem,
            "the data does not have the size of the polish");
  }

  arma::Mat<T> U_;
  SampleFits<T> fits_;
  CoordinateSums<T> sums_;
  Scatter scatter_;
  Secant<T> secant_;
  arma::mat information_;
  bool knows_scatter_ = false;
};

}  // namespace gasg21
