// A tracked basis for vectors with few observed entries: an update reads and writes only their
// rows. Off Omega a geodesic step multiplies every row by the same matrix I - (1 - cos(theta)) v
// v'. These factors are collected in one small matrix A, so that U = rows * A.
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

/// The state of a RowMajorBasis, for resuming with the same bits. Empty = there is none.
template <class T>
struct RowMajorState {
  arma::Mat<T> rows;        // d x n, one row of the basis per column
  arma::Mat<T> A, inverse;  // d x d
  uword steps = 0;          // since A was I
};

template <class T>
class RowMajorBasis {
 public:
  /// Starts from U, n x d, with e as the direction of the last step.
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
        product_(d_) {
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
    copy.apply_A();
    return copy.state().rows.t();
  }

  /// Entry i of the direction of the last step.
  T direction(uword i) const { return row(i)[d_ + 1] == T(number_) ? row(i)[d_] : T(0); }

  /// Copies the given rows, without A, to row blocks, and the last direction on them; zeros up to
  /// whole blocks. Prefetches the vector `next` of n entries, unless null.
  void gather(const uword* at, uword count, T* blocks, T* e, const T* next) {
    kernels::gather(memory(), at, count, blocks, e, next);
  }

  /// Converts weights in rows without A to weights in U: w := A^-1 w.
  void rotate_weights(arma::Col<T>& w) {
    multiply(inverse_, w.memptr());
    std::copy(product_.begin(), product_.end(), w.begin());
  }

  /// Moves along the geodesic of direction e v' by the angle theta, Eq. (9), where e is given on
  /// the rows `at` and zero elsewhere. Returns false if A had to be applied to all rows so soon
  /// after the last time that row blocks would be faster.
  bool move(const uword* at, uword count, const T* e, const arma::Col<T>& v, double theta) {
    const double half_sine = std::sin(theta / 2);
    const T cos_minus_1 = T(-2 * half_sine * half_sine), sine = T(std::sin(theta)),
            cosine = 1 + cos_minus_1;
    multiply(A_, v.memptr());  // A (I + cos_minus_1 v v')
    add_product(A_, cos_minus_1, product_.data(), v.memptr());
    const uword steps = ++steps_;
    count_step();
    if (std::abs(cosine) < T(0.3)) {
      apply_A();
      for (uword c = 0; c < d_; ++c) z_[c] = sine * v[c];
      kernels::add_rank_one(memory(), at, count, e, z_.data());
      return 2 * steps > d_;
    }
    for (uword c = 0; c < d_; ++c)  // z' = v' A^-1, of the A before
      z_[c] = kernels::short_dot(v.memptr(), inverse_.colptr(c), d_);
    add_product(inverse_, -cos_minus_1 / cosine, v.memptr(), z_.data());
    for (uword c = 0; c < d_; ++c) z_[c] *= sine / cosine;
    kernels::add_rank_one(memory(), at, count, e, z_.data());
    // A shrinks by cos(theta) in direction v. Beyond a condition of four that would cost digits.
    if (!(kernels::dot(inverse_.memptr(), inverse_.memptr(), d_ * d_) > T(d_) + 15)) return true;
    apply_A();
    return 2 * steps > d_;
  }

 private:
  T* row(uword i) { return rows_.data() + i * stride_; }
  const T* row(uword i) const { return rows_.data() + i * stride_; }
  kernels::RowMemory<T> memory() { return {rows_.data(), n_, d_, stride_, T(number_)}; }

  /// Numbers the next step. Starts again before T can no longer tell the numbers apart.
  void count_step() {
    if (++number_ < 1'000'000) return;
    for (uword i = 0; i < n_; ++i) row(i)[d_ + 1] = 0;
    number_ = 1;
  }

  /// product_ = M v.
  void multiply(const arma::Mat<T>& M, const T* v) {
    std::fill(product_.begin(), product_.end(), T(0));
    kernels::add_times(M.memptr(), d_, d_, v, T(1), product_.data());
  }

  /// M += factor a b'.
  void add_product(arma::Mat<T>& M, T factor, const T* a, const T* b) {
    for (uword c = 0; c < d_; ++c) {
      T* column = M.colptr(c);
      const T amount = factor * b[c];
      for (uword r = 0; r < d_; ++r) column[r] += amount * a[r];
    }
  }

  /// Multiplies all rows by A, and sets A := I.
  void apply_A() {
    const uword padded = whole_blocks<T>(d_);
    Aligned<T> At(d_ * padded, T(0));
    for (uword r = 0; r < d_; ++r)
      for (uword c = 0; c < d_; ++c) At[c + r * padded] = A_(r, c);
    kernels::multiply_all(memory(), At.data());
    A_.eye();
    inverse_.eye();
    steps_ = 0;
  }

  uword n_, d_, stride_;
  Aligned<T> rows_;  // as kernels::RowMemory, and a row of zeros
  arma::Mat<T> A_, inverse_;
  uword steps_;                 // since A was I
  std::uint32_t number_ = 1;    // of the last step
  std::vector<T> z_, product_;  // z with room for a cache line more
};

}  // namespace gasg21
