// Eigenvalues and eigenvectors of a symmetric matrix. It becomes tridiagonal; then follows, for all
// vectors, the implicit QL algorithm, whose rotations are applied many sweeps at a time, or, for
// some of them, inverse iteration. It does not use LAPACK.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "gasg21/geometry/inverse_iteration.hpp"
#include "gasg21/geometry/tridiagonal.hpp"
#include "gasg21/kernels/dense.hpp"
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

/// Drops the rotations, if only the eigenvalues are sought.
struct NoRotations {
  void begin(uword) {}
  void add(double, double) {}
  void end() {}
  void flush() {}
};

/// One sweep of the implicit QL algorithm on the rows l to m, with Wilkinson's shift.
template <class Sink>
void ql_sweep(std::vector<double>& d, std::vector<double>& e, uword l, uword m, Sink& rotations) {
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

/// Makes the tridiagonal matrix (d, e) diagonal, by rotations. Subdiagonal entries of less than a
/// quarter of `eps` times its norm are negligible.
template <class Sink>
void diagonalize(std::vector<double>& d, std::vector<double>& e, double eps, Sink&& rotations) {
  constexpr int most = 60;  // sweeps per eigenvalue; two are usual
  const uword n = d.size();
  double norm = 0;
  for (uword i = 0; i < n; ++i) norm = std::max(norm, std::abs(d[i]) + std::abs(e[i]));
  const double negligible = eps * norm / 4;
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

/// The leading ones of the eigenvalues d * scale, and of the vectors Z.
template <class T>
SymmetricEigen<T> sorted(const std::vector<double>& d, const arma::Mat<T>& Z, uword count,
                         double scale) {
  const uword n = d.size();
  std::vector<uword> order(n);
  for (uword i = 0; i < n; ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](uword a, uword b) { return d[a] > d[b]; });
  SymmetricEigen<T> result{arma::Col<T>(count), arma::Mat<T>(n, count)};
  for (uword i = 0; i < count; ++i) {
    result.values[i] = T(d[order[i]] * scale);
    std::copy(Z.colptr(order[i]), Z.colptr(order[i]) + n, result.vectors.colptr(i));
  }
  return result;
}

/// The largest entry of the lower triangle.
template <class T>
T largest_below(const arma::Mat<T>& A) {
  T largest = 0;
  for (uword j = 0; j < A.n_cols; ++j)
    for (uword i = j; i < A.n_rows; ++i) {
      require(std::isfinite(A(i, j)), "a symmetric matrix has the entry ", A(i, j));
      largest = std::max(largest, std::abs(A(i, j)));
    }
  return largest;
}

/// The `count` leading eigenvectors by inverse iteration; empty if they are not accurate.
template <class T>
std::optional<SymmetricEigen<T>> leading_by_iteration(const Tridiagonal<T>& tridiagonal,
                                                      uword count, double scale) {
  auto d = tridiagonal.d, e = tridiagonal.e;
  diagonalize(d, e, std::numeric_limits<double>::epsilon(), NoRotations());
  std::sort(d.begin(), d.end(), std::greater<>());
  const arma::vec values(d.data(), count);
  const auto vectors = inverse_iteration(tridiagonal.d, tridiagonal.e, values);
  if (!vectors) return {};
  SymmetricEigen<T> result{arma::conv_to<arma::Col<T>>::from(values * scale),
                           arma::conv_to<arma::Mat<T>>::from(*vectors)};
  tridiagonal.multiply(result.vectors);
  return result;
}

}  // namespace detail

/// The `count` leading eigenvalues and eigenvectors of a symmetric matrix, of which it reads the
/// lower triangle. Residuals and orthonormality are accurate to some roundings of the largest
/// eigenvalue.
template <class T>
SymmetricEigen<T> symmetric_eigen(arma::Mat<T> A, uword count) {
  const uword n = A.n_rows;
  require(n == A.n_cols, "a symmetric matrix cannot have ", n, " rows and ", A.n_cols, " columns");
  require(count <= n, "a matrix of ", n, " rows does not have ", count, " eigenvectors");
  const T scale = detail::largest_below(A);
  if (!(scale > 0))
    return {arma::Col<T>(count, arma::fill::zeros), arma::Mat<T>(n, count, arma::fill::eye)};
  A /= scale;  // prevents overflow of the squares
  detail::Tridiagonal<T> tridiagonal(A);
  if (n >= 50 && 2 * count <= n)
    if (auto found = detail::leading_by_iteration(tridiagonal, count, double(scale)))
      return std::move(*found);
  arma::Mat<T> Z = tridiagonal.basis();
  detail::diagonalize(tridiagonal.d, tridiagonal.e, double(std::numeric_limits<T>::epsilon()),
                      detail::Rotations<T>(Z));
  return detail::sorted(tridiagonal.d, Z, count, double(scale));
}

/// All eigenvalues and eigenvectors.
template <class T>
SymmetricEigen<T> symmetric_eigen(arma::Mat<T> A) {
  const uword n = A.n_rows;
  return symmetric_eigen(std::move(A), n);
}

}  // namespace gasg21
