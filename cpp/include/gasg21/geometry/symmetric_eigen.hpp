// All eigenvalues and eigenvectors of a symmetric matrix: Householder reflections to tridiagonal
// form, in panels (Dongarra, Sorensen and Hammarling 1989), then the implicit QL algorithm, whose
// rotations are applied many sweeps at a time. It does not use LAPACK.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gasg21/geometry/large_products.hpp"
#include "gasg21/kernels/dense.hpp"
#include "gasg21/kernels/plain.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"

namespace gasg21 {

/// A = vectors diag(values) vectors'. The values fall.
template <class T>
struct SymmetricEigen {
  arma::Col<T> values;
  arma::Mat<T> vectors;
};

namespace detail {

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
    for (uword first = (n - 1) / reflector_panel * reflector_panel;; first -= reflector_panel) {
      const uword count = std::min(reflector_panel, n - 1 - first);
      if (count > 0) reflect(Q, first, count);
      if (first == 0) return Q;
    }
  }

 private:
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

  /// Q = H_first ... H_{first + count - 1} Q, as I - V S V' (Schreiber and Van Loan 1989).
  void reflect(arma::Mat<T>& Q, uword first, uword count) const {
    const uword n = A_.n_rows, left = n - first - 1;
    arma::Mat<T> V(left, count, arma::fill::zeros);
    for (uword c = 0; c < count; ++c)
      std::copy(A_.colptr(first + c) + first + 1 + c, A_.colptr(first + c) + n, V.colptr(c) + c);
    const arma::Mat<T> S = triangle(V, first);
    T* corner = Q.colptr(first + 1) + first + 1;  // the other entries are those of I
    const kernels::Vectors<T> columns{corner, Q.n_rows, 1, left, left};
    arma::Mat<T> X(left, count, arma::fill::zeros);  // (V'Q)'
    add_large_product(columns, columns_of(V), T(1), X.memptr(), left);
    arma::Mat<T> Y(left, count, arma::fill::zeros);  // (S V'Q)'
    for (uword c = 0; c < count; ++c)
      for (uword b = c; b < count; ++b)
        for (uword i = 0; i < left; ++i) Y(i, c) += S(c, b) * X(i, b);
    add_large_product(rows_of(V), rows_of(Y), T(-1), corner, Q.n_rows);
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

/// Collects sweeps of rotations and applies them to the columns of Z.
template <class T>
class Rotations {
 public:
  explicit Rotations(arma::Mat<T>& Z) : Z_(Z) {}

  void begin(uword last) { sweeps_.push_back({last, last}); }
  void add(double c, double s) {
    rotations_.push_back(T(c));
    rotations_.push_back(T(s));
    --sweeps_.back().first;
  }
  void end() {
    if (rotations_.size() > most) flush();
  }
  void flush() {
    kernels::dense_kernels<T>().rotate(Z_.memptr(), Z_.n_rows, sweeps_.data(), sweeps_.size(),
                                       rotations_.data());
    sweeps_.clear();
    rotations_.clear();
  }

 private:
  static constexpr std::size_t most = 16384;  // numbers: they stay in the cache

  arma::Mat<T>& Z_;
  std::vector<kernels::Sweep> sweeps_;
  std::vector<T> rotations_;
};

/// One sweep of the implicit QL algorithm on the rows l to m, with Wilkinson's shift.
template <class T>
void ql_sweep(std::vector<double>& d, std::vector<double>& e, uword l, uword m,
              Rotations<T>& rotations) {
  double g = (d[l + 1] - d[l]) / (2 * e[l]);
  g = d[m] - d[l] + e[l] / (g + std::copysign(std::hypot(g, 1.0), g));
  double s = 1, c = 1, p = 0;
  rotations.begin(m);
  for (uword i = m; i-- > l;) {
    const double f = s * e[i], b = c * e[i], r = std::sqrt(f * f + g * g);
    e[i + 1] = r;
    if (!(r > 0)) {  // the matrix splits here
      d[i + 1] -= p;
      e[m] = 0;
      return rotations.end();
    }
    s = f / r;
    c = g / r;
    g = d[i + 1] - p;
    const double t = (d[i] - g) * s + 2 * c * b;
    p = s * t;
    d[i + 1] = g + p;
    g = c * t - b;
    rotations.add(c, s);
  }
  d[l] -= p;
  e[l] = g;
  e[m] = 0;
  rotations.end();
}

/// Makes the tridiagonal matrix (d, e) diagonal and rotates the columns of Z accordingly.
template <class T>
void diagonalize(std::vector<double>& d, std::vector<double>& e, arma::Mat<T>& Z) {
  constexpr int most = 60;  // sweeps per eigenvalue; two are usual
  const uword n = d.size();
  double norm = 0;
  for (uword i = 0; i < n; ++i) norm = std::max(norm, std::abs(d[i]) + std::abs(e[i]));
  const double negligible = double(std::numeric_limits<T>::epsilon()) * norm / 4;
  Rotations<T> rotations(Z);
  for (uword l = 0; l < n; ++l)
    for (int sweep = 0;; ++sweep) {
      uword m = l;
      while (m + 1 < n && std::abs(e[m]) > negligible) ++m;
      if (m == l) break;
      if (sweep == most) throw NumericalError("the QL algorithm did not converge");
      ql_sweep(d, e, l, m, rotations);
    }
  rotations.flush();
}

template <class T>
SymmetricEigen<T> sorted(const std::vector<double>& d, const arma::Mat<T>& Z, double scale) {
  std::vector<uword> order(d.size());
  for (uword i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](uword a, uword b) { return d[a] > d[b]; });
  const uword n = d.size();
  SymmetricEigen<T> result{arma::Col<T>(n), arma::Mat<T>(n, n)};
  for (uword i = 0; i < order.size(); ++i) {
    result.values[i] = T(d[order[i]] * scale);
    std::copy(Z.colptr(order[i]), Z.colptr(order[i]) + n, result.vectors.colptr(i));
  }
  return result;
}

}  // namespace detail

/// All eigenvalues and eigenvectors of a symmetric matrix, of which it reads the lower triangle.
/// Residuals and orthonormality are accurate to a few roundings of the largest eigenvalue.
template <class T>
SymmetricEigen<T> symmetric_eigen(arma::Mat<T> A) {
  require(A.n_rows == A.n_cols, "a symmetric matrix cannot have ", A.n_rows, " rows and ", A.n_cols,
          " columns");
  if (A.empty()) return {};
  T largest = 0;
  for (uword j = 0; j < A.n_cols; ++j)
    for (uword i = j; i < A.n_rows; ++i) {
      require(std::isfinite(A(i, j)), "a symmetric matrix has the entry ", A(i, j));
      largest = std::max(largest, std::abs(A(i, j)));
    }
  if (!(largest > 0))
    return {arma::Col<T>(A.n_rows, arma::fill::zeros),
            arma::Mat<T>(A.n_rows, A.n_rows, arma::fill::eye)};
  A /= largest;  // prevents overflow of the squares
  detail::Tridiagonal<T> tridiagonal(A);
  arma::Mat<T> Z = tridiagonal.basis();
  detail::diagonalize(tridiagonal.d, tridiagonal.e, Z);
  return detail::sorted(tridiagonal.d, Z, double(largest));
}

}  // namespace gasg21
