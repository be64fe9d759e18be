// How many threads a call deserves.
#pragma once

#include <algorithm>

namespace gasg21::bindings {

/// How many of the threads have enough to do; `work` is in multiply-adds. A thread takes 40 to 70
/// us to start and end, so each should have some 400 us of work.
inline unsigned worthwhile(unsigned n_threads, double work) {
  return unsigned(std::min(double(n_threads), 1 + work / 1e6));
}

}  // namespace gasg21::bindings
