// Views: borrowed data, one sample per column. Dense columns mark missing entries by NaN or a mask;
// sparse columns store the observed entries. Nothing here copies.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <variant>
#include <vector>

#include "gasg21/data/held_out.hpp"
#include "gasg21/data/lift.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/random.hpp"

namespace gasg21 {

/// One dense vector of n entries; NaN is missing, and so is an entry whose mask byte is zero.
template <class T>
struct DenseSample {
  const T* values;
  const unsigned char* mask = nullptr;         // n bytes, or none
  const std::vector<uword>* hidden = nullptr;  // held out, or none
  const Lift<T>* lift = nullptr;               // centre and constant, or none
};

/// One vector given by its stored entries. Rows must be distinct and below n. The other entries are
/// missing, or zero if `rest_is_zero`.
template <class T, class Index = uword>
struct SparseSample {
  const T* values;
  const Index* rows;
  uword count;
  const std::vector<uword>* hidden = nullptr;  // held out, or none
  bool rest_is_zero = false;
  const Lift<T>* lift = nullptr;  // centre and constant, or none
};

/// Borrowed n x m data, one sample per column. The stride from sample to sample counts elements and
/// may be negative, so row slices of a NumPy array can be borrowed.
template <class T>
struct DenseView {
  const T* data;
  uword n_rows;
  uword n_cols;
  std::ptrdiff_t stride;
  const unsigned char* mask = nullptr;
  std::ptrdiff_t mask_stride = 0;
  const HeldOut* held_out = nullptr;
  const Lift<T>* lift = nullptr;

  explicit DenseView(const arma::Mat<T>& X)
      : data(X.memptr()),
        n_rows(X.n_rows),
        n_cols(X.n_cols),
        stride(static_cast<std::ptrdiff_t>(X.n_rows)) {}
  DenseView(const T* data_, uword n_rows_, uword n_cols_, std::ptrdiff_t stride_)
      : data(data_), n_rows(n_rows_), n_cols(n_cols_), stride(stride_) {}

  double stored_entries() const { return double(n_rows) * double(n_cols); }

  DenseSample<T> sample(uword j) const {
    const auto column = static_cast<std::ptrdiff_t>(j);
    return {data + column * stride, mask ? mask + column * mask_stride : nullptr,
            detail::find_hidden(held_out, j), lift};
  }
};

/// Borrowed compressed columns. A SciPy CSR matrix with one sample per row has this layout.
template <class T, class Index>
struct SparseView {
  const T* values;
  const Index* rows;
  const Index* offsets;  // n_cols + 1
  uword n_rows;
  uword n_cols;
  bool rest_is_zero = false;  // entries that are not stored are zero instead of missing
  const HeldOut* held_out = nullptr;
  const Lift<T>* lift = nullptr;

  double stored_entries() const {
    return rest_is_zero ? double(n_rows) * double(n_cols) : double(offsets[n_cols]);
  }

  SparseSample<T, Index> sample(uword j) const {
    const auto begin = offsets[j];
    return {values + begin,
            rows + begin,
            static_cast<uword>(offsets[j + 1] - begin),
            detail::find_hidden(held_out, j),
            rest_is_zero,
            lift};
  }
};

/// A sample of a layout that is known at run time only.
template <class T>
using AnySample =
    std::variant<DenseSample<T>, SparseSample<T, std::int32_t>, SparseSample<T, std::int64_t>>;

/// The memory of a sample, to prefetch it; null if it is not dense.
template <class T>
const T* dense_values(const DenseSample<T>& x) {
  return x.values;
}
template <class T, class Index>
const T* dense_values(const SparseSample<T, Index>& /*x*/) {
  return nullptr;
}
template <class T>
const T* dense_values(const AnySample<T>& x) {
  const auto* dense = std::get_if<DenseSample<T>>(&x);
  return dense ? dense->values : nullptr;
}

/// Data of a layout that is known at run time only. A program that uses it compiles the algorithms
/// once instead of once per layout.
template <class T>
class AnyView {
 public:
  uword n_rows, n_cols;
  const HeldOut* held_out = nullptr;
  const Lift<T>* lift = nullptr;
  std::shared_ptr<const void> owner;  // keeps the memory there, if something must

  template <class View>
  AnyView(const View& view)  // NOLINT: every view converts
      : n_rows(view.n_rows),
        n_cols(view.n_cols),
        held_out(view.held_out),
        lift(view.lift),
        view_(view) {}

  AnySample<T> sample(uword j) const {
    return std::visit(
        [&](const auto& view) -> AnySample<T> {
          auto sample = view.sample(j);
          sample.hidden = detail::find_hidden(held_out, j);
          sample.lift = lift;
          return sample;
        },
        view_);
  }

  /// Stored entries, missing or not.
  double stored_entries() const {
    return std::visit([](const auto& view) { return view.stored_entries(); }, view_);
  }

 private:
  std::variant<DenseView<T>, SparseView<T, std::int32_t>, SparseView<T, std::int64_t>> view_;
};

/// The data with some entries held out. The view borrows `held_out`.
template <class Data>
Data without(Data data, const HeldOut& held_out) {
  data.held_out = &held_out;
  return data;
}

/// The data with a centre subtracted and a constant appended. The view borrows `lift`.
template <class T, class Data>
Data lifted(Data data, const Lift<T>& lift) {
  data.lift = &lift;
  data.n_rows = lift.n_rows();
  return data;
}

/// A sample with some entries held out. It borrows `hidden`.
template <class Sample>
Sample with_hidden(Sample sample, const std::vector<uword>& hidden) {
  sample.hidden = &hidden;
  return sample;
}
template <class T>
AnySample<T> with_hidden(const AnySample<T>& sample, const std::vector<uword>& hidden) {
  return std::visit([&](const auto& each) -> AnySample<T> { return with_hidden(each, hidden); },
                    sample);
}

/// The rows that hold data: all but the appended constant.
template <class Data>
uword data_rows(const Data& data) {
  return data.lift ? data.lift->centre.n_elem : data.n_rows;
}

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

template <class T>
bool is_sorted(const AnySample<T>& x) {
  return std::visit([](const auto& sample) { return is_sorted(sample); }, x);
}

/// Whether a sorted sample may have an entry with from <= i < to.
template <class T>
bool touches(const DenseSample<T>&, uword, uword) {
  return true;
}
template <class T, class Index>
bool touches(const SparseSample<T, Index>& x, uword from, uword to) {
  if (x.rest_is_zero || detail::appends(x.lift, from, to)) return true;
  const auto below = [](Index row, uword bound) { return uword(row) < bound; };
  const Index* row = std::lower_bound(x.rows, x.rows + x.count, from, below);
  return row != x.rows + x.count && uword(*row) < to;
}

template <class T>
bool touches(const AnySample<T>& x, uword from, uword to) {
  return std::visit([&](const auto& sample) { return touches(sample, from, to); }, x);
}

namespace detail {

/// The entries of a sorted sample with from <= i < to as they are stored, without the lift.
template <class T, class Visit>
void each_stored_entry(const DenseSample<T>& x, uword from, uword to, Visit&& visit) {
  if (!x.mask && !x.hidden) {
    for (uword i = from; i < to; ++i) visit(i, x.values[i], x.values[i] == x.values[i]);
    return;
  }
  HiddenRows hidden(x.hidden, from);
  for (uword i = from; i < to; ++i) {  // from one hidden entry to the next, without a question
    const uword until = hidden.next(to);
    if (x.mask)
      for (; i < until; ++i) visit(i, x.values[i], (x.values[i] == x.values[i]) & (x.mask[i] != 0));
    else
      for (; i < until; ++i) visit(i, x.values[i], x.values[i] == x.values[i]);
    if (i < to) visit(i, x.values[i], false);
  }
}
template <class T, class Index, class Visit>
void each_stored_entry(const SparseSample<T, Index>& x, uword from, uword to, Visit&& visit) {
  const auto below = [](Index row, uword bound) { return uword(row) < bound; };
  const Index* end = x.rows + x.count;
  HiddenRows hidden(x.hidden, from);
  const auto is_observed = [&](uword i, T value) { return value == value && !hidden.contain(i); };
  uword next = from;
  const auto visit_zeros = [&](uword until) {
    for (; x.rest_is_zero && next < until; ++next) visit(next, T(0), is_observed(next, T(0)));
  };
  for (const Index* row = std::lower_bound(x.rows, end, from, below);
       row != end && uword(*row) < to; ++row) {
    const T value = x.values[row - x.rows];
    visit_zeros(uword(*row));
    visit(uword(*row), value, is_observed(uword(*row), value));
    next = uword(*row) + 1;
  }
  visit_zeros(to);
}

/// The stored entries less the centre, then the constant.
template <class Sample, class Visit>
void each_lifted_entry(const Sample& x, uword from, uword to, Visit&& visit) {
  const auto& lift = *x.lift;
  const uword end = lift.centre.n_elem;
  each_stored_entry(x, from, std::min(to, end), [&](uword i, auto value, bool observed) {
    visit(i, value - lift.centre[i], observed);
  });
  if (appends(x.lift, from, to)) visit(end, lift.constant, !is_hidden(x.hidden, end));
}

}  // namespace detail

/// Calls visit(i, value, observed) for the entries of a sorted sample with from <= i < to: for all
/// of them, or only for those that are stored.
template <class T, class Visit>
void each_entry(const DenseSample<T>& x, uword from, uword to, Visit&& visit) {
  if (x.lift) return detail::each_lifted_entry(x, from, to, visit);
  detail::each_stored_entry(x, from, to, visit);
}
template <class T, class Index, class Visit>
void each_entry(const SparseSample<T, Index>& x, uword from, uword to, Visit&& visit) {
  if (x.lift) return detail::each_lifted_entry(x, from, to, visit);
  detail::each_stored_entry(x, from, to, visit);
}
template <class T, class Visit>
void each_entry(const AnySample<T>& x, uword from, uword to, Visit&& visit) {
  std::visit([&](const auto& sample) { each_entry(sample, from, to, visit); }, x);
}

/// Some columns of a data set.
template <class Data>
struct SubsetView {
  const Data& data;
  std::vector<uword> columns;
  uword n_rows, n_cols;
  decltype(Data::lift) lift;

  SubsetView(const Data& all, std::vector<uword> some)
      : data(all),
        columns(std::move(some)),
        n_rows(all.n_rows),
        n_cols(columns.size()),
        lift(all.lift) {}
  auto sample(uword j) const { return data.sample(columns[j]); }
};

/// A subset reads the samples of the data behind it, so that has to be lifted.
template <class T, class Data>
SubsetView<Data> lifted(SubsetView<Data> data, const Lift<T>& lift) = delete;

/// The columns from <= j < to of a data set, or of a subset: then of the data behind it.
template <class Data>
SubsetView<Data> part_of(const Data& data, uword from, uword to) {
  std::vector<uword> columns(to - from);
  std::iota(columns.begin(), columns.end(), from);
  return {data, std::move(columns)};
}
template <class Data>
SubsetView<Data> part_of(const SubsetView<Data>& some, uword from, uword to) {
  const auto begin = some.columns.begin();
  return {some.data, {begin + std::ptrdiff_t(from), begin + std::ptrdiff_t(to)}};
}

/// About `count` columns of a data set: one at random out of each of as many equal parts, always
/// the same ones. Evenly spaced columns would mislead where the data has a period.
template <class Data>
SubsetView<Data> about(const Data& data, uword count) {
  Random random(0x5EED);
  std::vector<uword> columns;
  const uword step = std::max<uword>(1, data.n_cols / count);
  for (uword from = 0; from < data.n_cols; from += step)
    columns.push_back(from + uword(random.index(std::min(step, data.n_cols - from))));
  return {data, std::move(columns)};
}

}  // namespace gasg21
