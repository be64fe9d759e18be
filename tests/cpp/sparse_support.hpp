// Shared by the tests of sparse data: the observed entries of a matrix as compressed columns.
#pragma once

#include <cmath>
#include <gasg21/data/views.hpp>
#include <vector>

#include "support.hpp"

namespace support {

/// The entries of X that are not NaN.
template <class T, class Index>
struct Compressed {
  std::vector<T> values;
  std::vector<Index> rows, offsets{0};
  uword n_rows, n_cols;

  explicit Compressed(const arma::Mat<T>& X) : n_rows(X.n_rows), n_cols(X.n_cols) {
    for (uword j = 0; j < n_cols; ++j) {
      for (uword i = 0; i < n_rows; ++i) {
        if (std::isnan(X(i, j))) continue;
        values.push_back(X(i, j));
        rows.push_back(Index(i));
      }
      offsets.push_back(Index(rows.size()));
    }
  }
  gasg21::SparseView<T, Index> view(bool rest_is_zero = false) const {
    return {values.data(), rows.data(), offsets.data(), n_rows, n_cols, rest_is_zero};
  }
};

}  // namespace support
