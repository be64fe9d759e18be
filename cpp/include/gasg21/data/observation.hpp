// From a user's buffer to one spherized vector on Omega (Alg. 1, step 2). The views borrow: dense
// columns with NaN or a mask for what is missing, or sparse columns whose stored entries are the
// observed ones. All of them end in the same Observation, so all give the same numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gasg21/support/aligned.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/kernels/plain.hpp"
#include "gasg21/kernels/observe.hpp"

namespace gasg21 {

/// Entries of some samples that are treated as missing although they are there: held out, so that a
/// fit can be checked on what it has not seen.
struct HeldOut {
  std::unordered_map<uword, std::vector<uword>> rows;  // sample -> sorted rows
};

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

namespace detail {

inline const std::vector<uword>* find_hidden(const HeldOut* held_out, uword j) {
  if (!held_out) return nullptr;
  const auto found = held_out->rows.find(j);
  return found == held_out->rows.end() ? nullptr : &found->second;
}

inline bool is_hidden(const std::vector<uword>* hidden, uword i) {
  return hidden && std::binary_search(hidden->begin(), hidden->end(), i);
}

}  // namespace detail

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

enum class Usable { yes, zero, all_missing, not_finite };

/// The observed part of one sample: x_Omega = scale * values with |values| = 1. In two forms, each
/// made when it is first asked for: dense, with NaN for what is missing, and compact, the observed
/// rows and values. Which of them the numbers come from depends on how much is observed, not on how
/// the sample was given, so that all ways to write a sample give the same bits.
template <class T>
class Observation {
 public:
  explicit Observation(uword n)
      : n_(n), rows_(n + 8), values_(whole_blocks<T>(n + 8)), dense_(whole_blocks<T>(n), T(0)) {}

  /// Number of observed entries.
  uword count() const { return count_; }
  /// Nothing is missing: `rows` is 0, 1, ..., n - 1 and need not be looked at.
  bool full() const { return count_ == n_; }
  /// So little is observed that it pays to look at nothing else.
  bool few() const { return is_few(count_); }

  const uword* rows() const {
    make_compact();
    return rows_.data();
  }
  /// `count` entries, then zeros up to whole blocks.
  const T* values() const {
    make_compact();
    return values_.data();
  }
  /// n entries, then zeros up to whole blocks; NaN = missing. Their norm is `dense_norm`, not 1:
  /// that spares a pass.
  const T* dense() const {
    make_dense();
    return dense_.data();
  }
  T dense_norm() const { return few() ? T(1) : norm_; }
  /// Gives the dense form away, in exchange for other memory of its size.
  void swap_dense(Aligned<T>& other) {
    make_dense();
    dense_.swap(other);
    std::fill(dense_.begin() + std::ptrdiff_t(n_), dense_.end(), T(0));
    has_dense_ = false;
  }

  /// |x_Omega|; infinite if the norm of finite entries exceeds the largest T.
  T scale() const { return scaled(T(1)); }
  /// `value` back in the units of the sample, without overflow on the way.
  T scaled(T value) const {
    return exponent_ == 0 ? value * norm_ : std::ldexp(value * norm_, exponent_);
  }

  /// (x * first) * second is `values`: two factors, because one could overflow.
  std::pair<T, T> factors() const {
    const int half = -exponent_ / 2;
    return {std::ldexp(T(1), half), std::ldexp(T(1), -exponent_ - half) / norm_};
  }

  Usable read(const DenseSample<T>& x) {
    if (expect_few_ && !x.mask && !x.hidden) {  // as the one before: in one pass, without a copy
      count_ = kernels::compact(x.values, n_, rows_.data(), values_.data());
      has_compact_ = true;
      has_dense_ = false;
      if (few()) return spherize(kernels::dot(values_.data(), values_.data(), count_));
    }
    // If nothing was missing of the one before, most likely nothing is of this one.
    T square = full() ? kernels::observe_whole(x.values, n_, dense_.data())
                      : std::numeric_limits<T>::quiet_NaN();
    if (square != square) square = kernels::observe(x.values, n_, dense_.data(), count_);
    if (x.mask || x.hidden) {
      hide(x);
      square = dense_square();
    }
    has_dense_ = true;
    has_compact_ = false;
    expect_few_ = few();
    if (few()) {
      keep_observed();
      square = kernels::dot(values_.data(), values_.data(), count_);
    }
    return spherize(square);
  }

  template <class Index>
  Usable read(const SparseSample<T, Index>& x) {
    require(x.count <= n_, "a sparse sample has ", x.count, " entries, but n = ", n_);
    for (uword k = 0; k < x.count; ++k)
      require(x.rows[k] >= Index(0) && static_cast<uword>(x.rows[k]) < n_, "row index ", x.rows[k],
              " is outside [0, ", n_, ")");
    if (is_sorted(x)) {
      keep_observed(x, [](uword k) { return k; });
    } else {  // sorted first, so that the order of the entries changes no bit of the result
      std::vector<uword> order(x.count);
      std::iota(order.begin(), order.end(), uword(0));
      std::sort(order.begin(), order.end(),
                [&](uword a, uword b) { return x.rows[a] < x.rows[b]; });
      for (uword k = 1; k < x.count; ++k)
        require(x.rows[order[k - 1]] != x.rows[order[k]], "row index ", x.rows[order[k]],
                " appears twice in a sparse sample");
      keep_observed(x, [&](uword k) { return order[k]; });
    }
    has_dense_ = false;
    has_compact_ = true;
    if (few()) return spherize(kernels::dot(values_.data(), values_.data(), count_));
    make_dense();
    has_compact_ = false;
    return spherize(dense_square());
  }

 private:
  /// Measured: below this share it is faster to gather the observed rows than to pass over all,
  /// unless all of them are soon passed over.
  bool is_few(uword count) const { return count * 4 <= n_ && n_ >= 512; }

  /// Counts, too.
  T dense_square() { return kernels::observe(dense_.data(), n_, dense_.data(), count_); }

  void hide(const DenseSample<T>& x) {
    constexpr T missing = std::numeric_limits<T>::quiet_NaN();
    if (x.mask)  // a selection: many guesses of a branch would be wrong
      for (uword i = 0; i < n_; ++i) dense_[i] = x.mask[i] ? dense_[i] : missing;
    if (x.hidden)
      for (const uword i : *x.hidden)
        if (i < n_) dense_[i] = missing;
  }

  /// Compact from dense.
  void keep_observed() const {
    kernels::compact(dense_.data(), n_, rows_.data(), values_.data());
    has_compact_ = true;
  }

  template <class Index, class Order>
  void keep_observed(const SparseSample<T, Index>& x, Order at) {
    count_ = 0;
    for (uword k = 0; k < x.count; ++k) {
      const T value = x.values[at(k)];
      const auto row = static_cast<uword>(x.rows[at(k)]);
      rows_[count_] = row;
      values_[count_] = value;
      count_ += value == value && !detail::is_hidden(x.hidden, row);
    }
  }

  void make_compact() const {
    if (has_compact_) return;
    keep_observed();
    normalise();
  }

  void normalise() const {
    const T shrink = 1 / norm_;
    for (uword k = 0; k < count_; ++k) values_[k] *= shrink;
    std::fill(values_.begin() + std::ptrdiff_t(count_),
              values_.begin() + std::ptrdiff_t(whole_blocks<T>(count_)), T(0));
  }

  void make_dense() const {
    if (has_dense_) return;
    std::fill(dense_.begin(), dense_.begin() + std::ptrdiff_t(n_),
              std::numeric_limits<T>::quiet_NaN());
    for (uword k = 0; k < count_; ++k) dense_[rows_[k]] = values_[k];
    has_dense_ = true;
  }

  /// Alg. 1, step 2. A plain sum of squares is infinite at 1e155 and zero at 1e-200; then the norm
  /// is taken after an exact scaling by a power of two; pinned by the scale tests.
  Usable spherize(T square) {
    if (count_ == 0) return Usable::all_missing;
    exponent_ = 0;
    constexpr T large = sizeof(T) == 8 ? T(1e200) : T(1e25);
    if (!(square > 1 / large && square < large)) {
      T* all = few() ? values_.data() : dense_.data();
      const uword size = few() ? count_ : n_;
      T largest = 0;
      for (uword i = 0; i < size; ++i)
        if (std::abs(all[i]) > largest) largest = std::abs(all[i]);  // false for NaN
      if (largest == T(0)) return Usable::zero;
      if (!(largest <= std::numeric_limits<T>::max())) return Usable::not_finite;
      exponent_ = std::ilogb(largest);
      // Two factors, because 2^1074, which brings the smallest denormal to 1, is not a number.
      const int half = -exponent_ / 2;
      const T first = std::ldexp(T(1), half), second = std::ldexp(T(1), -exponent_ - half);
      for (uword i = 0; i < size; ++i) all[i] = (all[i] * first) * second;
      square = few() ? kernels::dot(all, all, size) : dense_square();
    }
    norm_ = std::sqrt(square);
    if (few()) {
      normalise();
      has_dense_ = has_dense_ && exponent_ == 0;
      if (has_dense_)  // made of the same values as if it were made of the compact form
        for (uword k = 0; k < count_; ++k) dense_[rows_[k]] = values_[k];
    }
    return Usable::yes;
  }

  uword n_;
  uword count_ = 0;
  mutable std::vector<uword>
      rows_;  // one more than n: written before it is known whether it counts
  mutable Aligned<T> values_;
  mutable Aligned<T> dense_;
  mutable bool has_compact_ = false, has_dense_ = false;
  bool expect_few_ = false;
  T norm_ = 1;
  int exponent_ = 0;
};

}  // namespace gasg21
