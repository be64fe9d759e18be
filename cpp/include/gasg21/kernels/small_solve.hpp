// Small symmetric systems: G = L D L' for d x d matrices, G^-1 b, and rank-one updates.
#pragma once

#include <algorithm>
#include <type_traits>

#include "gasg21/kernels/dispatch.hpp"
#include "gasg21/support/index.hpp"

namespace gasg21::kernels {

/// Factors G = L D L' in place, from its lower triangle: leaves L below the diagonal and 1 / D on
/// it. Takes one division per column and no square root. Returns the smallest pivot over the
/// largest, or 0 if a pivot is not positive (G is then destroyed).
template <class T>
T ldl(T* G, uword d);

/// b := L^-1 b after `ldl`. Returns b'D^-1 b for the new b.
template <class T>
T ldl_forward(const T* L, uword d, T* b);

/// b := L'^-1 b.
template <class T>
void ldl_backward(const T* L, uword d, T* b);

/// b := G^-1 b.
template <class T>
void ldl_solve(const T* G, uword d, T* b);

/// Updates the factors L and 1 / D of G to G + weight z z', for z that is zero before entry
/// `from`. Sets z := D^-1 L^-1 z, so that `ldl_backward` turns it into the inverse of the new G
/// times the old z, and returns the product of both. Keeps D positive. (Gill, Golub, Murray,
/// Saunders, 1974, method C1, with sums instead of a chain of divisions.)
template <class T>
T ldl_update(T* L, uword d, T weight, T* z, uword from = 0);

/// `ldl` and `ldl_solve` for many columns, by vectors.
template <class T>
struct LdlKernels {
  T (*factor)(T* G, uword d);
  void (*solve)(const T* G, uword d, T* b);
};
inline constexpr uword many_columns = 24;

GASG21_IN_EACH_SET(template <class T> const LdlKernels<T>& ldl_kernels();)

/// The kernels for the instruction set in use.
template <class T>
const LdlKernels<T>& ldl_kernels() {
  GASG21_DISPATCH(ldl_kernels<T>());
}

}  // namespace gasg21::kernels

#if !defined(GASG21_COMPILED_KERNELS)
#include "gasg21/kernels/impl/simd_of_each_set.hpp"
#include "gasg21/kernels/impl/small_solve.hpp"
#define GASG21_KERNELS "gasg21/kernels/impl/ldl_many_columns.hpp"
#include "gasg21/kernels/impl/for_each_set.hpp"
#undef GASG21_KERNELS
#endif
