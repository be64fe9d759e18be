// The loops of the polish, for each instruction set: what a group of samples adds to the sums of a
// tile of coordinates. Which samples observe a coordinate is one word of bits; its sums stay in
// registers while the bits that are set are walked through, so that what is missing costs nothing.
// Samples are summed in their order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "gasg21/kernels/dispatch.hpp"
#include "gasg21/support/aligned.hpp"
#include "gasg21/support/index.hpp"

namespace gasg21::kernels {

/// One bit for each sample of a group; as wide as T, so that one comparison makes a register of it.
template <class T>
using SampleBits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

/// Samples in a group.
template <class T>
inline constexpr uword sample_group = 8 * sizeof(T);

/// A sample in the subspace: (x * up) * down = U w + r.
template <class T>
struct FittedSample {
  const T* w;  // d entries
  T up, down;
};

/// The sums of the coordinates of a tile: `column` numbers each, one after the other; `products` of
/// them, then `moments`.
template <class T>
struct CoordinateTileSums {
  T* sums;
  uword n_rows, products, moments;
};

/// A group of samples as the sums need them: of each `products` and `moments` numbers, each padded
/// with zeros to whole cache lines, one after the other.
template <class T>
struct SampleGroup {
  const T* terms;             // of sample k from terms + k * stride on
  uword stride, moments_at;   // where the moments begin
  const SampleBits<T>* seen;  // of each coordinate: who observes it
  const T* r;                 // residuals: of coordinate i in sample k at r[k * r_stride + i]
  uword r_stride;
};

template <class T>
struct CoordinateSumKernels {
  /// Coordinates U (n_rows rows of d columns, `stride` apart) of a sample x, NaN = missing: sets
  /// `bit` where it is observed, and r. Pre: n_rows is a cache line at least.
  void (*note)(const T* x, uword n_rows, const T* U, uword stride, uword d,
               const FittedSample<T>& sample, SampleBits<T> bit, SampleBits<T>* seen, T* r);
  /// For each coordinate i: products += those of the samples that observe it; moments += r_i times
  /// theirs.
  void (*add)(const CoordinateTileSums<T>& tile, const SampleGroup<T>& group);
  /// Solves the normal equations of up to 8 coordinates, whose sums are as in CoordinateTileSums,
  /// with `ridge` times their trace added to the diagonals, in double: d numbers of x each; zeros
  /// where they are not positive definite. `scratch` has d (d + 1) / 2 + d blocks of 8.
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
