// Sums over many samples. Those of the polish run over the d weights of each sample, one lane per
// sample, and are in double whatever the type of the weights: they are few, and they decide the
// weight of a sample.
#pragma once

#include <algorithm>

#include "gasg21/kernels/dispatch.hpp"
#include "gasg21/support/aligned.hpp"
#include "gasg21/support/index.hpp"

namespace gasg21::kernels {

template <class T>
struct SampleSumKernels {
  /// out_j = w_j'G^-1 w_j for the columns w_j of W (d x m), where L holds the factors that `ldl`
  /// leaves of G: L below the diagonal, 1 / D on it. `scratch` has d blocks of 8.
  void (*lengths)(const T* W, uword d, uword m, const double* L, double* out, double* scratch);
  /// The upper triangle of G = sum_j weight_j w_j w_j', d x d; `scratch` has d + d (d + 1) / 2
  /// blocks of 8.
  void (*gram)(const T* W, uword d, uword m, const double* weight, double* G, double* scratch);
  /// out_j = x'a_j for the columns a_j of A (n x m), in T. Pre: n is whole cache lines.
  void (*products)(const T* A, uword n, uword m, const T* x, T* out);
};

GASG21_IN_EACH_SET(template <class T> const SampleSumKernels<T>& sample_sum_kernels();)

/// The kernels for the instruction set in use.
template <class T>
const SampleSumKernels<T>& sample_sum_kernels() {
  GASG21_DISPATCH(sample_sum_kernels<T>());
}

}  // namespace gasg21::kernels

#if !defined(GASG21_COMPILED_KERNELS)
#include "gasg21/kernels/impl/simd_of_each_set.hpp"
#define GASG21_KERNELS "gasg21/kernels/impl/sample_sums.hpp"
#include "gasg21/kernels/impl/for_each_set.hpp"
#undef GASG21_KERNELS
#endif
