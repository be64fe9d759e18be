// The passes over a tracked basis that an update consists of. The basis lies in row blocks, one
// cache line of rows each: block [b][c][l] is row 8 b + l of column c (16 b + l in float). A pass
// then reads memory in order, and no lane is wasted at any d. Rows beyond n are 0.
//
// An update takes two passes: `sums` applies the pending geodesic step and sums G = U_Omega'U_Omega
// and b = U_Omega'x (read and write); `residual` computes x - U w (read). The sums stay in
// registers: all of them for d <= 5 (3 with 16 registers), those without G for d <= 10 (5 with
// SSE2). For larger d, G is summed in tiles over chunks of rows that fit the first-level cache. For
// d from 5 (AVX2: 6) to 10, AVX-512 and AVX2 first compact the rows in the minority, missing or
// observed.
// Index arrays of accumulators by constants only: otherwise the compiler keeps them in memory, and
// sums take four times as long.
#pragma once

#include <algorithm>
#include <utility>

#include "gasg21/kernels/dispatch.hpp"
#include "gasg21/support/aligned.hpp"
#include "gasg21/support/index.hpp"

namespace gasg21::kernels {

/// A geodesic step that is decided but not applied yet, Eq. (9): U += (z_factor U z + e_factor e)
/// v' with the unit direction e = scale (r - U y). With z = v, z_factor is cos(theta) - 1 and
/// e_factor is sin(theta). Where y = y_over_z z, y is null, and U y takes no product of its own.
template <class T>
struct PendingStep {
  T* e;            // r before the step, the direction e after it; n entries, padded. NaN becomes 0
  const T *v, *z;  // d entries
  const T* y;      // d entries, or null
  T z_factor, e_factor, scale, y_over_z;
};

/// Input and output of `sums`.
template <class T>
struct SumsTask {
  T* U;
  uword n_blocks, d;
  const PendingStep<T>* step;  // applied first, unless null
  const T* e;                  // the direction of the last step
  const T* x;                  // padded, NaN = missing
  const T* next;               // the vector after x, prefetched meanwhile
  T* G;                        // d x d, lower triangle; null if nothing of x is missing (G = I)
  T* b;                        // d entries
  T* scratch;                  // sums_scratch(d) entries
  // If not null, and G neither, `finds_direction` finds U_Omega'e, d entries.
  T* Ue_observed = nullptr;
  // Then also U'e, if U'U = I up to rounding and most of x is observed; else null.
  const T* Ue = nullptr;
};

template <class T>
struct TrackedBasisKernels {
  /// Applies the pending step, then sums G = U_Omega'U_Omega and b = U_Omega'x. Returns e'x, with
  /// the direction e of the last step, if G is null or `finds_direction`. If G is null, r of the
  /// step must not be NaN anywhere. If Ue is given, G may be I less the sum over the missing rows.
  T (*sums)(const SumsTask<T>& task);
  /// r = x - U w on Omega, NaN elsewhere; q = U_Omega'r; products = {r'r, r'e}.
  void (*residual)(const T* U, uword n_blocks, uword d, const T* w, const T* x, const T* e, T* r,
                   T* q, T* products);
  void (*apply)(T* U, uword n_blocks, uword d, const PendingStep<T>& step);
  bool finds_direction;  // `sums` finds U_Omega'e
  bool subtracts;        // G may be I less the sum over the missing rows
};

/// For d >= least_compacted, AVX2 compacts the observed rows of each chunk of most_compacted row
/// blocks before it forms the Gram matrix.
inline constexpr uword least_compacted = 32, most_compacted = 48;
/// Distance of the compacted columns: whole row blocks, one more for zeros, and no power of two.
template <class T>
inline constexpr uword compacted_apart = (most_compacted + 2) * block_rows<T>;

/// Rows of d columns and the direction that AVX-512 compacts before it sums their products: whole
/// row blocks, 16 kB, and one more for zeros. (AVX2 has room for `compacted_apart` rows.)
template <class T>
constexpr uword minority_rows(uword d) {
  return (256 / (d + 1) + 1) * block_rows<T>;
}

/// Row blocks in a chunk: 32 kB, but not so few that loading the sums costs more than adding to
/// them.
inline uword chunk_blocks(uword d) { return std::max<uword>(512 / d / 4 * 4, 32); }

/// Entries of scratch memory that `sums` needs.
template <class T>
uword sums_scratch(uword d) {
  const uword minority = (d + 1) * ((d + 2) / 2 + 1 + most_compacted + 2);
  return std::max((d + d * (d + 1) / 2), minority) * block_rows<T> +
         (d >= least_compacted ? d * compacted_apart<T> : 0);
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
