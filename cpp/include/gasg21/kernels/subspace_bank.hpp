// Fits one sample to several subspaces at once, one lane per subspace, so that no sum runs across
// lanes. A panel holds one cache line of subspaces: [i][c][l] is entry (i, c) of subspace l.
#pragma once

#include <algorithm>
#include <limits>

#include "gasg21/kernels/dispatch.hpp"
#include "gasg21/support/aligned.hpp"
#include "gasg21/support/index.hpp"

namespace gasg21::kernels {

/// The observed entries of a unit-norm sample.
template <class T>
struct ObservedEntries {
  const uword* rows;
  const T* values;
  uword count;
  bool full;  // nothing is missing
};

/// The fit of a sample to a panel, one lane per subspace.
template <class T>
struct PanelFit {
  T r2[block_rows<T>];  // |x - U w|^2
  // The inverse pivots of G = U_Omega'U_Omega. None is negative if G is positive definite.
  T smallest_inverse[block_rows<T>], largest_inverse[block_rows<T>];
};

template <class T>
struct SubspaceBankKernels {
  /// `absent` [c][l] is 1 for columns that a subspace does not have (they are 0 in the panel), or
  /// null. `scratch` has d (d + 1) / 2 + d cache lines.
  void (*fit)(const T* panel, uword d, const ObservedEntries<T>& x, const T* absent,
              PanelFit<T>& result, T* scratch);
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
