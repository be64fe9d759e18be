// The first look at a vector: what is observed of it, for each instruction set.
#pragma once

#include <algorithm>

#include "gasg21/kernels/dispatch.hpp"
#include "gasg21/kernels/simd.hpp"
#include "gasg21/support/config.hpp"

#define GASG21_KERNELS "gasg21/kernels/impl/observe.hpp"
#include "gasg21/kernels/for_each_set.hpp"
#undef GASG21_KERNELS

namespace gasg21::kernels {

/// out = x (which may be the same memory). Returns the sum of the squares of the entries that are
/// not NaN, and counts them.
template <class T>
T observe(const T* x, uword n, T* out, uword& count) {
  GASG21_DISPATCH(observe(x, n, out, count));
}

/// The same for a vector of which nothing may be missing, in half the time: NaN when something is.
template <class T>
T observe_whole(const T* x, uword n, T* out) {
  GASG21_DISPATCH(observe_whole(x, n, out));
}

/// The entries of x that are not NaN, and their rows. `values` and `rows` have room for a block
/// more. Returns how many they are.
template <class T>
uword compact(const T* x, uword n, uword* rows, T* values) {
  GASG21_DISPATCH(compact(x, n, rows, values));
}

}  // namespace gasg21::kernels
