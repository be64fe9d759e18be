// The basis that a tracker moves, for vectors of which few entries are observed: then only their
// rows are read and written. Off Omega a geodesic step turns all rows alike, U_i (I - (1 - cos) v
// v'), so that these turns are gathered in one small matrix: U = rows * A.
#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>
#include <vector>

#include "aligned.hpp"
#include "config.hpp"
#include "kernels.hpp"

namespace gasg21 {

/// What a RowBasis consists of, for resuming bit by bit. Empty = there is none.
template <class T>
struct RowBasisState {
  arma::Mat<T> rows;        // d x n, one row of the basis per column
  arma::Mat<T> A, inverse;  // d x d
  uword steps = 0;          // since A was I
};

template <class T>
class RowBasis {
 public:
  explicit RowBasis(const arma::Mat<T>& U)
      : RowBasis(RowBasisState<T>{U.t(), arma::eye<arma::Mat<T>>(U.n_cols, U.n_cols),
                                  arma::eye<arma::Mat<T>>(U.n_cols, U.n_cols)}) {}
  explicit RowBasis(RowBasisState<T> state)
      : s_(std::move(state)), z_(s_.A.n_rows), turned_(s_.A.n_rows) {}

  const RowBasisState<T>& state() const { return s_; }

  /// n x d, orthonormal.
  arma::Mat<T> matrix() const { return turned().t(); }

  /// The given rows, not turned by A, as blocks of the kernels; zeros up to whole blocks. Meanwhile
  /// it fetches the vector `next` of n entries, unless null.
  void gather(const uword* at, uword count, T* blocks, const T* next) const {
    with_columns<1>([&](auto columns) {
      constexpr uword L = kernels::block_rows<T>;
      const uword d = columns(), n = s_.rows.n_cols, lines = next ? n / count + 1 : 0;
      for (uword first = 0; first < count; first += L, blocks += d * L) {
        const uword here = std::min(L, count - first);
        if (here < L) std::fill(blocks, blocks + d * L, T(0));
        for (uword l = 0; l < here; ++l) {
          const T* row = s_.rows.memptr() + at[first + l] * d;
          for (uword c = 0; c < d; ++c) blocks[c * L + l] = row[c];
        }
        for (uword k = 0; k < lines && (first / L * lines + k) * L < n; ++k)
          GASG21_PREFETCH(next + (first / L * lines + k) * L);
      }
    });
  }

  /// The weights in U of weights w in the rows that are not turned: w := A^-1 w.
  void turn_weights(arma::Col<T>& w) {
    multiply(s_.inverse, w.memptr());
    std::copy(turned_.begin(), turned_.end(), w.begin());
  }

  /// A step along the geodesic of direction e v' by the angle theta, Eq. (9), where e is given on
  /// the rows `at` and zero elsewhere. False when it had to pass over all rows so soon after the
  /// last time that this layout does not pay.
  bool move(const uword* at, uword count, const T* e, const arma::Col<T>& v, double theta) {
    const uword d = s_.A.n_rows;
    const double half_sine = std::sin(theta / 2);
    const T along = T(-2 * half_sine * half_sine), across = T(std::sin(theta)), cosine = 1 + along;
    multiply(s_.A, v.memptr());  // A (I + along v v')
    for (uword c = 0; c < d; ++c)
      for (uword r = 0; r < d; ++r) s_.A(r, c) += along * turned_[r] * v[c];
    const uword steps = ++s_.steps;
    if (std::abs(cosine) < T(0.3)) {
      carry_out();
      add(at, count, e, across, v.memptr());
      return 2 * steps > d;
    }
    for (uword c = 0; c < d; ++c)  // z' = v' A^-1, of the A before
      z_[c] = kernels::short_dot(v.memptr(), s_.inverse.colptr(c), d);
    for (uword c = 0; c < d; ++c)
      for (uword r = 0; r < d; ++r) s_.inverse(r, c) -= along / cosine * v[r] * z_[c];
    add(at, count, e, across / cosine, z_.data());
    // A shrinks by cos(theta) along v. Beyond a condition of four it would cost digits.
    const T* entries = s_.inverse.memptr();
    if (!(kernels::dot(entries, entries, d * d) > T(d) + 15)) return true;
    carry_out();
    return 2 * steps > d;
  }

 private:
  /// turned_ = M v.
  void multiply(const arma::Mat<T>& M, const T* v) {
    std::fill(turned_.begin(), turned_.end(), T(0));
    kernels::add_times(M.memptr(), M.n_rows, M.n_cols, v, T(1), turned_.data());
  }

  /// rows += factor e z'.
  void add(const uword* at, uword count, const T* e, T factor, const T* z) {
    with_columns<1>([&](auto columns) {
      const uword d = columns();
      for (uword k = 0; k < count; ++k) {
        T* row = s_.rows.memptr() + at[k] * d;
        const T amount = factor * e[k];
        for (uword c = 0; c < d; ++c) row[c] += amount * z[c];
      }
    });
  }

  /// Calls work(columns), where columns() is d: a constant when d is small, for short loops.
  template <uword D, class Work>
  void with_columns(Work&& work) const {
    const uword d = s_.A.n_rows;
    if (d == D)
      work(std::integral_constant<uword, D>{});
    else if constexpr (D < 10)
      with_columns<D + 1>(work);
    else
      work([d] { return d; });
  }

  /// The rows, turned by A; d x n.
  arma::Mat<T> turned() const {
    const uword n = s_.rows.n_cols;
    arma::Mat<T> all(s_.A.n_rows, n, arma::fill::zeros);
    const arma::Mat<T> At = s_.A.t();
    with_columns<1>([&](auto columns) {
      const uword d = columns();
      for (uword i = 0; i < n; ++i) {
        const T* row = s_.rows.memptr() + i * d;
        T* out = all.memptr() + i * d;
        for (uword k = 0; k < d; ++k)
          for (uword c = 0; c < d; ++c) out[c] += row[k] * At.memptr()[c + k * d];
      }
    });
    return all;
  }

  /// A := I, its turns carried out in all rows.
  void carry_out() {
    s_.rows = turned();
    s_.A.eye();
    s_.inverse.eye();
    s_.steps = 0;
  }

  RowBasisState<T> s_;
  std::vector<T> z_, turned_;
};

}  // namespace gasg21
