// Sums per coordinate, for the polish: what a group of samples adds to the sums of a tile of
// coordinates. One word of bits tells which samples observe a coordinate. Its sums stay in
// registers while the kernel loops over the bits that are set, so that missing entries cost
// nothing. Samples are added in their order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "gasg21/kernels/dispatch.hpp"
#include "gasg21/support/aligned.hpp"
#include "gasg21/support/index.hpp"

namespace gasg21::kernels {

/// One bit for each sample of a group. As wide as T, so that a comparison of T makes a register of
/// them.
template <class T>
using SampleBits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

/// Samples in a group.
template <class T>
inline constexpr uword sample_group = 8 * sizeof(T);

/// The weights of a sample in the subspace: (x * up) * down = U w + r.
template <class T>
struct FittedSample {
  const T* w;  // d entries
  T up, down;
};

/// The sums of the coordinates of a tile, one coordinate after the other. Each has `products` sums
/// of products, then `moments` sums of moments.
template <class T>
struct CoordinateTileSums {
  T* sums;
  uword n_rows, products, moments;
};

/// The terms of a group of samples: `products` and `moments` numbers for each sample, both padded
/// with zeros to whole cache lines.
template <class T>
struct SampleGroup {
  const T* terms;             // sample k starts at terms + k * stride
  uword stride, moments_at;   // the moments start at terms + k * stride + moments_at
  const SampleBits<T>* seen;  // for each coordinate, the samples that observe it
  // The residual of coordinate i in sample k is r[k * r_stride + i], 0 where it is missing.
  // Readable up to whole cache lines.
  const T* r;
  uword r_stride;
  uword size;      // samples in the group
  const T* sizes;  // for each sample, how large its products are: their trace
  T* total;        // room for the products of a sample
};

template <class T>
struct CoordinateSumKernels {
  /// Reads a tile of the sample x (n_rows entries, NaN = missing). Sets `bit` for the observed
  /// coordinates, and the residuals r, 0 where x is missing. Returns whether any is observed. U has
  /// n_rows rows and d columns, `stride` apart.  Pre: n_rows is at least a cache line.
  bool (*note)(const T* x, uword n_rows, const T* U, uword stride, uword d,
               const FittedSample<T>& sample, SampleBits<T> bit, SampleBits<T>* seen, T* r);
  /// For each coordinate i, adds the products of the samples that observe it, and r_i times their
  /// moments. Where few samples miss it, it adds the total of the group less theirs.
  void (*add)(const CoordinateTileSums<T>& tile, const SampleGroup<T>& group);
  /// Solves the normal equations of up to 8 coordinates in double, with `ridge` times their trace
  /// added to the diagonals. `sums` is as in CoordinateTileSums; x gets d numbers for each
  /// coordinate, zeros where the equations are not positive definite. `scratch` has d (d + 1) / 2 +
  /// d blocks of 8.
  void (*solve)(const T* sums, uword n_rows, uword d, double ridge, T* x, double* scratch);
};

GASG21_IN_EACH_SET(template <class T> const CoordinateSumKernels<T>& coordinate_sum_kernels();)

/// The kernels for the instruction set in use.
template <class T>
const CoordinateSumKernels<T>& coordinate_sum_kernels() {
  GASG21_DISPATCH(coordinate_sum_kernels<T>());
}

}  // namespace gasg21::kernels

#if !defined(GASG21_COMPILED_KERNELS)
#include "gasg21/kernels/impl/ldl_lanes_of_each_set.hpp"
#define GASG21_KERNELS "gasg21/kernels/impl/coordinate_sums.hpp"
#include "gasg21/kernels/impl/for_each_set.hpp"
#undef GASG21_KERNELS
#endif
