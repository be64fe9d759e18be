// Loops over column-major memory, for any instruction set. Their results do not depend on the
// vector registers that the compiler uses.
#pragma once

#include <algorithm>
#include <cmath>

#include "gasg21/kernels/compiler.hpp"
#include "gasg21/support/index.hpp"

namespace gasg21::kernels {

/// a'b.
template <class T>
T dot(const T* a, const T* b, uword n);

/// a'b for few entries, as two sums: in a single sum each addition waits for the one before.
template <class T>
GASG21_INLINE T short_dot(const T* a, const T* b, uword n) {
  T even = 0, odd = 0;
  uword i = 0;
  for (; i + 2 <= n; i += 2) {
    even += a[i] * b[i];
    odd += a[i + 1] * b[i + 1];
  }
  if (i < n) even += a[i] * b[i];
  return even + odd;
}

/// out_c = A_c'x for the columns A_c of the n x d matrix A.
template <class T>
void transpose_times(const T* A, uword n, uword d, const T* x, T* out);

/// y += sign * A w for the n x d matrix A. Takes four columns at a time, so that y is read d / 4
/// times.
template <class T>
void add_times(const T* A, uword n, uword d, const T* w, T sign, T* y);

/// The lower triangle of G = A'A for the n x d matrix A.
template <class T>
void gram(const T* A, uword n, uword d, T* G);

/// out (count x d) = the given rows of U (n x d).
template <class T>
void gather_rows(const T* U, uword n, uword d, const uword* rows, uword count, T* out);

/// U += s v' for the n x d matrix U.
template <class T>
void add_outer(T* U, uword n, uword d, const T* s, const T* v);

}  // namespace gasg21::kernels

#if !defined(GASG21_COMPILED_KERNELS)
#include "gasg21/kernels/impl/plain.hpp"
#endif
