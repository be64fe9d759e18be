// What one pass of the polish sums over the samples for each coordinate, and the new rows that
// follow from it: weighted least squares, coordinate by coordinate.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "config.hpp"
#include "error.hpp"
#include "grassmann.hpp"
#include "kernels.hpp"
#include "observation.hpp"
#include "parallel.hpp"
#include "scatter.hpp"

namespace gasg21 {

/// For each coordinate i the sums over the samples that observe it: column i holds the packed lower
/// triangle of sum omega w w' (by columns), then sum omega w r_i. Add those of several blocks.
template <class T>
struct RowSums {
  arma::Mat<T> sums;  // (d (d + 1) / 2 + d) x n

  RowSums(uword n, uword d) : sums(d * (d + 1) / 2 + d, n, arma::fill::zeros) {}
  RowSums& operator+=(const RowSums& other) {
    sums += other.sums;
    return *this;
  }
};

namespace detail {

/// The row sums of a tile of coordinates, over a group of samples at a time: first it is noted
/// which samples observe which coordinate, then each coordinate sums over its own in registers.
/// Samples are summed in their order, so that their grouping changes no bit.
template <class T>
class RowTile {
 public:
  RowTile(uword d, uword height)
      : d_(d),
        packed_(d * (d + 1) / 2),
        group_(std::clamp<uword>(32'768 / (sizeof(T) * packed_), 8, 64)),
        Y_(kernels::padded(packed_), group_, arma::fill::zeros),
        Z_(kernels::padded(d), group_, arma::fill::zeros),
        W_(d, group_),
        up_(group_),
        down_(group_),
        sums_(Y_.n_rows, arma::fill::zeros),
        moments_(Z_.n_rows, arma::fill::zeros),
        count_(height, 0),
        who_((group_ + 1) * height),
        values_((group_ + 1) * height) {}

  bool full() const { return size_ == group_; }

  /// Takes a sample that counts: its entries with from <= i < to.
  template <class Sample>
  void take(const Sample& x, const SampleFits<T>& fits, uword at, uword from, uword to) {
    const T* w = fits.W.colptr(at);
    T *y = Y_.colptr(size_), *z = Z_.colptr(size_);
    for (uword c = 0, p = 0; c < d_; ++c) {
      z[c] = T(fits.omega[at]) * w[c];
      for (uword b = c; b < d_; ++b) y[p++] = z[c] * w[b];
    }
    std::copy(w, w + d_, W_.colptr(size_));
    up_[size_] = fits.up[at];
    down_[size_] = fits.down[at];
    note(x, from, to);
    ++size_;
  }

  /// Adds what was taken to the sums of the coordinates from, from + 1, ... and begins anew.
  void add_to(RowSums<T>& rows, const arma::Mat<T>& Ut, uword from, uword to) {
    for (uword i = from; i < to; ++i) {
      const uword count = count_[i - from];
      if (count == 0) continue;
      const std::uint16_t* who = &who_[(i - from) * (group_ + 1)];
      T* values = &values_[(i - from) * (group_ + 1)];
      const T* u = Ut.colptr(i);
      for (uword t = 0; t < count; ++t) {  // the residuals, in place of the values
        const uword k = who[t];
        values[t] = (values[t] * up_[k]) * down_[k] - kernels::short_dot(u, W_.colptr(k), d_);
      }
      T* sums = rows.sums.colptr(i);
      std::copy(sums, sums + packed_, sums_.memptr());
      std::copy(sums + packed_, sums + packed_ + d_, moments_.memptr());
      kernels::add_columns(Y_.memptr(), Y_.n_rows, who, count, sums_.memptr());
      kernels::add_columns(Z_.memptr(), Z_.n_rows, who, values, count, moments_.memptr());
      std::copy(sums_.memptr(), sums_.memptr() + packed_, sums);
      std::copy(moments_.memptr(), moments_.memptr() + d_, sums + packed_);
    }
    std::fill(count_.begin(), count_.end(), std::uint16_t(0));
    size_ = 0;
  }

 private:
  /// Without a branch: where entries are missing at random, many guesses would be wrong.
  template <class Sample>
  void note(const Sample& x, uword from, uword to) {
    const uword stride = group_ + 1;
    const auto self = std::uint16_t(size_);
    std::uint16_t *count = count_.data(), *who = who_.data();
    T* values = values_.data();
    each_entry(x, from, to, [=](uword i, T value, bool observed) {
      const uword row = i - from, next = row * stride + count[row];
      who[next] = self;
      values[next] = value;
      count[row] = std::uint16_t(count[row] + observed);
    });
  }

  uword d_, packed_;
  uword group_, size_ = 0;                  // samples at a time, and taken so far
  arma::Mat<T> Y_, Z_, W_;                  // of each sample: omega w w', packed; omega w; w
  arma::Col<T> up_, down_;                  // of each sample
  arma::Col<T> sums_, moments_;             // of one coordinate
  std::vector<std::uint16_t> count_, who_;  // of each coordinate: how many observe it, which,
  std::vector<T> values_;                   // and what they hold
};

}  // namespace detail

/// Adds the samples of a block to the row sums, in tiles of coordinates. False when it was stopped.
template <class T, class Data>
bool add_block(const arma::Mat<T>& U, const Data& data, uword first, const SampleFits<T>& fits,
               RowSums<T>& rows, const Parallel& parallel) {
  const uword n = U.n_rows, d = U.n_cols;
  const uword tile = std::clamp<uword>(n / 8, 32, 256);
  const uword block = std::max<uword>(4'000'000 / (tile * d * (d + 1)), 32);
  const arma::Mat<T> Ut = U.t();
  const uword n_tiles = (n + tile - 1) / tile, n_blocks = (data.n_cols + block - 1) / block;
  // Blocks of samples one after the other, so that a memory map is read once, from front to back.
  for (uword b = 0; b < n_blocks; ++b) {
    const bool finished = parallel.for_each(
        n_tiles, [&] { return detail::RowTile<T>(d, tile); },
        [&](uword t, detail::RowTile<T>& sums) {
          const uword from = t * tile, to = std::min(n, from + tile);
          for (uword j = b * block; j < std::min(data.n_cols, (b + 1) * block); ++j) {
            if (fits.omega[first + j] == 0 || !touches(data.sample(j), from, to)) continue;
            sums.take(data.sample(j), fits, first + j, from, to);
            if (sums.full()) sums.add_to(rows, Ut, from, to);
          }
          sums.add_to(rows, Ut, from, to);
        });
    if (!finished) return false;
  }
  return true;
}

/// C in the coordinates of U instead of those of `before`.
template <class T>
void rotate(Scatter& scatter, const arma::Mat<T>& before, const arma::Mat<T>& U) {
  const arma::mat rotation = arma::conv_to<arma::mat>::from(before.t() * U);
  scatter.C = rotation.t() * scatter.C * rotation;
}

/// Moves each row of U by the solution of its normal equations, in residual form (the plain form
/// loses digits on ill-conditioned data), and orthonormalizes. Rotates C along. Returns the largest
/// angle between the old and the new subspace.
template <class T>
double update_rows(arma::Mat<T>& U, const RowSums<T>& rows, Scatter& scatter,
                   const Parallel& parallel) {
  const uword n = U.n_rows, d = U.n_cols, packed = d * (d + 1) / 2;
  const arma::Mat<T> before = U;
  constexpr uword chunk = 256;
  parallel.for_each((n + chunk - 1) / chunk,
                    [&] { return std::make_pair(arma::mat(d, d), arma::vec(d)); },
                    [&](uword task, auto& scratch) {
                      auto& [A, b] = scratch;
                      for (uword i = task * chunk; i < std::min(n, (task + 1) * chunk); ++i) {
                        const T* sums = rows.sums.colptr(i);
                        double trace = 0;
                        for (uword c = 0, p = 0; c < d; ++c) {
                          trace += double(sums[p]);
                          for (uword r = c; r < d; ++r) A(r, c) = double(sums[p++]);
                          b[c] = double(sums[packed + c]);
                        }
                        A.diag() += 1e-14 * trace;
                        if (!(trace > 0) || kernels::cholesky(A.memptr(), d) <= 0)
                          continue;  // not observed
                        kernels::cholesky_solve(A.memptr(), d, b.memptr());
                        for (uword c = 0; c < d; ++c) U(i, c) += T(b[c]);
                      }
                    });
  if (!orthonormalize(U)) {
    U = before;
    throw NumericalError("the polish lost the rank of the basis");
  }
  rotate(scatter, before, U);
  return double(largest_angle(before, U));
}

}  // namespace gasg21
