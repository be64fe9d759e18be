// The loops of the roofline: what the machine can do at most. `loops.cpp` is compiled once for each
// instruction set, away from its callers, so that the compiler cannot merge two calls into one pass
// (which doubled the rates that an earlier measurement saw).
#pragma once

#include <cstddef>

namespace speed {

template <class T>
struct Loops {
  /// Multiplies and adds in registers; returns the number of floating-point operations.
  double (*multiply_add)(std::size_t rounds);
  /// Reads and writes u[0], ..., u[n - 1] once.
  void (*read_write)(T* u, std::size_t n);
  /// Reads x[0], ..., x[n - 1] once.
  void (*read)(const T* x, std::size_t n);
};

template <class T>
Loops<T> baseline_loops();
template <class T>
Loops<T> avx2_loops();
template <class T>
Loops<T> avx512_loops();

}  // namespace speed
