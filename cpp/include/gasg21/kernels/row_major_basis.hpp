// Kernels of a row-major basis: copy the observed rows to row blocks, for the kernels of
// tracked_basis.hpp; add the rank-one change of a geodesic step; multiply all rows by a matrix.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "gasg21/kernels/dispatch.hpp"
#include "gasg21/support/aligned.hpp"
#include "gasg21/support/index.hpp"

namespace gasg21::kernels {

/// Rows one after the other, with a spare cache line at the end. Each row has d entries of the
/// basis, then the entry of e of the last step that changed it, and the number of that step. So the
/// last direction can be read on any rows, and needs no clearing.
template <class T>
struct RowMemory {
  T* rows;
  uword n, d, stride;
  T step;  // the number of the last step

  static constexpr uword extra = 2;
  /// Row stride, rounded up so that few rows straddle an extra cache line.
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
  void (*multiply_all)(const RowMemory<T>& rows, const T* At);
};

GASG21_IN_EACH_SET(template <class T> const RowMajorKernels<T>& row_major_kernels();)

/// The kernels for the instruction set in use.
template <class T>
const RowMajorKernels<T>& row_major_kernels() {
  GASG21_DISPATCH(row_major_kernels<T>());
}

/// Copies the rows `at` to row blocks, and the last direction on them to e; zeros up to whole
/// blocks. Prefetches the vector `next` of n entries, unless null.
template <class T>
void gather(const RowMemory<T>& from, const uword* at, uword count, T* blocks, T* e,
            const T* next) {
  row_major_kernels<T>().gather(from, at, count, blocks, e, next);
}

/// rows += e z' on the rows `at`; stores e and the number of the step with them. z has d entries,
/// and room for one more cache line.
template <class T>
void add_rank_one(const RowMemory<T>& to, const uword* at, uword count, const T* e, T* z) {
  row_major_kernels<T>().add_rank_one(to, at, count, e, z);
}

/// Multiplies all rows: row := row A. At has the rows of A, with zeros up to whole cache lines.
template <class T>
void multiply_all(const RowMemory<T>& rows, const T* At) {
  row_major_kernels<T>().multiply_all(rows, At);
}

}  // namespace gasg21::kernels

#if !defined(GASG21_COMPILED_KERNELS)
#include "gasg21/kernels/impl/simd_of_each_set.hpp"
#define GASG21_KERNELS "gasg21/kernels/impl/row_major_basis.hpp"
#include "gasg21/kernels/impl/for_each_set.hpp"
#undef GASG21_KERNELS
#endif
