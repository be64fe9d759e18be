// The passes over the basis that an update consists of, for each instruction set. The basis lies in
// blocks of one cache line of rows: block [b][c][l] is row 8 b + l of column c (16 b + l in float),
// so that a pass is one stream through memory and no lane is wasted at any d. Rows beyond n are 0.
//
// Two passes make an update: `sums` carries out the geodesic step of the vector before and sums
// G = U_Omega'U_Omega and b = U_Omega'x of this one (read and write), `residual` takes x - U w
// (read). Sums stay in registers: for d <= 5 (3 with 16 registers) all of them, and those without G
// for d <= 10 (5 with SSE2); beyond in tiles over a chunk of rows that stays in the first cache.
// Index arrays of accumulators by constants only: otherwise the compiler stores all of them in each
// round, which costs four times the sums.
#pragma once

#include <algorithm>

#include "gasg21/kernels/dispatch.hpp"
#include "gasg21/support/aligned.hpp"
#include "gasg21/support/index.hpp"

namespace gasg21::kernels {

/// A geodesic step that is decided but not carried out, Eq. (9): U += (along U z + across e) v'
/// with the unit direction e = scale (r - U y), or scale (r - back U z) without y: one product
/// less.
template <class T>
struct Move {
  T* e;            // r, n entries, padded; NaN is 0 also in e, which it is replaced by
  const T *v, *z;  // d entries
  const T* y;      // d entries, or null
  T along, across, scale, back;
};

template <class T>
struct TrackedBasisKernels {
  /// Carries out `move`, unless null; then G (d x d, lower triangle) and b (d) for x (padded, NaN =
  /// missing). Without G when nothing of x is missing (G = null): it is I, and nothing of r may be
  /// NaN. Returns e'x, with the direction e of the last step. `next` is the vector after x, to be
  /// fetched meanwhile.
  T (*sums)(T* U, uword n_blocks, uword d, const Move<T>* move, const T* e, const T* x,
            const T* next, T* G, T* b, T* scratch);
  /// r = x - U w on Omega, NaN elsewhere; q = U_Omega'r; products = {r'r, r'e}.
  void (*residual)(const T* U, uword n_blocks, uword d, const T* w, const T* x, const T* e, T* r,
                   T* q, T* products);
  /// Carries out `move`.
  void (*carry)(T* U, uword n_blocks, uword d, const Move<T>& move);
};

/// From so many columns on it may pay to put together what is observed of the blocks of a chunk, so
/// many of them, before it is summed; and how far apart its columns are then put: whole blocks, one
/// more for zeros, and at no power of two.
inline constexpr uword least_compressed = 32, most_compressed = 48;
template <class T>
inline constexpr uword compressed_apart = (most_compressed + 2) * block_rows<T>;

/// Blocks of rows whose tiles are summed at a time: 32 kB, and not so few that loading the sums
/// costs more than they do.
inline uword chunk_blocks(uword d) { return std::max<uword>(512 / d / 4 * 4, 32); }

/// Elements of memory that `sums` needs beside its results.
template <class T>
uword sums_scratch(uword d) {
  return (d + d * (d + 1) / 2) * block_rows<T> +
         (d >= least_compressed ? d * compressed_apart<T> : 0);
}

GASG21_IN_EACH_SET(template <class T> const TrackedBasisKernels<T>& tracked_basis_kernels(uword d);)

/// The kernels for d columns and the instruction set in use.
template <class T>
const TrackedBasisKernels<T>& tracked_basis_kernels(uword d) {
  GASG21_DISPATCH(tracked_basis_kernels<T>(d));
}

}  // namespace gasg21::kernels

#if !defined(GASG21_COMPILED_KERNELS)
#include "gasg21/kernels/impl/simd_of_each_set.hpp"
#define GASG21_KERNELS "gasg21/kernels/impl/tracked_basis.hpp"
#include "gasg21/kernels/impl/for_each_set.hpp"
#undef GASG21_KERNELS
#endif
