// The polish: a batch stage after the stream. Least squares for each coordinate, reweighted by the
// subspace-constrained Tyler estimator, with missing data. It solves what the stream cannot (very
// many outliers, very ill-conditioned or sparse data), reaches the accuracy of least squares on the
// true inliers under noise, and estimates its own error. It is another estimator than the paper's
// L21 sum.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "gasg21/polish/coordinate_sums.hpp"
#include "gasg21/polish/round.hpp"
#include "gasg21/polish/sample_fits.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/parallel.hpp"

namespace gasg21 {

/// One subspace under polish, over samples in memory. A pass is `fit`, `weigh`, `add`, `update`.
/// All throw Stopped when the work is stopped.
template <class T>
class Polisher {
 public:
  Polisher(Round<T> round, uword n_samples)
      : round_(std::move(round)),
        fits_(round_.basis().n_cols, n_samples),
        sums_(round_.basis().n_rows, round_.basis().n_cols) {}
  Polisher(arma::Mat<T> U, uword n_samples) : Polisher(Round<T>(std::move(U)), n_samples) {}

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
    fit_samples(basis(), data, fits_, parallel);
  }

  /// Weighs the samples.
  void weigh(const std::function<bool()>& stop = {}) {
    round_.weigh(fits_, stop);
    sums_.sums.zeros();
  }

  /// Sums the normal equations of all coordinates.
  template <class Data>
  void add(const Data& data, const Parallel& parallel) {
    check(data);
    add_samples(basis(), data, fits_, sums_, parallel);
  }

  /// Solves them. Returns the angle by which the subspace moved.
  double update(const Parallel& parallel) { return round_.advance(sums_, parallel); }

  /// The next pass is over other data.
  void change_data() { round_.change_data(); }

  const Round<T>& round() const { return round_; }
  const arma::Mat<T>& basis() const { return round_.basis(); }
  const Scatter& scatter() const { return round_.scatter(); }
  double estimated_angle() const { return round_.estimated_angle(); }
  const SampleFits<T>& fits() const { return fits_; }
  std::vector<double> residuals() const { return fits_.residuals(); }

 private:
  template <class Data>
  void check(const Data& data) const {
    require(data.n_rows == basis().n_rows && data.n_cols == fits_.count.n_elem,
            "the data does not have the size of the polish");
  }

  Round<T> round_;
  SampleFits<T> fits_;
  CoordinateSums<T> sums_;
};

}  // namespace gasg21
