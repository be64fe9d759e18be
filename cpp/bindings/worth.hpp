// How much work is worth a thread.
#pragma once

#include <algorithm>
#include <gasg21/gasg21.hpp>
#include <variant>

#include "array_view.hpp"

namespace gasg21::bindings {

/// The entries that are stored, missing or not.
template <class T>
double stored_entries(const DenseView<T>& v) {
  return double(v.n_rows) * double(v.n_cols);
}
template <class T, class Index>
double stored_entries(const SparseView<T, Index>& v) {
  return double(v.offsets[v.n_cols]);
}
template <class T>
double stored_entries(const AnyView<T>& view) {
  return std::visit([](const auto& v) { return stored_entries(v); }, view);
}

/// As many threads as may be used and have something to do; `work` is in multiply-adds. A thread
/// takes 40 to 70 us to start and end, so that there must be some 400 us of work for each.
inline unsigned worthwhile(unsigned n_threads, double work) {
  return unsigned(std::min(double(n_threads), 1 + work / 1e6));
}

}  // namespace gasg21::bindings
