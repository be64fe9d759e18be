// The median of each coordinate over the samples of a data set.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gasg21/data/views.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/median.hpp"

namespace gasg21 {

namespace detail {

/// Whether no observed entry is infinite.
template <class T, class Sample>
bool is_finite(const Sample& sample, uword n) {
  bool finite = true;
  each_entry(sample, 0, n, [&](uword, T value, bool observed) {
    finite &= !observed || std::abs(value) <= std::numeric_limits<T>::max();
  });
  return finite;
}

}  // namespace detail

/// The median of the observed entries of each coordinate; 0 where none is observed. Samples with an
/// infinite entry do not count: a fit skips them.
template <class T, class Data>
arma::Col<T> coordinate_medians(const Data& data) {
  // Some coordinates at a time, so that their values stay in the cache.
  constexpr uword at_once = 64;
  const uword n = data.n_rows, m = data.n_cols;
  std::vector<uword> finite;
  for (uword j = 0; j < m; ++j)
    if (detail::is_finite<T>(data.sample(j), n)) finite.push_back(j);
  arma::Col<T> centre(n, arma::fill::zeros);
  std::vector<T> values(at_once * finite.size());
  for (uword from = 0; from < n; from += at_once) {
    const uword to = std::min(n, from + at_once);
    uword count[at_once] = {};
    for (const uword j : finite)
      each_entry(data.sample(j), from, to, [&](uword i, T value, bool is_observed) {
        if (is_observed) values[(i - from) * finite.size() + count[i - from]++] = value;
      });
    for (uword i = from; i < to; ++i) {
      T* const first = values.data() + (i - from) * finite.size();
      if (count[i - from] > 0) centre[i] = median(first, first + count[i - from]);
    }
  }
  return centre;
}

}  // namespace gasg21
