// Some eigenvectors of a symmetric tridiagonal matrix whose eigenvalues are known, by inverse
// iteration.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "gasg21/geometry/large_products.hpp"
#include "gasg21/kernels/dense.hpp"
#include "gasg21/kernels/plain.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/random.hpp"

namespace gasg21::detail {

/// The factors of T - value I for a tridiagonal matrix T, with exchanges of rows.
class TridiagonalFactors {
 public:
  TridiagonalFactors(const std::vector<double>& d, const std::vector<double>& e)
      : d_(d), e_(e), n_(d.size()), inverse_(n_), upper_(n_), second_(n_), factor_(n_), swap_(n_) {}

  void factor(double value, double least) {
    double diagonal = d_[0] - value, right = e_[0];  // of the row in turn
    for (uword i = 0; i + 1 < n_; ++i) {
      const double below = e_[i], next = d_[i + 1] - value, far = e_[i + 1];
      swap_[i] = std::abs(below) > std::abs(diagonal);
      const double pivot = away_from_zero(swap_[i] ? below : diagonal, least);
      inverse_[i] = 1 / pivot;
      factor_[i] = (swap_[i] ? diagonal : below) * inverse_[i];
      upper_[i] = swap_[i] ? next : right;
      second_[i] = swap_[i] ? far : 0;
      diagonal = swap_[i] ? right - factor_[i] * next : next - factor_[i] * right;
      right = swap_[i] ? -factor_[i] * far : far;
    }
    inverse_[n_ - 1] = 1 / away_from_zero(diagonal, least);
  }

  void solve(double* x) const {
    for (uword i = 0; i + 1 < n_; ++i) {
      const double upper = swap_[i] ? x[i + 1] : x[i], lower = swap_[i] ? x[i] : x[i + 1];
      x[i] = upper;
      x[i + 1] = lower - factor_[i] * upper;
    }
    double first = 0, second = 0;  // the two entries after x_i
    for (uword i = n_; i-- > 0;) {
      const double sum = i + 1 < n_ ? x[i] - upper_[i] * first - second_[i] * second : x[i];
      second = first;
      first = x[i] = sum * inverse_[i];
    }
  }

  /// |T x - value x|.
  double residual(double value, const double* x) const {
    double square = 0;
    for (uword i = 0; i < n_; ++i) {
      double sum = (d_[i] - value) * x[i];
      if (i > 0) sum += e_[i - 1] * x[i - 1];
      if (i + 1 < n_) sum += e_[i] * x[i + 1];
      square += sum * sum;
    }
    return std::sqrt(square);
  }

 private:
  static double away_from_zero(double pivot, double least) {
    return std::abs(pivot) < least ? std::copysign(least, pivot) : pivot;
  }

  const std::vector<double>&d_, &e_;
  uword n_;
  std::vector<double> inverse_, upper_, second_, factor_;
  std::vector<char> swap_;
};

/// Makes x orthogonal to the columns first, ..., last - 1 of Y, and gives it unit length.
inline void orthogonalize(const arma::mat& Y, uword first, uword last, double* x) {
  const auto& kernel = kernels::dense_kernels<double>();
  const uword n = Y.n_rows;
  const double largest = std::abs(
      *std::max_element(x, x + n, [](double a, double b) { return std::abs(a) < std::abs(b); }));
  for (uword i = 0; i < n; ++i) x[i] /= largest;  // prevents overflow of the squares
  arma::vec inner(last - first);
  for (int time = 0; time < 2 && last > first; ++time) {
    kernel.transpose_times(Y.colptr(first), n, n, last - first, x, inner.memptr());
    inner *= -1;
    kernel.add_times(Y.colptr(first), n, n, last - first, inner.memptr(), x);
  }
  const double length = std::sqrt(kernels::dot(x, x, n));
  for (uword i = 0; i < n; ++i) x[i] /= length;
}

/// A step of Newton and Schulz to the nearest orthonormal columns: Y (3 I - Y'Y) / 2. Returns
/// whether they were near enough for one step.
template <class T>
bool polish_columns(arma::Mat<T>& Y, const Parallel& parallel = Parallel()) {
  arma::Mat<T> G = gram(Y, parallel);
  G.diag() -= T(1);
  const T error = G.empty() ? T(0) : arma::abs(G).max() * std::sqrt(T(G.n_rows));
  G *= T(-0.5);
  G.diag() += T(1);
  Y = large_product(Y, G, parallel);
  return error * error <= std::numeric_limits<T>::epsilon();
}

/// Eigenvectors of the tridiagonal matrix (d, e) to its leading eigenvalues, which fall. Vectors of
/// values that are close together are made orthogonal one by one, the others together. Empty if
/// they are not accurate.
inline std::optional<arma::mat> inverse_iteration(const std::vector<double>& d,
                                                  const std::vector<double>& e,
                                                  const arma::vec& values) {
  constexpr double close = 1e-5, eps = std::numeric_limits<double>::epsilon();
  const uword n = d.size();
  double norm = 0;
  for (uword i = 0; i < n; ++i)
    norm = std::max(norm, std::abs(d[i]) + std::abs(e[i]) + (i > 0 ? std::abs(e[i - 1]) : 0.0));
  TridiagonalFactors factors(d, e);
  arma::mat Y(n, values.n_elem);
  Random random(n);
  uword group = 0;  // the first vector whose value is close to the next one
  for (uword c = 0; c < values.n_elem; ++c) {
    if (c > 0 && values[c - 1] - values[c] > close * norm) group = c;
    double* y = Y.colptr(c);
    for (uword i = 0; i < n; ++i) y[i] = random.uniform() - 0.5;
    factors.factor(values[c], eps * norm);
    for (int time = 0; time < 3; ++time) {
      factors.solve(y);
      orthogonalize(Y, group, c, y);
    }
    if (!(factors.residual(values[c], y) <= 10 * std::sqrt(double(n)) * eps * norm)) return {};
  }
  if (!polish_columns(Y)) return {};
  return Y;
}

}  // namespace gasg21::detail
