// Borrowed samples: dense columns with NaN or a mask for what is missing, or sparse columns whose
// stored entries are the observed ones. Nothing here copies.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "gasg21/data/held_out.hpp"
#include "gasg21/support/config.hpp"

namespace gasg21 {

/// One dense vector of n entries; NaN is missing, and so is an entry whose mask byte is zero.
template <class T>
struct DenseSample {
  const T* values;
  const unsigned char* mask = nullptr;         // n bytes, or none
  const std::vector<uword>* hidden = nullptr;  // held out, or none
};

/// One vector given by its observed entries. Rows must be distinct and below n.
template <class T, class Index = uword>
struct SparseSample {
  const T* values;
  const Index* rows;
  uword count;
  const std::vector<uword>* hidden = nullptr;  // held out, or none
};

/// Borrowed n x m data, one sample per column. Strides count elements, from sample to sample, and
/// may be negative: row slices of a NumPy array are borrowed as they are.
template <class T>
struct DenseView {
  const T* data;
  uword n_rows;
  uword n_cols;
  std::ptrdiff_t stride;
  const unsigned char* mask = nullptr;
  std::ptrdiff_t mask_stride = 0;
  const HeldOut* held_out = nullptr;

  explicit DenseView(const arma::Mat<T>& X)
      : data(X.memptr()),
        n_rows(X.n_rows),
        n_cols(X.n_cols),
        stride(static_cast<std::ptrdiff_t>(X.n_rows)) {}
  DenseView(const T* data_, uword n_rows_, uword n_cols_, std::ptrdiff_t stride_)
      : data(data_), n_rows(n_rows_), n_cols(n_cols_), stride(stride_) {}

  DenseSample<T> sample(uword j) const {
    const auto column = static_cast<std::ptrdiff_t>(j);
    return {data + column * stride, mask ? mask + column * mask_stride : nullptr,
            detail::find_hidden(held_out, j)};
  }
};

/// Borrowed compressed columns (a scipy CSR matrix of samples by rows has this very layout).
template <class T, class Index>
struct SparseView {
  const T* values;
  const Index* rows;
  const Index* offsets;  // n_cols + 1
  uword n_rows;
  uword n_cols;
  const HeldOut* held_out = nullptr;

  SparseSample<T, Index> sample(uword j) const {
    const auto begin = offsets[j];
    return {values + begin, rows + begin, static_cast<uword>(offsets[j + 1] - begin),
            detail::find_hidden(held_out, j)};
  }
};

/// Whether the rows of a sample rise strictly.
template <class T>
bool is_sorted(const DenseSample<T>&) {
  return true;
}
template <class T, class Index>
bool is_sorted(const SparseSample<T, Index>& x) {
  for (uword k = 1; k < x.count; ++k)
    if (x.rows[k - 1] >= x.rows[k]) return false;
  return true;
}

/// Whether a sorted sample may have an entry with from <= i < to.
template <class T>
bool touches(const DenseSample<T>&, uword, uword) {
  return true;
}
template <class T, class Index>
bool touches(const SparseSample<T, Index>& x, uword from, uword to) {
  const auto below = [](Index row, uword bound) { return uword(row) < bound; };
  const Index* row = std::lower_bound(x.rows, x.rows + x.count, from, below);
  return row != x.rows + x.count && uword(*row) < to;
}

/// Calls visit(i, value, observed) for the entries of a sorted sample with from <= i < to; all of
/// them or only those that are stored.
template <class T, class Visit>
void each_entry(const DenseSample<T>& x, uword from, uword to, Visit&& visit) {
  if (!x.mask && !x.hidden) {
    for (uword i = from; i < to; ++i) visit(i, x.values[i], x.values[i] == x.values[i]);
    return;
  }
  for (uword i = from; i < to; ++i) {
    const bool observed = (x.values[i] == x.values[i]) & (!x.mask || x.mask[i]);
    visit(i, x.values[i], observed & !detail::is_hidden(x.hidden, i));
  }
}
template <class T, class Index, class Visit>
void each_entry(const SparseSample<T, Index>& x, uword from, uword to, Visit&& visit) {
  const auto below = [](Index row, uword bound) { return uword(row) < bound; };
  const Index* end = x.rows + x.count;
  for (const Index* row = std::lower_bound(x.rows, end, from, below);
       row != end && uword(*row) < to; ++row) {
    const T value = x.values[row - x.rows];
    visit(uword(*row), value, value == value && !detail::is_hidden(x.hidden, uword(*row)));
  }
}

/// Some columns of a data set.
template <class Data>
struct SubsetView {
  const Data& data;
  const std::vector<uword>& columns;
  uword n_rows, n_cols;

  SubsetView(const Data& all, const std::vector<uword>& some)
      : data(all), columns(some), n_rows(all.n_rows), n_cols(some.size()) {}
  auto sample(uword j) const { return data.sample(columns[j]); }
};

}  // namespace gasg21
