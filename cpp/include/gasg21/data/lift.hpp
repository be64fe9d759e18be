// Lift: x -> (x - centre, constant). A sample lies on an affine subspace of dimension d exactly
// when the lifted sample lies on a linear one of dimension d + 1. Samples are lifted while they are
// read.
#pragma once

#include "gasg21/support/config.hpp"

namespace gasg21 {

/// A centre to subtract from samples, and a constant to append to them.
template <class T>
struct Lift {
  arma::Col<T> centre;  // n
  T constant = 0;       // 0 = append nothing

  /// Rows that it appends: 1, or 0 without a constant.
  uword n_appended() const { return constant != T(0); }
  /// Rows of a lifted sample.
  uword n_rows() const { return centre.n_elem + n_appended(); }
};

namespace detail {

/// Whether the constant is one of the rows from <= i < to.
template <class T>
bool appends(const Lift<T>* lift, uword from, uword to) {
  return lift && lift->n_appended() > 0 && from <= lift->centre.n_elem && lift->centre.n_elem < to;
}

}  // namespace detail

}  // namespace gasg21
