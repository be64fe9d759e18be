// What one pass of the polish sums over the samples for each coordinate, and the new rows that
// follow from it: weighted least squares, coordinate by coordinate.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "gasg21/data/observation.hpp"
#include "gasg21/geometry/grassmann.hpp"
#include "gasg21/kernels/coordinate_sums.hpp"
#include "gasg21/kernels/plain.hpp"
#include "gasg21/polish/sample_fits.hpp"
#include "gasg21/polish/tyler_scatter.hpp"
#include "gasg21/support/aligned.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/parallel.hpp"

namespace gasg21 {

/// For each coordinate i the sums over the samples that observe it: column i holds the packed lower
/// triangle of sum omega w w' (by columns), then sum omega w r_i. Add those of several blocks.
template <class T>
struct CoordinateSums {
  arma::Mat<T> sums;  // (d (d + 1) / 2 + d) x n

  CoordinateSums(uword n, uword d) : sums(d * (d + 1) / 2 + d, n, arma::fill::zeros) {}
  CoordinateSums& operator+=(const CoordinateSums& other) {
    sums += other.sums;
    return *this;
  }
};

namespace detail {

/// The entries of a sample as they lie in memory, where NaN tells all that is missing; else null.
template <class T>
const T* entries_of(const DenseSample<T>& x) {
  return x.mask || x.hidden ? nullptr : x.values;
}
template <class T, class Index>
const T* entries_of(const SparseSample<T, Index>&) {
  return nullptr;
}

/// Whether a sample stores so few of n entries that it pays to look at nothing else.
template <class T>
bool stores_few(const DenseSample<T>&, uword) {
  return false;
}
template <class T, class Index>
bool stores_few(const SparseSample<T, Index>& x, uword n) {
  return x.count * 8 <= n;
}

/// Asks for entries of a sample that will be looked at soon: pieces of columns are too short for
/// the machine to foresee them.
template <class T>
void fetch(const DenseSample<T>& x, uword from, uword to) {
#if defined(__GNUC__)
  for (uword i = from; i < to; i += kernels::block_rows<T>) __builtin_prefetch(x.values + i);
#else
  (void)x, (void)from, (void)to;
#endif
}
template <class T, class Index>
void fetch(const SparseSample<T, Index>&, uword, uword) {}

/// The row sums of a tile of coordinates, over a group of samples at a time: first it is noted
/// which samples observe which coordinate, then each coordinate sums over its own in registers.
/// Samples are summed in their order, so that their grouping changes no bit.
template <class T>
class CoordinateTile {
 public:
  /// U (n x d) and its transpose must outlive it.
  CoordinateTile(const arma::Mat<T>& U, const arma::Mat<T>& Ut, uword height)
      : U_(U),
        Ut_(Ut),
        d_(U.n_cols),
        packed_(d_ * (d_ + 1) / 2),
        moments_at_(whole_blocks<T>(packed_)),
        stride_(moments_at_ + whole_blocks<T>(d_)),
        r_stride_(whole_blocks<T>(height) + kernels::block_rows<T>),  // spreads over the cache
        terms_(stride_ * group, T(0)),
        seen_(height, Bits(0)),
        r_(r_stride_ * group),
        x_(whole_blocks<T>(height + 1), T(0)),
        at_(height + 1),
        rows_(d_ * block, T(0)) {}

  bool full() const { return size_ == group; }

  /// Takes a sample that counts: its entries with from <= i < to.
  template <class Sample>
  void take(const Sample& x, const SampleFits<T>& fits, uword at, uword from, uword to) {
    const T* w = fits.W.colptr(at);
    T *y = &terms_[size_ * stride_], *z = y + moments_at_;
    for (uword c = 0; c < d_; ++c) {
      z[c] = T(fits.omega[at]) * w[c];
      for (uword b = c; b < d_; ++b) *y++ = z[c] * w[b];
    }
    note(x, {w, fits.up[at], fits.down[at]}, from, to);
    ++size_;
  }

  /// Adds what was taken to the sums of the coordinates from, from + 1, ... and begins anew.
  void add_to(CoordinateSums<T>& rows, uword from, uword to) {
    kernels::coordinate_sum_kernels<T>().add(
        {rows.sums.colptr(from), to - from, packed_, d_},
        {terms_.data(), stride_, moments_at_, seen_.data(), r_.data(), r_stride_});
    std::fill(seen_.begin(), seen_.end(), Bits(0));
    size_ = 0;
  }

 private:
  using Bits = kernels::SampleBits<T>;
  static constexpr uword group = kernels::sample_group<T>, block = kernels::block_rows<T>;

  template <class Sample>
  void note(const Sample& x, const kernels::FittedSample<T>& fitted, uword from, uword to) {
    if (stores_few(x, U_.n_rows) || to - from < block) return note_some(x, fitted, from, to);
    const T* entries = entries_of(x);
    if (!entries) {
      constexpr T missing = std::numeric_limits<T>::quiet_NaN();
      std::fill(x_.begin(), x_.end(), missing);
      each_entry(x, from, to, [&](uword i, T value, bool observed) {
        x_[i - from] = observed ? value : missing;
      });
    }
    kernels::coordinate_sum_kernels<T>().note(entries ? entries + from : x_.data(), to - from,
                                              U_.colptr(0) + from, U_.n_rows, d_, fitted, bit(),
                                              seen_.data(), &r_[size_ * r_stride_]);
  }

  /// The same by the observed entries alone, whose rows of U are gathered.
  template <class Sample>
  void note_some(const Sample& x, const kernels::FittedSample<T>& fitted, uword from, uword to) {
    uword count = 0;
    each_entry(x, from, to, [&](uword i, T value, bool observed) {
      at_[count] = i;
      x_[count] = value;
      count += observed;
    });
    Bits seen[block] = {};
    T rest[block], *r = &r_[size_ * r_stride_];
    for (uword first = 0; first < count; first += block) {
      const uword here = std::min(block, count - first);
      for (uword l = 0; l < here; ++l) {
        const T* u = Ut_.colptr(at_[first + l]);
        for (uword c = 0; c < d_; ++c) rows_[c * block + l] = u[c];
      }
      kernels::coordinate_sum_kernels<T>().note(&x_[first], block, rows_.data(), block, d_, fitted,
                                                bit(), seen, rest);
      for (uword l = 0; l < here; ++l) {
        seen_[at_[first + l] - from] |= bit();
        r[at_[first + l] - from] = rest[l];
      }
    }
  }

  Bits bit() const { return Bits(1) << size_; }

  const arma::Mat<T>&U_, &Ut_;
  uword d_, packed_;
  uword moments_at_, stride_, r_stride_;
  uword size_ = 0;          // samples taken so far
  Aligned<T> terms_;        // of each sample: omega w w', packed, and omega w; see SampleGroup
  std::vector<Bits> seen_;  // of each coordinate: who observes it
  Aligned<T> r_;            // of each sample: its residuals
  std::vector<T> x_;        // one sample
  std::vector<uword> at_;   // where it is observed
  std::vector<T> rows_;     // U there, a block of it
};

}  // namespace detail

/// Adds the samples of a block to the row sums, in tiles of coordinates. False when it was stopped.
template <class T, class Data>
bool add_block(const arma::Mat<T>& U, const Data& data, uword first, const SampleFits<T>& fits,
               CoordinateSums<T>& rows, const Parallel& parallel) {
  const uword n = U.n_rows, d = U.n_cols;
  const uword tile = std::clamp<uword>(n / 8, 32, 256);
  const uword block = std::max<uword>(4'000'000 / (tile * d * (d + 1)), 32);
  const arma::Mat<T> Ut = U.t();
  const uword n_tiles = (n + tile - 1) / tile, n_blocks = (data.n_cols + block - 1) / block;
  // Blocks of samples one after the other, so that a memory map is read once, from front to back.
  for (uword b = 0; b < n_blocks; ++b) {
    const bool finished = parallel.for_each(
        n_tiles, [&] { return detail::CoordinateTile<T>(U, Ut, tile); },
        [&](uword t, detail::CoordinateTile<T>& sums) {
          const uword from = t * tile, to = std::min(n, from + tile);
          for (uword j = b * block; j < std::min(data.n_cols, (b + 1) * block); ++j) {
            if (fits.omega[first + j] == 0 || !touches(data.sample(j), from, to)) continue;
            if (j + 2 < data.n_cols) detail::fetch(data.sample(j + 2), from, to);
            sums.take(data.sample(j), fits, first + j, from, to);
            if (sums.full()) sums.add_to(rows, from, to);
          }
          sums.add_to(rows, from, to);
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
double update_coordinates(arma::Mat<T>& U, const CoordinateSums<T>& rows, Scatter& scatter,
                          const Parallel& parallel) {
  const uword n = U.n_rows, d = U.n_cols;
  const arma::Mat<T> before = U;
  constexpr uword chunk = 256, at_once = 8;
  const auto& kernels = kernels::coordinate_sum_kernels<T>();
  struct Scratch {
    arma::Mat<T> x;
    Aligned<double> memory;
  };
  parallel.for_each((n + chunk - 1) / chunk,
                    [&] {
                      return Scratch{arma::Mat<T>(d, at_once),
                                     Aligned<double>(rows.sums.n_rows * at_once)};
                    },
                    [&](uword task, Scratch& scratch) {
                      const uword end = std::min(n, (task + 1) * chunk);
                      for (uword i = task * chunk; i < end; i += at_once) {
                        const uword here = std::min(at_once, end - i);
                        kernels.solve(rows.sums.colptr(i), here, d, 1e-14, scratch.x.memptr(),
                                      scratch.memory.data());
                        for (uword c = 0; c < d; ++c)
                          for (uword k = 0; k < here; ++k) U(i + k, c) += scratch.x(c, k);
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
