// The inner loops of dense linear algebra: tiles of a matrix product, a symmetric matrix times a
// vector, and plane rotations of columns.
#pragma once

#include <algorithm>

#include "gasg21/kernels/dispatch.hpp"
#include "gasg21/support/index.hpp"

namespace gasg21::kernels {

/// `count` vectors of `depth` entries. Entry p of vector i is at memory[i * next + p * step].
template <class T>
struct Vectors {
  const T* memory;
  uword next, step, count, depth;
};

/// A sweep of plane rotations of the columns (i, i + 1) for i = last - 1 down to first.
struct Sweep {
  uword first, last;
};

template <class T>
struct DenseKernels {
  uword tile_rows, tile_columns;
  /// Packs vectors into panels of `width` vectors: [panel][p][vector], with zeros beyond the last.
  void (*pack)(const Vectors<T>& vectors, uword width, T* to);
  /// C += factor * X'Y for the panels X of tile_rows vectors and Y of tile_columns vectors; only
  /// the first rows and columns of the tile.
  void (*multiply_tile)(const T* X, const T* Y, uword depth, T factor, T* C, uword stride,
                        uword rows, uword columns);
  /// C += factor * X'Y for few vectors Y, without packing. The entries of a vector are contiguous.
  void (*multiply_thin)(const Vectors<T>& X, const Vectors<T>& Y, T factor, T* C, uword stride);
  /// out_c = A_c'x for the d columns A_c, which have n rows and lie `stride` apart.
  void (*transpose_times)(const T* A, uword stride, uword n, uword d, const T* x, T* out);
  /// y += A w for the n x d matrix A.
  void (*add_times)(const T* A, uword stride, uword n, uword d, const T* w, T* y);
  /// out = A x for the symmetric n x n matrix A, of which it reads the lower triangle.
  void (*symmetric_times)(const T* A, uword stride, uword n, const T* x, T* out);
  /// Rotates the columns of Z (rows x .): z_i = c z_i - s z_{i+1}, z_{i+1} = s z_i + c z_{i+1}. The
  /// rotations of all sweeps follow each other: c, then s.
  void (*rotate)(T* Z, uword rows, const Sweep* sweeps, uword count, const T* rotations);
};

GASG21_IN_EACH_SET(template <class T> const DenseKernels<T>& dense_kernels();)

/// The kernels for the instruction set in use.
template <class T>
const DenseKernels<T>& dense_kernels() {
  GASG21_DISPATCH(dense_kernels<T>());
}

}  // namespace gasg21::kernels

#if !defined(GASG21_COMPILED_KERNELS)
#include "gasg21/kernels/impl/simd_of_each_set.hpp"
#define GASG21_KERNELS "gasg21/kernels/impl/dense.hpp"
#include "gasg21/kernels/impl/for_each_set.hpp"
#undef GASG21_KERNELS
#endif
