// The median, without the values that are NaN.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

namespace gasg21 {

/// The mean of the two middle values if their number is even; NaN for no values.
template <class T>
T median(std::vector<T> values) {
  values.erase(std::remove_if(values.begin(), values.end(), [](T v) { return !(v == v); }),
               values.end());
  if (values.empty()) return std::numeric_limits<T>::quiet_NaN();
  const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

}  // namespace gasg21
