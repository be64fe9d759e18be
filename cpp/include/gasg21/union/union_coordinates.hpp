// The coordinates of a union: from the data to those in which its clusters are found.
#pragma once

#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "gasg21/data/dense_samples.hpp"
#include "gasg21/data/lift.hpp"
#include "gasg21/data/views.hpp"
#include "gasg21/geometry/grassmann.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/union/whitening.hpp"

namespace gasg21 {

/// First the lift of affine data, then the whitening; each may be absent.
template <class T>
struct UnionCoordinates {
  std::shared_ptr<const Lift<T>> lift;
  std::shared_ptr<const Whitening> whitening;

  uword n_appended() const { return lift ? lift->n_appended() : 0; }
  /// Throws unless they lead from subspaces of n rows to bases of r rows.
  void check(uword n, uword r) const {
    require(!lift || (lift->n_rows() == n && lift->n_appended() == 1 && lift->centre.is_finite() &&
                      std::isfinite(lift->constant)),
            "the lift does not lead to ", n, " rows");
    require(whitening ? whitening->n_rows() == n && whitening->n_coordinates() == r : n == r,
            "the coordinates do not lead from ", n, " to ", r, " rows");
    if (whitening) check(*whitening);
  }

  /// The samples as the subspaces see them: lifted, if they are not lifted yet.
  template <class Data>
  Data lifted_view(const Data& data) const {
    return lift && !data.lift ? lifted<T>(data, *lift) : data;
  }
  template <class Data>
  SubsetView<Data> lifted_view(const SubsetView<Data>& data) const {
    require(!lift || data.lift, "a subset of samples must be lifted before it is taken");
    return data;
  }

  /// The samples from <= j < to of a lifted view, in the working coordinates; NaN where they are
  /// not determined.  Pre: whitening.
  template <class Data>
  arma::Mat<T> whitened(const Data& view, uword from, uword to) const {
    return arma::conv_to<arma::Mat<T>>::from(whitening->apply(dense(view, from, to)));
  }

  /// Whether each of these samples lies outside the span of all clusters.  Pre: whitening.
  template <class Data>
  std::vector<bool> is_outlier(const Data& view, uword from, uword to) const {
    return whitening->is_outlier(dense(view, from, to));
  }

  /// A basis of the working coordinates as one of the subspaces.
  arma::Mat<T> original(const arma::Mat<T>& basis) const {
    if (!whitening) return basis;
    return arma::conv_to<arma::Mat<T>>::from(
        whitening->original(arma::conv_to<arma::mat>::from(basis)));
  }

 private:
  static void check(const Whitening& w) {
    require(w.spread.n_elem == w.n_coordinates() && arma::all(w.spread > 0) &&
                w.spread.is_finite() && orthonormality_error(w.directions) < 1e-3,
            "the whitening has no orthonormal directions, or no positive spread");
    if (!w.screening) return;
    const arma::mat& span = w.screening->overall.basis;
    require(span.n_rows == w.n_rows() && !span.empty() && orthonormality_error(span) < 1e-3,
            "the screening does not belong to the whitening");
  }

  template <class Data>
  static arma::mat dense(const Data& view, uword from, uword to) {
    std::vector<uword> columns(to - from);
    std::iota(columns.begin(), columns.end(), from);
    return dense_samples(view, columns);
  }
};

}  // namespace gasg21
