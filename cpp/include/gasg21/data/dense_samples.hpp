// Some samples of a data set as a dense matrix of doubles.
#pragma once

#include <cmath>
#include <vector>

#include "gasg21/data/views.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"

namespace gasg21 {

/// The given columns, lifted if the data is: NaN where an entry is missing, and everywhere in a
/// sample that has an infinite entry or, but for the lift's constant, none.
template <class Data>
arma::mat dense_samples(const Data& data, const std::vector<uword>& columns) {
  arma::mat X(data.n_rows, columns.size());
  X.fill(arma::datum::nan);
  const uword n_stored = data_rows(data);
  for (uword c = 0; c < columns.size(); ++c) {
    const auto sample = data.sample(columns[c]);
    require(is_sorted(sample), "the rows of sample ", columns[c], " are not sorted");
    bool is_finite = true, is_empty = true;
    each_entry(sample, 0, data.n_rows, [&](uword i, auto value, bool observed) {
      if (!observed) return;
      X(i, c) = double(value);
      is_finite = is_finite && std::isfinite(value);
      is_empty = is_empty && i >= n_stored;
    });
    if (!is_finite || is_empty) X.col(c).fill(arma::datum::nan);
  }
  return X;
}

}  // namespace gasg21
