// The look for infinities at the door.
#pragma once

#include <cmath>
#include <gasg21/config.hpp>

namespace gasg21::bindings {

/// The index of the first observed infinite entry of a sample among its stored ones, or `count`.
template <class T>
uword first_infinite(const T* values, const unsigned char* mask, uword count) {
  const auto infinite = [&](uword k) { return std::isinf(values[k]) && (!mask || mask[k]); };
  bool any = false;
  for (uword k = 0; k < count; ++k) any |= infinite(k);  // no branch: nearly always there is none
  if (!any) return count;
  uword k = 0;
  while (!infinite(k)) ++k;
  return k;
}

}  // namespace gasg21::bindings
