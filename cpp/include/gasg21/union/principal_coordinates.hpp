// Principal coordinates of complete samples, in which clusters are sought: several representations
// of the same data.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "gasg21/geometry/principal.hpp"
#include "gasg21/kernels/plain.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/parallel.hpp"

namespace gasg21 {

/// Scales the columns to unit length. Columns of zeros stay zero. No square overflows.
template <class T>
void scale_to_unit_columns(arma::Mat<T>& X) {
  for (uword j = 0; j < X.n_cols; ++j) {
    T* x = X.colptr(j);
    T largest = 0;
    for (uword i = 0; i < X.n_rows; ++i) largest = std::max(largest, std::abs(x[i]));
    if (!(largest > 0)) continue;
    for (uword i = 0; i < X.n_rows; ++i) x[i] /= largest;
    const T length = std::sqrt(kernels::dot(x, x, X.n_rows));
    for (uword i = 0; i < X.n_rows; ++i) x[i] /= length;
  }
}

/// The samples at unit length.
template <class T>
arma::Mat<T> unit_columns(arma::Mat<T> X) {
  scale_to_unit_columns(X);
  return X;
}

/// Complete samples in as few coordinates as there are samples: R of X = Q R, by Householder
/// reflections. Angles and lengths stay as they are. X itself if it has no more rows than columns.
inline arma::mat rotated(arma::mat X) {
  const uword n = X.n_rows, m = X.n_cols;
  if (n <= m) return X;
  for (uword c = 0; c < m; ++c) {
    double* v = X.colptr(c) + c;
    const uword length = n - c;
    const double largest = arma::abs(X.col(c).tail(length)).max();
    if (!(largest > 0)) continue;
    arma::vec reflector = X.col(c).tail(length) / largest;
    const double norm = std::sqrt(kernels::dot(reflector.memptr(), reflector.memptr(), length));
    const double to = reflector[0] > 0 ? -norm : norm;
    reflector[0] -= to;
    const double squared = kernels::dot(reflector.memptr(), reflector.memptr(), length);
    for (uword j = c + 1; j < m; ++j) {
      double* x = X.colptr(j) + c;
      const double along = -2 * kernels::dot(reflector.memptr(), x, length) / squared;
      kernels::add_times(reflector.memptr(), length, 1, &along, 1.0, x);
    }
    std::fill(v, v + length, 0.0);
    v[0] = to * largest;
  }
  return X.head_rows(m);
}

/// The leading right singular vectors and singular values of complete samples, and how many of them
/// matter.
class PrincipalCoordinates {
 public:
  /// Decomposes the columns of X. It finds 4 sum d_k coordinates, or `at_least` so many, if the
  /// rank allows.
  PrincipalCoordinates(const arma::mat& X, const std::vector<uword>& dimensions, uword at_least = 0,
                       const Parallel& parallel = Parallel()) {
    const uword sum = std::accumulate(dimensions.begin(), dimensions.end(), uword(0));
    const uword largest = *std::max_element(dimensions.begin(), dimensions.end());
    const uword count = std::min({X.n_rows, X.n_cols, std::max(4 * sum, at_least) + 1});
    auto found = leading_left_singular(arma::mat(X.t()), count, parallel);
    V_ = found.U.t();
    s_ = std::move(found.s);
    n_wide_ = std::min(4 * sum, rank());
    n_span_ = std::min(std::max(largest + 1, span(sum)), rank());
  }

  /// The rank of X, or less, but more than n_wide.
  uword rank() const { return s_.n_elem; }
  /// The most coordinates that a stream looks at: 4 sum d_k.
  uword n_wide() const { return n_wide_; }
  /// Those that all clusters together span: sum d_k, if there are so many.
  uword n_span() const { return n_span_; }
  /// The singular values, falling.
  const arma::vec& singular_values() const { return s_; }
  /// rank x m: the singular vectors are the rows.
  const arma::mat& vectors() const { return V_; }

  /// The leading coordinates of each sample, scaled by a power of their singular values, at unit
  /// length.
  template <class T>
  arma::Mat<T> whitened(uword count, double power) const {
    arma::mat A = V_.head_rows(count);
    if (power > 0) {
      const arma::vec scale = arma::pow(s_.head(count) / s_[0], power);
      for (uword j = 0; j < A.n_cols; ++j) A.col(j) %= scale;
    }
    return arma::conv_to<arma::Mat<T>>::from(unit_columns(std::move(A)));
  }

 private:
  /// The number of coordinates that the clusters span. If there are fewer coordinates than that,
  /// the subspaces depend on each other, and the trailing half is mostly noise.
  uword span(uword sum) const { return sum <= rank() ? sum : rank() / 2; }

  arma::mat V_;
  arma::vec s_;
  uword n_wide_ = 0, n_span_ = 0;
};

}  // namespace gasg21
