// The median, without the values that are NaN.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

namespace gasg21 {

/// The mean of the two middle values if their number is even; NaN for no values. Reorders them.
template <class T>
T median(T* first, T* last) {
  last = std::remove_if(first, last, [](T v) { return !(v == v); });
  if (first == last) return std::numeric_limits<T>::quiet_NaN();
  T* const middle = first + (last - first) / 2;
  std::nth_element(first, middle, last);
  if ((last - first) % 2 == 1) return *middle;
  return (*std::max_element(first, middle) + *middle) / 2;
}
template <class T>
T median(std::vector<T> values) {
  return median(values.data(), values.data() + values.size());
}

}  // namespace gasg21
