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

}  // namespace gasg21::kernels

#if !defined(GASG21_COMPILED_KERNELS)
#include "gasg21/kernels/impl/simd_of_each_set.hpp"
#define GASG21_KERNELS "gasg21/kernels/impl/observe.hpp"
#include "gasg21/kernels/impl/for_each_set.hpp"
#undef GASG21_KERNELS
#endif
