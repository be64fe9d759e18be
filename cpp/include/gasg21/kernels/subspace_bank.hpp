// Fits samples to several subspaces at once, one lane per subspace, so that no sum runs across
// lanes. A panel holds one cache line of subspaces: [i][c][l] is entry (i, c) of subspace l.
// Several samples go through a panel together, because all panels seldom fit into the fastest
// cache.
#pragma once

#include <algorithm>
#include <limits>

#include "gasg21/kernels/dispatch.hpp"
#include "gasg21/support/aligned.hpp"
#include "gasg21/support/index.hpp"

namespace gasg21::kernels {

/// A unit-norm sample. Either all its entries and its missing rows are given, or its observed rows:
/// G is summed over the fewer of them.
template <class T>
struct BankSample {
  const T* filled;            // n entries, 0 where missing; or null
  const uword* rows;          // if `filled` is given those missing, else those observed
  uword n_rows;               // how many; 0 if the sample is complete
  const T* values = nullptr;  // the observed entries, if `filled` is null
};

/// The fit of a sample to a panel, one lane per subspace.
template <class T>
struct PanelFit {
  T r2[block_rows<T>];  // |x - U w|^2
  // The inverse pivots of G = U_Omega'U_Omega. None is negative if G is positive definite.
  T smallest_inverse[block_rows<T>], largest_inverse[block_rows<T>];
  bool sound;  // in each lane that was summed the former is above worst_pivot times the latter
};

/// Smallest ratio of pivots for which the normal equations are accurate enough; bounds the error of
/// r2.
inline constexpr double worst_pivot = 1e-3;

/// Samples that go through a panel together.
inline constexpr uword bank_samples = 8;

/// Subspaces to which samples are fitted: up to a cache line of them.
template <class T>
struct BankPanel {
  const T* entries;   // [i][c][l] as above, orthonormal columns
  uword n_subspaces;  // in the first lanes; the results in the other lanes are undefined
  uword n, d;
  const T* absent;  // [c][l] is 1 where a subspace lacks column c, which is 0 in entries; or null
  const T* ahead;   // `fit` of several samples prefetches n cache lines from here on
};

template <class T>
struct SubspaceBankKernels {
  /// Fits `count` samples x, at most bank_samples. `scratch` has d (d + 1) / 2 + d cache lines for
  /// each of them.
  void (*fit)(const BankPanel<T>& panel, const BankSample<T>* x, uword count, PanelFit<T>* results,
              T* scratch);
};

GASG21_IN_EACH_SET(template <class T> const SubspaceBankKernels<T>& subspace_bank_kernels(uword d);)

/// The kernels for d columns and the instruction set in use.
template <class T>
const SubspaceBankKernels<T>& subspace_bank_kernels(uword d) {
  GASG21_DISPATCH(subspace_bank_kernels<T>(d));
}

}  // namespace gasg21::kernels

#if !defined(GASG21_COMPILED_KERNELS)
#include "gasg21/kernels/impl/ldl_lanes_of_each_set.hpp"
#define GASG21_KERNELS "gasg21/kernels/impl/subspace_bank.hpp"
#include "gasg21/kernels/impl/for_each_set.hpp"
#undef GASG21_KERNELS
#endif
