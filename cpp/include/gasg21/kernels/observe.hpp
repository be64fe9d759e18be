// Reads a vector for the first time: copies it, and counts and sums its observed entries.
#pragma once

#include <algorithm>

#include "gasg21/kernels/dispatch.hpp"
#include "gasg21/support/index.hpp"

namespace gasg21::kernels {

template <class T>
struct ObserveKernels {
  T (*observe)(const T* x, uword n, T* out, uword& count);
  T (*observe_whole)(const T* x, uword n, T* out);
  uword (*compact)(const T* x, uword n, uword* rows, T* values);
  uword (*missing)(const T* x, uword n, uword* rows);
  void (*fill_missing)(const T* x, uword n, T factor, T* out);
};

GASG21_IN_EACH_SET(template <class T> const ObserveKernels<T>& observe_kernels();)

/// The kernels for the instruction set in use.
template <class T>
const ObserveKernels<T>& observe_kernels() {
  GASG21_DISPATCH(observe_kernels<T>());
}

/// out = x (which may be the same memory). Returns the sum of squares of the entries that are not
/// NaN, and counts them.
template <class T>
T observe(const T* x, uword n, T* out, uword& count) {
  return observe_kernels<T>().observe(x, n, out, count);
}

/// The same for a vector without missing entries, in half the time. Returns NaN if x holds NaN.
template <class T>
T observe_whole(const T* x, uword n, T* out) {
  return observe_kernels<T>().observe_whole(x, n, out);
}

/// Writes the entries of x that are not NaN to `values` and their indices to `rows`, which have
/// room for one more row block. Returns their number.
template <class T>
uword compact(const T* x, uword n, uword* rows, T* values) {
  return observe_kernels<T>().compact(x, n, rows, values);
}

/// Writes the indices of the entries of x that are NaN to `rows`, which has room for one more row
/// block. Returns their number.
template <class T>
uword missing(const T* x, uword n, uword* rows) {
  return observe_kernels<T>().missing(x, n, rows);
}

/// out = factor * x, with 0 where x is NaN.  Pre: n is whole row blocks.
template <class T>
void fill_missing(const T* x, uword n, T factor, T* out) {
  observe_kernels<T>().fill_missing(x, n, factor, out);
}

}  // namespace gasg21::kernels

#if !defined(GASG21_COMPILED_KERNELS)
#include "gasg21/kernels/impl/simd_of_each_set.hpp"
#define GASG21_KERNELS "gasg21/kernels/impl/observe.hpp"
#include "gasg21/kernels/impl/for_each_set.hpp"
#undef GASG21_KERNELS
#endif
