// Single rows of a basis that lies by rows, for each instruction set: the observed ones as blocks,
// for the kernels of kernels/tracked_basis.hpp, the rank-one change of a geodesic step, and a turn
// of all.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "gasg21/kernels/dispatch.hpp"
#include "gasg21/support/aligned.hpp"
#include "gasg21/support/index.hpp"

namespace gasg21::kernels {

/// Rows one after the other, in memory that goes on for a cache line after them. Each has the d
/// numbers of the basis, then the entry of e of the last step that it took part in, and the number
/// of that step: so the last direction can be read on any rows, and needs no clearing.
template <class T>
struct RowMemory {
  T* rows;
  uword n, d, stride;
  T step;  // the number of the last step

  static constexpr uword extra = 2;
  /// So that few rows lie in more cache lines than they must.
  static uword stride_for(uword d) {
    constexpr uword half = block_rows<T> / 2;
    return (d + extra + half - 1) / half * half;
  }
};

template <class T>
struct RowMajorKernels {
  void (*gather)(const RowMemory<T>& from, const uword* at, uword count, T* blocks, T* e,
                 const T* next);
  void (*add_rank_one)(const RowMemory<T>& to, const uword* at, uword count, const T* e, T* z);
  void (*turn_all)(const RowMemory<T>& rows, const T* At);
};

GASG21_IN_EACH_SET(template <class T> const RowMajorKernels<T>& row_major_kernels();)

/// The kernels for the instruction set in use.
template <class T>
const RowMajorKernels<T>& row_major_kernels() {
  GASG21_DISPATCH(row_major_kernels<T>());
}

/// The rows `at` as blocks, and the last direction on them; zeros up to whole blocks. Meanwhile it
/// fetches the vector `next` of n entries, unless null.
template <class T>
void gather(const RowMemory<T>& from, const uword* at, uword count, T* blocks, T* e,
            const T* next) {
  row_major_kernels<T>().gather(from, at, count, blocks, e, next);
}

/// rows += e z' on the rows `at`, as step number `step`; e is noted there. z has d numbers, and
/// room for a cache line more.
template <class T>
void add_rank_one(const RowMemory<T>& to, const uword* at, uword count, const T* e, T* z) {
  row_major_kernels<T>().add_rank_one(to, at, count, e, z);
}

/// Turns all rows: row := row A. At has the rows of A, with zeros up to whole cache lines.
template <class T>
void turn_all(const RowMemory<T>& rows, const T* At) {
  row_major_kernels<T>().turn_all(rows, At);
}

}  // namespace gasg21::kernels

#if !defined(GASG21_COMPILED_KERNELS)
#include "gasg21/kernels/impl/simd_of_each_set.hpp"
#define GASG21_KERNELS "gasg21/kernels/impl/row_major_basis.hpp"
#include "gasg21/kernels/impl/for_each_set.hpp"
#undef GASG21_KERNELS
#endif
