// Symmetric matrices in tridiagonal form, by Householder reflections in panels (Dongarra, Sorensen
// and Hammarling 1989).
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "gasg21/geometry/large_products.hpp"
#include "gasg21/kernels/dense.hpp"
#include "gasg21/kernels/plain.hpp"
#include "gasg21/support/aligned.hpp"
#include "gasg21/support/config.hpp"

namespace gasg21::detail {

inline constexpr uword reflector_panel = 32;  // reflections per panel

/// A = Q tridiag(d, e) Q'. The reflections H = I - tau v v' of Q lie below the diagonal of A: v has
/// a one on the subdiagonal, which A stores as well.
template <class T>
class Tridiagonal {
 public:
  std::vector<double> d, e;  // diagonal and subdiagonal; e has one entry more than it needs

  explicit Tridiagonal(arma::Mat<T>& A) : d(A.n_rows), e(A.n_rows, 0.0), A_(A), tau_(A.n_rows) {
    const uword n = A.n_rows;
    for (uword first = 0; first < n; first += reflector_panel)
      reduce_panel(first, std::min(reflector_panel, n - first));
  }

  /// Q, with some more rows so that its columns start on cache lines of different sets.
  arma::Mat<T> basis() const {
    const uword n = A_.n_rows, line = kernels::block_rows<T>;
    const uword rows = whole_blocks<T>(n);
    arma::Mat<T> Q(rows % (8 * line) == 0 ? rows + line : rows, n, arma::fill::eye);
    // The other entries of the columns of a panel are as in I.
    for_each_panel([&](uword first, uword count) { reflect(Q, first + 1, first, count); });
    return Q;
  }

  /// Y = Q Y.
  void multiply(arma::Mat<T>& Y) const {
    for_each_panel([&](uword first, uword count) { reflect(Y, 0, first, count); });
  }

 private:
  /// Calls act(first, count) for each panel, the last one first.
  template <class Act>
  void for_each_panel(const Act& act) const {
    const uword n = A_.n_rows;
    for (uword first = (n - 1) / reflector_panel * reflector_panel;; first -= reflector_panel) {
      const uword count = std::min(reflector_panel, n - 1 - first);
      if (count > 0) act(first, count);
      if (first == 0) return;
    }
  }

  /// Reduces the columns first, ..., first + count - 1 and updates the others.
  void reduce_panel(uword first, uword count) {
    const uword n = A_.n_rows, left = n - first;
    arma::Mat<T> V(left, count, arma::fill::zeros), W(left, count, arma::fill::zeros);
    arma::Col<T> inner(count), row(count);
    for (uword c = 0; c < count; ++c) {
      T* column = A_.colptr(first + c) + first;
      subtract(V, W, c, c, row, column);
      d[first + c] = double(column[c]);
      if (first + c + 1 == n) return;
      reflector(first + c);
      std::copy(column + c + 1, column + left, V.colptr(c) + c + 1);
      set_w(first, c, V, W, inner);
    }
    if (count == left) return;
    // A -= V W' + W V'
    const arma::Mat<T> X = arma::join_rows(V, W).eval().tail_rows(left - count);
    const arma::Mat<T> Y = arma::join_rows(W, V).eval().tail_rows(left - count);
    add_large_product(rows_of(X), rows_of(Y), T(-1), A_.colptr(first + count) + first + count, n,
                      true);
  }

  /// column -= V w_r' + W v_r' from row r on, where v_r and w_r are the rows r of V and W.
  void subtract(const arma::Mat<T>& V, const arma::Mat<T>& W, uword r, uword count,
                arma::Col<T>& row, T* column) const {
    const auto& kernel = kernels::dense_kernels<T>();
    const uword rows = V.n_rows - r;
    for (uword c = 0; c < count; ++c) row[c] = -W(r, c);
    kernel.add_times(V.memptr() + r, V.n_rows, rows, count, row.memptr(), column + r);
    for (uword c = 0; c < count; ++c) row[c] = -V(r, c);
    kernel.add_times(W.memptr() + r, V.n_rows, rows, count, row.memptr(), column + r);
  }

  /// The reflection that maps the column below the diagonal to a multiple of its first entry.
  void reflector(uword c) {
    const uword n = A_.n_rows;
    T* v = A_.colptr(c) + c + 1;
    const uword length = n - c - 1;
    const T below = kernels::dot(v + 1, v + 1, length - 1), head = v[0];
    tau_[c] = 0;
    e[c] = double(head);
    if (below > 0) {
      const T norm = std::sqrt(head * head + below), to = head > 0 ? -norm : norm;
      tau_[c] = (to - head) / to;
      const T scale = 1 / (head - to);
      for (uword i = 1; i < length; ++i) v[i] *= scale;
      e[c] = double(to);
    }
    v[0] = 1;
  }

  /// w = tau (A v - V W'v - W V'v) less its part along v, column c of W.
  void set_w(uword first, uword c, const arma::Mat<T>& V, arma::Mat<T>& W,
             arma::Col<T>& inner) const {
    const auto& kernel = kernels::dense_kernels<T>();
    const uword n = A_.n_rows, left = n - first, below = left - c - 1;
    const T tau = tau_[first + c], *v = V.colptr(c) + c + 1;
    T* w = W.colptr(c) + c + 1;
    kernel.symmetric_times(A_.colptr(first + c + 1) + first + c + 1, n, below, v, w);
    const T *oldV = V.memptr() + c + 1, *oldW = W.memptr() + c + 1;
    kernel.transpose_times(oldW, left, below, c, v, inner.memptr());
    inner *= T(-1);
    kernel.add_times(oldV, left, below, c, inner.memptr(), w);
    kernel.transpose_times(oldV, left, below, c, v, inner.memptr());
    inner *= T(-1);
    kernel.add_times(oldW, left, below, c, inner.memptr(), w);
    const T along = tau * tau * kernels::dot(w, v, below) / 2;
    for (uword i = 0; i < below; ++i) w[i] = tau * w[i] - along * v[i];
  }

  /// Y = H_first ... H_{first + count - 1} Y for the columns of Y from `from` on, as Y - V S V'Y
  /// (Schreiber and Van Loan 1989).
  void reflect(arma::Mat<T>& Y, uword from, uword first, uword count) const {
    const uword n = A_.n_rows, left = n - first - 1, width = Y.n_cols - from;
    arma::Mat<T> V(left, count, arma::fill::zeros);
    for (uword c = 0; c < count; ++c)
      std::copy(A_.colptr(first + c) + first + 1 + c, A_.colptr(first + c) + n, V.colptr(c) + c);
    const arma::Mat<T> S = triangle(V, first);
    T* corner = Y.colptr(from) + first + 1;
    const kernels::Vectors<T> columns{corner, Y.n_rows, 1, width, left};
    arma::Mat<T> inner(width, count, arma::fill::zeros);  // (V'Y)'
    add_large_product(columns, columns_of(V), T(1), inner.memptr(), width);
    arma::Mat<T> mixed(width, count, arma::fill::zeros);  // (S V'Y)'
    for (uword c = 0; c < count; ++c)
      for (uword b = c; b < count; ++b)
        for (uword i = 0; i < width; ++i) mixed(i, c) += S(c, b) * inner(i, b);
    add_large_product(rows_of(V), rows_of(mixed), T(-1), corner, Y.n_rows);
  }

  /// The upper triangle S of a product of reflections I - V S V'.
  arma::Mat<T> triangle(const arma::Mat<T>& V, uword first) const {
    const uword count = V.n_cols;
    arma::Mat<T> S(count, count, arma::fill::zeros);
    arma::Col<T> inner(count);
    for (uword c = 0; c < count; ++c) {
      kernels::dense_kernels<T>().transpose_times(V.memptr(), V.n_rows, V.n_rows, c, V.colptr(c),
                                                  inner.memptr());
      for (uword i = 0; i < c; ++i) {
        T sum = 0;
        for (uword k = i; k < c; ++k) sum += S(i, k) * inner[k];
        S(i, c) = -tau_[first + c] * sum;
      }
      S(c, c) = tau_[first + c];
    }
    return S;
  }

  arma::Mat<T>& A_;
  std::vector<T> tau_;
};

}  // namespace gasg21::detail
