// Leading singular vectors of large matrices, by way of the squares A'A or A A', whichever is
// smaller.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "gasg21/geometry/grassmann.hpp"
#include "gasg21/geometry/inverse_iteration.hpp"
#include "gasg21/geometry/lanczos.hpp"
#include "gasg21/geometry/large_products.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/support/random.hpp"

namespace gasg21 {

/// Left singular vectors and singular values, which fall.
template <class T>
struct LeftSingular {
  arma::Mat<T> U;
  arma::Col<T> s;
};

namespace detail {

/// The leading left singular vectors whose singular values are at least `range` times the first
/// one: of smaller values the squares show too few digits.
template <class T>
LeftSingular<T> by_squares(const arma::Mat<T>& A, uword count, T range, const Parallel& parallel) {
  const bool wide = A.n_rows <= A.n_cols;
  LanczosOptions options;
  options.tol = 50 * double(std::numeric_limits<T>::epsilon());
  auto [squares, vectors] =
      leading_eigen(wide ? outer_gram(A, parallel) : gram(A, parallel), count, options, parallel);
  uword kept = 0;
  while (kept < count && squares[kept] > 0 && squares[kept] >= range * range * squares[0]) ++kept;
  if (kept < count) {
    squares = squares.head(kept).eval();
    vectors = vectors.head_cols(kept).eval();
  }
  squares = arma::sqrt(squares);
  if (wide) return {std::move(vectors), std::move(squares)};
  arma::Mat<T> U = large_product(A, vectors, parallel);
  for (uword c = 0; c < kept; ++c) U.col(c) /= squares[c];
  return {std::move(U), std::move(squares)};
}

template <class T>
T largest_entry(const arma::Mat<T>& A) {
  return A.empty() ? T(0) : arma::abs(A).max();
}

}  // namespace detail

/// The leading left singular vectors of A, `count` of them or as many as A has rank. Singular
/// values of very different size are found in turns: each turn leaves out the span of those before.
template <class T>
LeftSingular<T> leading_left_singular(arma::Mat<T> A, uword count,
                                      const Parallel& parallel = Parallel()) {
  const T eps = std::numeric_limits<T>::epsilon(), range = std::pow(eps, T(0.25));
  const uword most = std::min({count, A.n_rows, A.n_cols});
  const T scale = detail::largest_entry(A);
  LeftSingular<T> found{arma::Mat<T>(A.n_rows, 0), arma::Col<T>()};
  if (most == 0 || !(scale > 0)) return found;
  require(std::isfinite(scale), "the matrix has the entry ", scale);
  A /= scale;  // prevents overflow of the squares
  for (;;) {
    const T unit = detail::largest_entry(A);
    const T first = found.s.empty() ? T(0) : found.s[0];
    const T rounding = T(std::max(A.n_rows, A.n_cols)) * eps * first;
    if (!(unit * std::sqrt(T(A.n_rows)) * std::sqrt(T(A.n_cols)) > rounding)) break;
    const auto next = detail::by_squares<T>(A / unit, most - found.s.n_elem, range, parallel);
    uword kept = 0;
    while (kept < next.s.n_elem && next.s[kept] * unit > rounding) ++kept;
    if (kept == 0) break;
    found.U = arma::join_rows(found.U, next.U.head_cols(kept));
    found.s = arma::join_cols(found.s, next.s.head(kept) * unit);
    detail::polish_columns(found.U, parallel);
    if (found.s.n_elem == most || kept < next.s.n_elem) break;
    const arma::Mat<T> inner = large_transposed_product(found.U, A, parallel);
    add_large_product(rows_of(found.U), columns_of(inner), T(-1), A.memptr(), A.n_rows, false,
                      parallel);
  }
  found.s *= scale;
  return found;
}

/// The d leading left singular vectors of A (n x m, samples as columns), strongest first. If A has
/// a lower rank, the others are any directions orthogonal to them.
template <class T>
arma::Mat<T> principal_axes(const arma::Mat<T>& A, uword d) {
  require(d <= A.n_rows, "d = ", d, " must be at most n = ", A.n_rows);
  arma::Mat<T> U = leading_left_singular(A, d).U;
  const uword rank = U.n_cols;
  if (rank == d) return U;
  Random random(rank);
  U.resize(A.n_rows, d);
  random.normals(U.colptr(rank), A.n_rows * (d - rank));
  require(orthonormalize(U), "the principal axes are not independent");
  return U;
}

}  // namespace gasg21
