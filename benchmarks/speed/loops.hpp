// The loops of the roofline: what the machine can do at most. `loops.cpp` is compiled once for each
// instruction set, away from its callers, so that the compiler cannot merge two calls into one pass
// (which doubled the rates that an earlier measurement saw).
#pragma once

#include <cstddef>

namespace speed {

/// What an update must do, without what a kernel decides meanwhile: no masks, no permutations, no
/// branches, and everything aligned. U lies in blocks of one register of each column; n is a whole
/// number of two registers.
template <class T>
struct Passes {
  /// to = x, and the sum of the squares.
  void (*copy)(const T* x, std::size_t n, T* to, T* squares);
  /// Reads x and r, writes r; U += (r - U z) v'; sums b = U'x; prefetches `next`. Writes the given
  /// tenths of U and r to `moved` as well, where rows are compacted; it holds 32 registers of each
  /// column.
  void (*step)(T* U, std::size_t n, const T* zv, T* r, const T* x, const T* next, T* b, T* moved,
               unsigned tenths);
  /// r = x - U w, sums q = U'r.
  void (*residual)(const T* U, std::size_t n, const T* w, const T* x, T* r, T* q);
};

template <class T>
struct Loops {
  /// Multiplies and adds in registers; returns the number of floating-point operations.
  double (*multiply_add)(std::size_t rounds);
  /// Reads and writes u[0], ..., u[n - 1] once.
  void (*read_write)(T* u, std::size_t n);
  /// Reads x[0], ..., x[n - 1] once.
  void (*read)(const T* x, std::size_t n);
  /// For d columns, or null: the loops are compiled for some d only.
  const Passes<T>* (*passes)(std::size_t d);
};

template <class T>
Loops<T> baseline_loops();
template <class T>
Loops<T> avx2_loops();
template <class T>
Loops<T> avx512_loops();

}  // namespace speed
