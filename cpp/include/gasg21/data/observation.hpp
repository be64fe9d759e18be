// From a borrowed sample to one vector of unit length on Omega (Alg. 1, step 2). All views end in
// the same Observation, so all give the same numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "gasg21/data/views.hpp"
#include "gasg21/kernels/observe.hpp"
#include "gasg21/kernels/plain.hpp"
#include "gasg21/support/aligned.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"

namespace gasg21 {

enum class Usable { yes, zero, all_missing, not_finite };

/// The observed part of one sample: x_Omega = scale * values with |values| = 1. It has two forms,
/// each made on demand: dense, with NaN for missing entries, and compact, the observed rows and
/// values. The number of observed entries decides which form the arithmetic uses, not the layout of
/// the sample. So all layouts give the same bits.
template <class T>
class Observation {
 public:
  explicit Observation(uword n)
      : n_(n), rows_(n + 8), values_(whole_blocks<T>(n + 8)), dense_(whole_blocks<T>(n), T(0)) {}

  uword n() const { return n_; }
  /// Number of observed entries.
  uword count() const { return count_; }
  /// How many of the last of them a lift has appended.
  uword appended() const { return appended_; }
  /// Nothing is missing: `rows` is 0, 1, ..., n - 1.
  bool full() const { return count_ == n_; }
  /// So few entries are observed that gathering them is faster.
  bool few() const { return is_few(count_); }

  const uword* rows() const {
    make_compact();
    return rows_.data();
  }
  /// `count` entries, then zeros up to whole row blocks.
  const T* values() const {
    make_compact();
    return values_.data();
  }
  /// The rows that are not observed, n - count() of them.
  const uword* missing() const {
    if (full()) return nullptr;
    missing_.resize(n_ + 8);
    kernels::missing(dense(), n_, missing_.data());
    return missing_.data();
  }
  /// n entries of unit norm, 0 where they are missing.
  const T* filled() const {
    filled_.resize(whole_blocks<T>(n_));
    kernels::fill_missing(dense(), filled_.size(), 1 / dense_norm(), filled_.data());
    return filled_.data();
  }
  /// n entries, then zeros up to whole row blocks; NaN = missing. Their norm is `dense_norm`, not
  /// 1: this saves a pass.
  const T* dense() const {
    make_dense();
    return dense_.data();
  }
  T dense_norm() const { return few() ? T(1) : norm_; }
  /// Swaps the dense form with other memory of its size.
  void swap_dense(Aligned<T>& other) {
    make_dense();
    dense_.swap(other);
    std::fill(dense_.begin() + std::ptrdiff_t(n_), dense_.end(), T(0));
    has_dense_ = false;
  }

  /// |x_Omega|; infinite if the norm of finite entries exceeds the largest T.
  T scale() const { return scaled(T(1)); }
  /// `value` in the units of the sample, without intermediate overflow.
  T scaled(T value) const {
    return exponent_ == 0 ? value * norm_ : std::ldexp(value * norm_, exponent_);
  }

  /// (x * first) * second is `values`: two factors, because one could overflow.
  std::pair<T, T> factors() const {
    const int half = -exponent_ / 2;
    return {std::ldexp(T(1), half), std::ldexp(T(1), -exponent_ - half) / norm_};
  }

  Usable read(const DenseSample<T>& x) {
    if (x.lift) return read_lifted(x);
    appended_ = 0;
    if (expect_few_ && !x.mask && !x.hidden) {  // like the previous sample: one pass, no copy
      count_ = kernels::compact(x.values, n_, rows_.data(), values_.data());
      has_compact_ = true;
      has_dense_ = false;
      if (few()) return spherize(kernels::dot(values_.data(), values_.data(), count_));
    }
    // If nothing was missing in the previous sample, probably nothing is missing in this one.
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

  Usable read(const AnySample<T>& x) {
    return std::visit([this](const auto& sample) { return read(sample); }, x);
  }

  template <class Index>
  Usable read(const SparseSample<T, Index>& x) {
    appended_ = 0;
    const uword n = x.lift ? x.lift->centre.n_elem : n_;
    require(x.count <= n, "a sparse sample has ", x.count, " entries, but n = ", n);
    for (uword k = 0; k < x.count; ++k)
      require(x.rows[k] >= Index(0) && static_cast<uword>(x.rows[k]) < n, "row index ", x.rows[k],
              " is outside [0, ", n, ")");
    if (x.rest_is_zero) {
      expanded_.assign(n_, T(0));
      for (uword k = 0; k < x.count; ++k) expanded_[static_cast<uword>(x.rows[k])] = x.values[k];
      return read(DenseSample<T>{expanded_.data(), nullptr, x.hidden, x.lift});
    }
    if (is_sorted(x)) {
      keep_observed(x, [](uword k) { return k; });
    } else {  // sort first, so that the order of the entries changes no bit of the result
      std::vector<uword> order(x.count);
      std::iota(order.begin(), order.end(), uword(0));
      std::sort(order.begin(), order.end(),
                [&](uword a, uword b) { return x.rows[a] < x.rows[b]; });
      for (uword k = 1; k < x.count; ++k)
        require(x.rows[order[k - 1]] != x.rows[order[k]], "row index ", x.rows[order[k]],
                " appears twice in a sparse sample");
      keep_observed(x, [&](uword k) { return order[k]; });
    }
    if (x.lift) lift_compact(*x.lift, x.hidden);
    has_dense_ = false;
    has_compact_ = true;
    if (x.lift && count_ <= x.lift->n_appended()) return Usable::all_missing;
    if (few()) return spherize(kernels::dot(values_.data(), values_.data(), count_));
    make_dense();
    has_compact_ = false;
    return spherize(dense_square());
  }

 private:
  /// Measured: below this share, gathering the observed rows is faster than a pass over all, unless
  /// the vector is short.
  bool is_few(uword count) const { return count * 4 <= n_ && n_ >= 512; }

  /// The sum of squares of the dense form. Sets the count.
  T dense_square() { return kernels::observe(dense_.data(), n_, dense_.data(), count_); }

  /// The value, or NaN where the mask is 0: by bits, because a branch would often be mispredicted
  /// and GCC makes one of a selection.
  static T nan_unless(unsigned char observed, T value) {
    using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    Bits bits;
    std::memcpy(&bits, &value, sizeof(T));
    bits |= Bits(0) - Bits(observed == 0);
    std::memcpy(&value, &bits, sizeof(T));
    return value;
  }

  void hide(const DenseSample<T>& x) {
    constexpr T missing = std::numeric_limits<T>::quiet_NaN();
    if (x.mask)
      for (uword i = 0; i < n_; ++i) dense_[i] = nan_unless(x.mask[i], dense_[i]);
    if (x.hidden)
      for (const uword i : *x.hidden)
        if (i < n_) dense_[i] = missing;
  }

  /// Reads a sample less the centre, with the constant, from own memory.
  Usable read_lifted(const DenseSample<T>& x) {
    const Lift<T>& lift = *x.lift;
    const uword n = lift.centre.n_elem;
    require(n_ == lift.n_rows(), "a lifted sample has ", lift.n_rows(), " entries, but n = ", n_);
    lifted_.resize(n_);
    for (uword i = 0; i < n; ++i) lifted_[i] = x.values[i] - lift.centre[i];
    if (x.mask)
      for (uword i = 0; i < n; ++i) lifted_[i] = nan_unless(x.mask[i], lifted_[i]);
    if (n < n_) lifted_[n] = lift.constant;
    const Usable usable = read(DenseSample<T>{lifted_.data(), nullptr, x.hidden});
    appended_ = n < n_ && !detail::is_hidden(x.hidden, n);
    return count_ <= lift.n_appended() ? Usable::all_missing : usable;
  }

  /// Lifts the compact form. The constant has the last row, so the rows stay sorted.
  void lift_compact(const Lift<T>& lift, const std::vector<uword>* hidden) {
    const uword n = lift.centre.n_elem;
    require(n_ == lift.n_rows(), "a lifted sample has ", lift.n_rows(), " entries, but n = ", n_);
    for (uword k = 0; k < count_; ++k) values_[k] -= lift.centre[rows_[k]];
    if (n == n_ || detail::is_hidden(hidden, n)) return;
    rows_[count_] = n;
    values_[count_++] = lift.constant;
    appended_ = 1;
  }

  /// Makes the compact form from the dense one.
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

  /// Alg. 1, step 2. A plain sum of squares overflows at 1e155 and underflows at 1e-200; then the
  /// sample is first scaled by a power of two, which is exact. Pinned by the scale tests.
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
      // Two factors, because 2^1074, which scales the smallest denormal to 1, overflows.
      const int half = -exponent_ / 2;
      const T first = std::ldexp(T(1), half), second = std::ldexp(T(1), -exponent_ - half);
      for (uword i = 0; i < size; ++i) all[i] = (all[i] * first) * second;
      square = few() ? kernels::dot(all, all, size) : dense_square();
    }
    norm_ = std::sqrt(square);
    if (few()) {
      normalise();
      has_dense_ = has_dense_ && exponent_ == 0;
      if (has_dense_)  // the same values as if it were made from the compact form
        for (uword k = 0; k < count_; ++k) dense_[rows_[k]] = values_[k];
    }
    return Usable::yes;
  }

  uword n_;
  uword count_ = 0;
  uword appended_ = 0;
  mutable std::vector<uword>
      rows_;  // room for more than n: written before it is known whether an entry counts
  mutable std::vector<uword> missing_;  // empty until they are asked for
  mutable Aligned<T> filled_;
  mutable Aligned<T> values_;
  mutable Aligned<T> dense_;
  mutable bool has_compact_ = false, has_dense_ = false;
  std::vector<T> expanded_;  // a sparse sample whose other entries are zero
  std::vector<T> lifted_;    // a lifted sample
  bool expect_few_ = false;
  T norm_ = 1;
  int exponent_ = 0;
};

}  // namespace gasg21
