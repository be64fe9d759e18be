// Single samples in a fitted subspace: what the loops over many samples compute, with memory that
// is kept from sample to sample. To set it up takes longer than to fit a sample.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>

#include "gasg21/data/views.hpp"
#include "gasg21/fit/completer.hpp"
#include "gasg21/fit/projector.hpp"
#include "gasg21/inliers/fitted.hpp"
#include "gasg21/inliers/subspace.hpp"
#include "gasg21/support/config.hpp"

namespace gasg21 {

/// Reads dense samples without a lift, which it adds itself. The subspace must outlive it.
template <class T>
class RowReader {
 public:
  explicit RowReader(const Subspace<T>& subspace)
      : subspace_(subspace), fits_(subspace.basis().n_cols, 1) {}

  /// |r| / |x_Omega|; 0 for a zero vector, or NaN if `telling`. NaN if undetermined.
  T residual(DenseSample<T> row, bool telling) {
    const Projector<T>& read = in_basis(row);
    return telling && !read.determined() ? std::numeric_limits<T>::quiet_NaN() : read.residual();
  }

  /// Weights in the principal axes, about the mean.
  void weights(DenseSample<T> row, T* w) {
    const PrincipalAxes<T>& axes = subspace_.axes();
    if (!in_axes_) {
      mean_ = Lift<T>{axes.mean, T(0)};
      in_axes_.emplace(axes.components);
    }
    if (subspace_.lift()) row.lift = &mean_;
    in_axes_->read(row);
    in_axes_->weights(w);
  }

  /// As Subspace::decision_function.
  double decision(const DenseSample<T>& row) { return subspace_.decision_function(fits(row))[0]; }

  /// As Subspace::distances: two numbers.
  void distances(const DenseSample<T>& row, double* pair) {
    const arma::mat found = subspace_.distances(fits(row));
    std::copy(found.begin(), found.end(), pair);
  }

  /// Writes the row with its missing entries filled in. Returns false if nothing is observed, or
  /// the fit has never observed some coordinate.
  bool complete(DenseSample<T> row, T* out) {
    const Lift<T>* lift = subspace_.lift().get();
    const EntryRange& range = subspace_.range();
    if (!completer_) {
      all_seen_ = !arma::any(range.low > range.high);
      completer_.emplace(subspace_.basis(), subspace_.prior(), range);
    }
    const uword n = lift ? lift->centre.n_elem : subspace_.basis().n_rows;
    bool any = false;
    each_entry(row, 0, n, [&](uword, T, bool observed) { any |= observed; });
    if (!any || !all_seen_) return false;
    std::copy(row.values, row.values + n, out);
    row.lift = lift;
    completer_->read(row);
    completer_->fill_missing(out, n, lift ? lift->centre.memptr() : nullptr);
    return true;
  }

 private:
  const Projector<T>& in_basis(DenseSample<T> row) {
    if (!in_basis_) in_basis_.emplace(subspace_.basis());
    row.lift = subspace_.lift().get();
    in_basis_->read(row);
    return *in_basis_;
  }

  Fitted fits(const DenseSample<T>& row) {
    const Projector<T>& read = in_basis(row);
    fits_.count[0] = 0;
    if (read.determined()) fits_.keep(0, read.sample(), read.fit());
    return to_fitted(fits_, subspace_.basis().n_rows);
  }

  const Subspace<T>& subspace_;
  SampleFits<T> fits_;
  std::optional<Projector<T>> in_basis_, in_axes_;
  Lift<T> mean_;  // of the inliers
  std::optional<Completer<T>> completer_;
  bool all_seen_ = true;
};

}  // namespace gasg21
