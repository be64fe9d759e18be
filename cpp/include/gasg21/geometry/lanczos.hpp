// Leading eigenvectors of a symmetric matrix that is known by its products: block Lanczos with full
// reorthogonalization and thick restarts (Wu and Simon 2000). A block has at least as many vectors
// as are sought, so an eigenvalue may be multiple.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "gasg21/geometry/large_products.hpp"
#include "gasg21/geometry/symmetric_eigen.hpp"
#include "gasg21/kernels/dense.hpp"
#include "gasg21/kernels/plain.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/support/random.hpp"

namespace gasg21 {

struct LanczosOptions {
  double tol = 1e-10;        // residual of an eigenvector, in units of the largest eigenvalue
  std::uint64_t seed = 0;    // of the first block
  uword most_products = 60;  // blocks of products until it gives up
};

namespace detail {

/// An orthonormal basis that grows by blocks, and the matrix in it.
template <class T>
class KrylovBasis {
 public:
  /// A basis of at most `most` vectors of n entries, in blocks of `block` vectors.
  KrylovBasis(uword n, uword block, uword most, std::uint64_t seed, const Parallel& parallel)
      : block_(block),
        V_(n, most + block),
        H_(most, most, arma::fill::zeros),
        random_(seed),
        parallel_(parallel) {
    next_.set_size(n, block);
    random_.normals(next_.memptr(), next_.n_elem);
    append_next();
  }

  bool is_full() const { return used_ + block_ > H_.n_rows; }
  /// Vectors whose products are known.
  uword used() const { return used_; }

  /// Multiplies the newest block, and appends a block that spans the products outside the basis.
  template <class Multiply>
  void grow(const Multiply& multiply) {
    const arma::Mat<T> newest(V_.colptr(used_), V_.n_rows, block_, false, true);
    multiply(newest, next_);
    used_ += block_;
    for (int time = 0; time < 2; ++time) project(H_.colptr(used_ - block_));
    append_next();
  }

  /// The leading eigenvectors of the matrix in this basis: as many as a restart keeps.
  SymmetricEigen<T> ritz() const {
    arma::Mat<T> H(used_, used_);
    for (uword j = 0; j < used_; ++j)  // it holds the upper triangle
      for (uword i = 0; i <= j; ++i) H(i, j) = H(j, i) = H_(i, j);
    return symmetric_eigen(std::move(H), std::min(used_, 2 * block_));
  }
  /// The largest residual of the first `count` Ritz vectors.
  double residual(const arma::Mat<T>& weights, uword count) const {
    double worst = 0;
    for (uword c = 0; c < count; ++c) {
      double square = 0;
      for (uword i = 0; i < block_; ++i) {
        double sum = 0;
        for (uword j = i; j < block_; ++j)
          sum += double(outside_(i, j)) * double(weights(used_ - block_ + j, c));
        square += sum * sum;
      }
      worst = std::max(worst, std::sqrt(square));
    }
    return worst;
  }
  arma::Mat<T> combined(const arma::Mat<T>& weights, uword count) const {
    const arma::Mat<T> kept = weights.head_cols(count);
    arma::Mat<T> result(V_.n_rows, count, arma::fill::zeros);
    add_large_product({V_.memptr(), 1, V_.n_rows, V_.n_rows, used_}, columns_of(kept), T(1),
                      result.memptr(), result.n_rows, false, parallel_);
    return result;
  }
  /// Keeps only the Ritz vectors, and the newest block.
  void restart(const SymmetricEigen<T>& ritz) {
    const uword kept = ritz.values.n_elem;
    const arma::Mat<T> vectors = combined(ritz.vectors, kept);
    std::copy(vectors.begin(), vectors.end(), V_.begin());
    std::copy_n(V_.colptr(used_), V_.n_rows * block_, V_.colptr(kept));
    H_.zeros();
    for (uword i = 0; i < kept; ++i) H_(i, i) = ritz.values[i];
    used_ = kept;
  }

 private:
  /// Subtracts from `next_` its part in the basis, and adds the coefficients to columns of H.
  void project(T* columns) {
    const uword n = V_.n_rows;
    const kernels::Vectors<T> basis{V_.memptr(), n, 1, used_, n};
    arma::Mat<T> inner(used_, block_, arma::fill::zeros);
    add_large_product(basis, columns_of(next_), T(1), inner.memptr(), used_, false, parallel_);
    add_large_product({V_.memptr(), 1, n, n, used_}, columns_of(inner), T(-1), next_.memptr(), n,
                      false, parallel_);
    for (uword c = 0; c < block_; ++c)
      for (uword i = 0; i < used_; ++i) columns[c * H_.n_rows + i] += inner(i, c);
  }

  /// Decomposes `next_` as Q R, appends Q, and keeps R, an upper triangle.
  void append_next() {
    outside_.zeros(block_, block_);
    const T largest = arma::abs(next_).max();
    for (uword c = 0; c < block_; ++c) {
      T* q = V_.colptr(used_ + c);
      std::copy_n(next_.colptr(c), V_.n_rows, q);
      const T before = length(q);
      for (int time = 0; time < 2; ++time) subtract(used_, c, q, outside_.colptr(c));
      T after = length(q);
      if (after < T(0.1) * before) {  // the division magnifies rounding errors along the basis
        subtract(0, used_ + c, q, nullptr);
        after = length(q);
      }
      outside_(c, c) = after;
      if (!(after > 100 * std::numeric_limits<T>::epsilon() * largest)) {
        outside_(c, c) = 0;
        after = draw(used_ + c);
      }
      for (uword i = 0; i < V_.n_rows; ++i) q[i] /= after;
    }
  }

  /// Subtracts from q its parts along `count` vectors from `first` on, and notes them.
  void subtract(uword first, uword count, T* q, T* parts) const {
    const auto& kernel = kernels::dense_kernels<T>();
    const uword n = V_.n_rows;
    arma::Col<T> inner(count);
    kernel.transpose_times(V_.colptr(first), n, n, count, q, inner.memptr());
    for (uword i = 0; parts && i < count; ++i) parts[i] += inner[i];
    inner *= T(-1);
    kernel.add_times(V_.colptr(first), n, n, count, inner.memptr(), q);
  }

  /// Puts a random vector, orthogonal to those before it, into a column, and returns its length.
  T draw(uword column) {
    T* q = V_.colptr(column);
    random_.normals(q, V_.n_rows);
    for (int time = 0; time < 3; ++time) subtract(0, column, q, nullptr);
    return length(q);
  }

  T length(const T* q) const { return std::sqrt(kernels::dot(q, q, V_.n_rows)); }

  uword block_, used_ = 0;
  arma::Mat<T> V_, H_;  // V holds the `used_` vectors, then the newest block
  arma::Mat<T> next_,
      outside_;  // the products of a block; R of their part outside the basis
  Random random_;
  Parallel parallel_;
};

}  // namespace detail

/// The `count` leading eigenvectors of a symmetric n x n matrix A, where multiply(V, out) sets
/// out = A V for n x b matrices. Empty if it did not converge.
template <class T, class Multiply>
std::optional<SymmetricEigen<T>> lanczos(uword n, uword count, const Multiply& multiply,
                                         const LanczosOptions& options = {},
                                         const Parallel& parallel = Parallel()) {
  // Some more vectors than are sought: the convergence depends on the first value left out.
  const uword block = std::max<uword>(8, count + count / 8 + 2), most = 10 * block;
  if (count == 0 || most + block > n) return {};
  detail::KrylovBasis<T> basis(n, block, most, options.seed, parallel);
  uword next_look = 4 * block;
  for (uword product = 0; product < options.most_products; ++product) {
    basis.grow(multiply);
    if (basis.used() < next_look && !basis.is_full()) continue;
    const auto ritz = basis.ritz();
    if (basis.residual(ritz.vectors, count) <= options.tol * double(std::abs(ritz.values[0])))
      return SymmetricEigen<T>{ritz.values.head(count), basis.combined(ritz.vectors, count)};
    if (basis.is_full()) basis.restart(ritz);
    next_look = basis.used() + std::max(block, basis.used() / 3);
  }
  return {};
}

/// The `count` leading eigenvectors of a symmetric matrix: by Lanczos if they are few and converge
/// at once, else by a decomposition.
template <class T>
SymmetricEigen<T> leading_eigen(const arma::Mat<T>& A, uword count, LanczosOptions options = {},
                                const Parallel& parallel = Parallel()) {
  require(A.n_rows == A.n_cols, "a symmetric matrix cannot have ", A.n_rows, " rows and ", A.n_cols,
          " columns");
  constexpr uword least = 40;  // rows per vector: a smaller matrix is decomposed in less time
  if (A.n_rows < least * std::max<uword>(count, 8)) return symmetric_eigen(A, count);
  options.most_products = std::min<uword>(options.most_products, 10);  // one basis, no restart
  const auto multiply = [&](const arma::Mat<T>& V, arma::Mat<T>& out) {
    out = large_transposed_product(A, V, parallel);
  };
  if (auto found = lanczos<T>(A.n_rows, count, multiply, options, parallel)) return *found;
  return symmetric_eigen(A, count);
}

}  // namespace gasg21
