// The d x d systems of the kernels: G = L D L', and G^-1 b.
#pragma once

#include <algorithm>

#include "config.hpp"
#include "dispatch.hpp"
#include "simd.hpp"

#define GASG21_KERNELS "small_solve_impl.hpp"
#include "for_each_set.hpp"
#undef GASG21_KERNELS

namespace gasg21::kernels {

namespace detail {

template <uword D, class T>
T ldl(T* G, uword d_) {
  const uword d = D ? D : d_;
  T smallest = 0, largest = 0;
  for (uword j = 0; j < d; ++j) {
    T pivot = G[j + j * d];
    for (uword k = 0; k < j; ++k) pivot -= G[j + k * d] * G[k + j * d];
    if (!(pivot > 0)) return 0;
    smallest = j == 0 ? pivot : std::min(smallest, pivot);
    largest = std::max(largest, pivot);
    const T inverse = 1 / pivot;
    G[j + j * d] = inverse;
    for (uword i = j + 1; i < d; ++i) {
      T entry = G[i + j * d];
      for (uword k = 0; k < j; ++k) entry -= G[i + k * d] * G[k + j * d];
      G[j + i * d] = entry;  // D L', above the diagonal
      G[i + j * d] = entry * inverse;
    }
  }
  return smallest / largest;
}

template <uword D, class T>
void ldl_solve(const T* G, uword d_, T* b) {
  const uword d = D ? D : d_;
  for (uword j = 0; j < d; ++j)
    for (uword i = j + 1; i < d; ++i) b[i] -= G[i + j * d] * b[j];
  for (uword j = 0; j < d; ++j) b[j] *= G[j + j * d];
  for (uword i = d; i-- > 0;)
    for (uword k = i; k-- > 0;) b[k] -= G[i + k * d] * b[i];
}

}  // namespace detail

/// The two below for many columns.
template <class T>
T ldl_many(T* G, uword d) {
  GASG21_DISPATCH(ldl(G, d));
}
template <class T>
void ldl_solve_many(const T* G, uword d, T* b) {
  GASG21_DISPATCH(ldl_solve(G, d, b));
}

/// L D L' = G in place, from its lower triangle: L below the diagonal, 1 / D on it. One division a
/// column and no root, which a small system would wait for. Returns the smallest pivot over the
/// largest, or 0 when one is not positive (G is then destroyed).
template <class T>
T ldl(T* G, uword d) {
  switch (d) {  // unrolled where it is called for short vectors
    case 1:
      return detail::ldl<1>(G, d);
    case 2:
      return detail::ldl<2>(G, d);
    case 3:
      return detail::ldl<3>(G, d);
    case 4:
      return detail::ldl<4>(G, d);
    case 5:
      return detail::ldl<5>(G, d);
    default:
      return d < 24 ? detail::ldl<0>(G, d) : ldl_many(G, d);
  }
}

/// b := G^-1 b after `ldl`.
template <class T>
void ldl_solve(const T* G, uword d, T* b) {
  switch (d) {
    case 1:
      return detail::ldl_solve<1>(G, d, b);
    case 2:
      return detail::ldl_solve<2>(G, d, b);
    case 3:
      return detail::ldl_solve<3>(G, d, b);
    case 4:
      return detail::ldl_solve<4>(G, d, b);
    case 5:
      return detail::ldl_solve<5>(G, d, b);
    default:
      return d < 24 ? detail::ldl_solve<0>(G, d, b) : ldl_solve_many(G, d, b);
  }
}

}  // namespace gasg21::kernels
