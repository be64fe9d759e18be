// Products of large matrices: packed into panels, multiplied tile by tile in registers (Goto and
// van de Geijn 2008). They do not use BLAS. Their bits do not depend on the number of threads.
#pragma once

#include <algorithm>

#include "gasg21/kernels/dense.hpp"
#include "gasg21/support/aligned.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/parallel.hpp"

namespace gasg21 {

namespace detail {

// Entries of a block: `block_depth` x `block_rows` of the left factor and as many of the right one
// fit into a second-level cache of a megabyte.
inline constexpr uword block_depth = 256;
inline constexpr uword block_columns = 192;
inline constexpr uword most_thin =
    32;  // vectors of a thin factor: packing the other one takes longer

/// The columns first, first + 1, ... of C += factor * X'Y, from row `above` on.
template <class T>
void add_column_block(const kernels::Vectors<T>& X, kernels::Vectors<T> Y, uword above, T factor,
                      T* C, uword stride, Aligned<T>& memory) {
  const auto& kernel = kernels::dense_kernels<T>();
  const uword rows = kernel.tile_rows, columns = kernel.tile_columns;
  const auto whole = [](uword count, uword unit) { return (count + unit - 1) / unit * unit; };
  // Vectors of X at a time.
  const uword most = whole(std::min(block_columns - rows + 1, X.count - above), rows);
  const uword deepest = std::min(block_depth, X.depth);
  if (memory.size() < deepest * (most + whole(Y.count, columns)))
    memory.resize(deepest * (most + whole(Y.count, columns)));
  T *left = memory.data(), *right = left + deepest * most;
  for (uword from = 0; from < X.depth; from += block_depth) {
    const uword depth = std::min(block_depth, X.depth - from);
    kernel.pack({Y.memory + from * Y.step, Y.next, Y.step, Y.count, depth}, columns, right);
    for (uword first = above; first < X.count; first += most) {
      const uword here = std::min(most, X.count - first);
      kernel.pack({X.memory + first * X.next + from * X.step, X.next, X.step, here, depth}, rows,
                  left);
      for (uword j = 0; j < Y.count; j += columns)
        for (uword i = 0; i < here; i += rows)
          kernel.multiply_tile(left + i * depth, right + j * depth, depth, factor,
                               C + j * stride + first + i, stride, std::min(rows, here - i),
                               std::min(columns, Y.count - j));
    }
  }
}

/// C += factor * X'Y for few vectors Y.
template <class T>
void add_thin_product(const kernels::Vectors<T>& X, const kernels::Vectors<T>& Y, T factor, T* C,
                      uword stride, const Parallel& parallel) {
  const uword n_blocks = (X.count + block_columns - 1) / block_columns;
  parallel.for_all(
      n_blocks, [] { return 0; },
      [&](uword block, int) {
        const uword first = block * block_columns;
        auto own = X;
        own.memory += first * X.next;
        own.count = std::min(block_columns, X.count - first);
        kernels::dense_kernels<T>().multiply_thin(own, Y, factor, C + first, stride);
      });
}

}  // namespace detail

/// C += factor * X'Y for the vectors X and Y, where the columns of C lie `stride` apart. If `lower`
/// is set, only its lower triangle is right.
template <class T>
void add_large_product(const kernels::Vectors<T>& X, const kernels::Vectors<T>& Y, T factor, T* C,
                       uword stride, bool lower = false, const Parallel& parallel = Parallel()) {
  const Parallel busy = parallel.for_work(double(X.count) * double(Y.count) * double(X.depth));
  if (Y.count <= detail::most_thin && X.step == 1 && Y.step == 1)
    return detail::add_thin_product(X, Y, factor, C, stride, busy);
  const uword n_blocks = (Y.count + detail::block_columns - 1) / detail::block_columns;
  busy.for_all(
      n_blocks, [] { return Aligned<T>(); },
      [&](uword block, Aligned<T>& memory) {
        const uword first = block * detail::block_columns;
        auto own = Y;
        own.memory += first * Y.next;
        own.count = std::min(detail::block_columns, Y.count - first);
        detail::add_column_block(X, own, lower ? first : 0, factor, C + first * stride, stride,
                                 memory);
      });
}

/// The columns of A.
template <class T>
kernels::Vectors<T> columns_of(const arma::Mat<T>& A) {
  return {A.memptr(), A.n_rows, 1, A.n_cols, A.n_rows};
}
/// The rows of A.
template <class T>
kernels::Vectors<T> rows_of(const arma::Mat<T>& A) {
  return {A.memptr(), 1, A.n_rows, A.n_rows, A.n_cols};
}

/// A'B.
template <class T>
arma::Mat<T> large_transposed_product(const arma::Mat<T>& A, const arma::Mat<T>& B,
                                      const Parallel& parallel = Parallel()) {
  require(A.n_rows == B.n_rows, "the matrices have ", A.n_rows, " and ", B.n_rows, " rows");
  arma::Mat<T> C(A.n_cols, B.n_cols, arma::fill::zeros);
  add_large_product(columns_of(A), columns_of(B), T(1), C.memptr(), C.n_rows, false, parallel);
  return C;
}

/// A B.
template <class T>
arma::Mat<T> large_product(const arma::Mat<T>& A, const arma::Mat<T>& B,
                           const Parallel& parallel = Parallel()) {
  require(A.n_cols == B.n_rows, "a matrix of ", A.n_cols, " columns times one of ", B.n_rows,
          " rows");
  arma::Mat<T> C(A.n_rows, B.n_cols, arma::fill::zeros);
  add_large_product(rows_of(A), columns_of(B), T(1), C.memptr(), C.n_rows, false, parallel);
  return C;
}

namespace detail {

/// Copies the lower triangle to the upper one, in blocks that stay in the cache.
template <class T>
void mirror(arma::Mat<T>& A) {
  constexpr uword block = 32;
  const uword n = A.n_rows;
  for (uword left = 0; left < n; left += block)
    for (uword top = left; top < n; top += block)
      for (uword j = left; j < std::min(n, left + block); ++j)
        for (uword i = std::max(top, j + 1); i < std::min(n, top + block); ++i) A(j, i) = A(i, j);
}

template <class T>
arma::Mat<T> gram_of(const kernels::Vectors<T>& X, const Parallel& parallel) {
  arma::Mat<T> G(X.count, X.count, arma::fill::zeros);
  add_large_product(X, X, T(1), G.memptr(), G.n_rows, true, parallel);
  mirror(G);
  return G;
}

}  // namespace detail

/// A'A.
template <class T>
arma::Mat<T> gram(const arma::Mat<T>& A, const Parallel& parallel = Parallel()) {
  return detail::gram_of(columns_of(A), parallel);
}

/// A A'.
template <class T>
arma::Mat<T> outer_gram(const arma::Mat<T>& A, const Parallel& parallel = Parallel()) {
  return detail::gram_of(rows_of(A), parallel);
}

}  // namespace gasg21
