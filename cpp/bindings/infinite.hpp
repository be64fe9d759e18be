// The search for infinities in a sample.
#pragma once

#include <algorithm>
#include <cmath>
#include <gasg21/kernels/observe.hpp>

namespace gasg21::bindings {

/// The index of the first observed infinite entry of a sample among its stored ones, or `count`.
template <class T>
uword first_infinite(const T* values, const unsigned char* mask, uword count) {
  constexpr uword piece = 1024;
  alignas(64) T copy[piece];
  for (uword from = 0; from < count; from += piece) {
    const uword to = std::min(from + piece, count);
    uword observed;
    // The sum of squares is finite unless there is an infinity, or in rare cases of overflow.
    if (std::isfinite(kernels::observe(values + from, to - from, copy, observed))) continue;
    for (uword k = from; k < to; ++k)
      if (std::isinf(values[k]) && (!mask || mask[k])) return k;
  }
  return count;
}

}  // namespace gasg21::bindings
