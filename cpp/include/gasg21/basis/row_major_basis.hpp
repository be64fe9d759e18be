// The basis that a tracker moves, for vectors of which few entries are observed: then only their
// rows are read and written. Off Omega a geodesic step turns all rows alike, U_i (I - (1 - cos) v
// v'), so that these turns are gathered in one small matrix: U = rows * A.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "gasg21/kernels/plain.hpp"
#include "gasg21/kernels/row_major_basis.hpp"
#include "gasg21/support/aligned.hpp"
#include "gasg21/support/config.hpp"

namespace gasg21 {

/// What a RowMajorBasis consists of, for resuming bit by bit. Empty = there is none.
template <class T>
struct RowMajorState {
  arma::Mat<T> rows;        // d x n, one row of the basis per column
  arma::Mat<T> A, inverse;  // d x d
  uword steps = 0;          // since A was I
};

template <class T>
class RowMajorBasis {
 public:
  /// Starts from U, n x d, as if it had last moved along e.
  RowMajorBasis(const arma::Mat<T>& U, const T* e)
      : RowMajorBasis(RowMajorState<T>{U.t(), arma::eye<arma::Mat<T>>(U.n_cols, U.n_cols),
                                       arma::eye<arma::Mat<T>>(U.n_cols, U.n_cols)},
                      e) {}
  RowMajorBasis(const RowMajorState<T>& s, const T* e)
      : n_(s.rows.n_cols),
        d_(s.rows.n_rows),
        stride_(kernels::RowMemory<T>::stride_for(d_)),
        rows_((n_ + 1) * stride_ + kernels::block_rows<T>, T(0)),
        A_(s.A),
        inverse_(s.inverse),
        steps_(s.steps),
        z_(d_ + kernels::block_rows<T>),
        turned_(d_) {
    for (uword i = 0; i < n_; ++i) {
      std::copy(s.rows.colptr(i), s.rows.colptr(i) + d_, row(i));
      row(i)[d_] = e[i];
      row(i)[d_ + 1] = T(number_);
    }
  }

  RowMajorState<T> state() const {
    arma::Mat<T> rows(d_, n_);
    for (uword i = 0; i < n_; ++i) std::copy(row(i), row(i) + d_, rows.colptr(i));
    return {rows, A_, inverse_, steps_};
  }

  /// n x d, orthonormal.
  arma::Mat<T> matrix() const {
    RowMajorBasis copy = *this;
    copy.carry_out();
    return copy.state().rows.t();
  }

  /// Entry i of the direction of the last step.
  T direction(uword i) const { return row(i)[d_ + 1] == T(number_) ? row(i)[d_] : T(0); }

  /// The given rows, not turned by A, as blocks of the kernels, and the last direction on them;
  /// zeros up to whole blocks. Meanwhile it fetches the vector `next` of n entries, unless null.
  void gather(const uword* at, uword count, T* blocks, T* e, const T* next) {
    kernels::gather(memory(), at, count, blocks, e, next);
  }

  /// The weights in U of weights w in the rows that are not turned: w := A^-1 w.
  void turn_weights(arma::Col<T>& w) {
    multiply(inverse_, w.memptr());
    std::copy(turned_.begin(), turned_.end(), w.begin());
  }

  /// A step along the geodesic of direction e v' by the angle theta, Eq. (9), where e is given on
  /// the rows `at` and zero elsewhere. False when it had to pass over all rows so soon after the
  /// last time that this layout does not pay.
  bool move(const uword* at, uword count, const T* e, const arma::Col<T>& v, double theta) {
    const double half_sine = std::sin(theta / 2);
    const T along = T(-2 * half_sine * half_sine), across = T(std::sin(theta)), cosine = 1 + along;
    multiply(A_, v.memptr());  // A (I + along v v')
    add_product(A_, along, turned_.data(), v.memptr());
    const uword steps = ++steps_;
    count_step();
    if (std::abs(cosine) < T(0.3)) {
      carry_out();
      for (uword c = 0; c < d_; ++c) z_[c] = across * v[c];
      kernels::add_rank_one(memory(), at, count, e, z_.data());
      return 2 * steps > d_;
    }
    for (uword c = 0; c < d_; ++c)  // z' = v' A^-1, of the A before
      z_[c] = kernels::short_dot(v.memptr(), inverse_.colptr(c), d_);
    add_product(inverse_, -along / cosine, v.memptr(), z_.data());
    for (uword c = 0; c < d_; ++c) z_[c] *= across / cosine;
    kernels::add_rank_one(memory(), at, count, e, z_.data());
    // A shrinks by cos(theta) along v. Beyond a condition of four it would cost digits.
    if (!(kernels::dot(inverse_.memptr(), inverse_.memptr(), d_ * d_) > T(d_) + 15)) return true;
    carry_out();
    return 2 * steps > d_;
  }

 private:
  T* row(uword i) { return rows_.data() + i * stride_; }
  const T* row(uword i) const { return rows_.data() + i * stride_; }
  kernels::RowMemory<T> memory() { return {rows_.data(), n_, d_, stride_, T(number_)}; }

  /// The number of the next step. They begin anew before T could not tell them apart.
  void count_step() {
    if (++number_ < 1'000'000) return;
    for (uword i = 0; i < n_; ++i) row(i)[d_ + 1] = 0;
    number_ = 1;
  }

  /// turned_ = M v.
  void multiply(const arma::Mat<T>& M, const T* v) {
    std::fill(turned_.begin(), turned_.end(), T(0));
    kernels::add_times(M.memptr(), d_, d_, v, T(1), turned_.data());
  }

  /// M += factor a b'.
  void add_product(arma::Mat<T>& M, T factor, const T* a, const T* b) {
    for (uword c = 0; c < d_; ++c) {
      T* column = M.colptr(c);
      const T amount = factor * b[c];
      for (uword r = 0; r < d_; ++r) column[r] += amount * a[r];
    }
  }

  /// A := I, its turns carried out in all rows.
  void carry_out() {
    const uword padded = whole_blocks<T>(d_);
    Aligned<T> At(d_ * padded, T(0));
    for (uword r = 0; r < d_; ++r)
      for (uword c = 0; c < d_; ++c) At[c + r * padded] = A_(r, c);
    kernels::turn_all(memory(), At.data());
    A_.eye();
    inverse_.eye();
    steps_ = 0;
  }

  uword n_, d_, stride_;
  Aligned<T> rows_;  // as kernels::RowMemory, and a row of zeros
  arma::Mat<T> A_, inverse_;
  uword steps_;                // since A was I
  std::uint32_t number_ = 1;   // of the last step
  std::vector<T> z_, turned_;  // z with room for a cache line more
};

}  // namespace gasg21
