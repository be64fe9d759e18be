// Weighted least squares for each coordinate: the sums over the samples, and the new rows of the
// basis that solve them.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>
#include <vector>

#include "gasg21/data/observation.hpp"
#include "gasg21/geometry/grassmann.hpp"
#include "gasg21/geometry/products.hpp"
#include "gasg21/kernels/coordinate_sums.hpp"
#include "gasg21/kernels/plain.hpp"
#include "gasg21/polish/sample_fits.hpp"
#include "gasg21/polish/tyler_scatter.hpp"
#include "gasg21/support/aligned.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/parallel.hpp"

namespace gasg21 {

/// The normal equations of each coordinate i, summed over the samples that observe it. Column i
/// holds the packed lower triangle of sum omega w w' (by columns), then sum omega w r_i. The sums
/// of several blocks add up.
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

/// The memory of a sample if NaN marks everything that is missing, else null.
template <class T>
const T* entries_of(const DenseSample<T>& x) {
  return x.mask || x.hidden || x.lift ? nullptr : x.values;
}
template <class T, class Index>
const T* entries_of(const SparseSample<T, Index>&) {
  return nullptr;
}

template <class T>
const T* entries_of(const AnySample<T>& x) {
  return std::visit([](const auto& sample) { return entries_of(sample); }, x);
}

/// Whether a sample stores so few of n entries that gathering them is faster.
template <class T>
bool stores_few(const DenseSample<T>&, uword) {
  return false;
}
template <class T, class Index>
bool stores_few(const SparseSample<T, Index>& x, uword n) {
  return !x.rest_is_zero && x.count * 8 <= n;
}
template <class T>
bool stores_few(const AnySample<T>& x, uword n) {
  return std::visit([&](const auto& sample) { return stores_few(sample, n); }, x);
}

/// The sums of some coordinates over one group of samples at a time. First `take` records which
/// samples observe which coordinate; then `add_to` sums each coordinate in registers. Samples of
/// which nothing is observed there are left out, so that all layouts of the data have the same
/// groups, and give the same bits.
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
        r_(r_stride_ * group, T(0)),
        sizes_(group),
        total_(moments_at_),
        x_(whole_blocks<T>(height + 1), T(0)),
        at_(height + 1),
        rows_(d_ * block, T(0)) {}

  bool full() const { return size_ == group; }

  /// Takes the entries from <= i < to of a sample with a positive weight.
  template <class Sample>
  void take(const Sample& x, const SampleFits<T>& fits, uword at, uword from, uword to) {
    const T* w = fits.W.colptr(at);
    if (!note(x, {w, fits.up[at], fits.down[at]}, from, to)) return;
    T *y = &terms_[size_ * stride_], *z = y + moments_at_;
    sizes_[size_] = 0;
    for (uword c = 0; c < d_; ++c) {
      z[c] = T(fits.omega[at]) * w[c];
      sizes_[size_] += z[c] * w[c];
      for (uword b = c; b < d_; ++b) *y++ = z[c] * w[b];
    }
    ++size_;
  }

  /// Adds the group to the sums of the coordinates from <= i < to, and starts a new group.
  void add_to(CoordinateSums<T>& rows, uword from, uword to) {
    kernels::coordinate_sum_kernels<T>().add(
        {rows.sums.colptr(from), to - from, packed_, d_},
        {terms_.data(), stride_, moments_at_, seen_.data(), r_.data(), r_stride_, size_,
         sizes_.data(), total_.data()});
    std::fill(seen_.begin(), seen_.end(), Bits(0));
    size_ = 0;
  }

 private:
  using Bits = kernels::SampleBits<T>;
  static constexpr uword group = kernels::sample_group<T>, block = kernels::block_rows<T>;

  /// Records which entries of a sample are observed. Returns false if there are none.
  template <class Sample>
  bool note(const Sample& x, const kernels::FittedSample<T>& fitted, uword from, uword to) {
    if (stores_few(x, U_.n_rows) || to - from < block) return note_some(x, fitted, from, to);
    const T* entries = entries_of(x);
    if (!entries) {
      constexpr T missing = std::numeric_limits<T>::quiet_NaN();
      std::fill(x_.begin(), x_.end(), missing);
      each_entry(x, from, to, [&](uword i, T value, bool observed) {
        x_[i - from] = observed ? value : missing;
      });
    }
    return kernels::coordinate_sum_kernels<T>().note(
        entries ? entries + from : x_.data(), to - from, U_.colptr(0) + from, U_.n_rows, d_, fitted,
        bit(), seen_.data(), &r_[size_ * r_stride_]);
  }

  /// As `note`, by gathering the observed entries and their rows of U.
  template <class Sample>
  bool note_some(const Sample& x, const kernels::FittedSample<T>& fitted, uword from, uword to) {
    uword count = 0;
    each_entry(x, from, to, [&](uword i, T value, bool observed) {
      at_[count] = i;
      x_[count] = value;
      count += observed;
    });
    Bits seen[block] = {};
    T rest[block], *r = &r_[size_ * r_stride_];
    std::fill(r, r + r_stride_, T(0));
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
    return count > 0;
  }

  Bits bit() const { return Bits(1) << size_; }

  const arma::Mat<T>&U_, &Ut_;
  uword d_, packed_;
  uword moments_at_, stride_, r_stride_;
  uword size_ = 0;          // samples in the group
  Aligned<T> terms_;        // per sample: omega w w', packed, and omega w; see SampleGroup
  std::vector<Bits> seen_;  // per coordinate: the samples that observe it
  Aligned<T> r_;            // per sample: its residuals, 0 where it is missing
  std::vector<T> sizes_;    // per sample: the trace of omega w w'
  Aligned<T> total_;        // the sum of omega w w' over the group
  std::vector<T> x_;        // one sample
  std::vector<uword> at_;   // its observed coordinates
  std::vector<T> rows_;     // their rows of U, one row block
};

}  // namespace detail

/// Adds all samples to the sums, some coordinates at a time. Throws Stopped if it is stopped.
template <class T, class Data>
void add_samples(const arma::Mat<T>& U, const Data& data, const SampleFits<T>& fits,
                 CoordinateSums<T>& rows, const Parallel& parallel) {
  const uword n = U.n_rows, d = U.n_cols;
  const uword tile = std::clamp<uword>(n / 8, 32, 256);
  const uword batch = std::max<uword>(4'000'000 / (tile * d * (d + 1)), 32);
  const arma::Mat<T> Ut = U.t();
  const uword n_tiles = (n + tile - 1) / tile, n_batches = (data.n_cols + batch - 1) / batch;
  const auto add_batch = [&](uword t, uword b, detail::CoordinateTile<T>& sums) {
    const uword from = t * tile, to = std::min(n, from + tile);
    for (uword j = b * batch; j < std::min(data.n_cols, (b + 1) * batch); ++j) {
      const auto sample = data.sample(j);
      if (fits.omega[j] == 0 || !touches(sample, from, to)) continue;
      if (j + 2 < data.n_cols) detail::fetch(data.sample(j + 2), from, to);
      sums.take(sample, fits, j, from, to);
      if (sums.full()) sums.add_to(rows, from, to);
    }
    sums.add_to(rows, from, to);
  };
  // All tiles go through the batches side by side, so that a memory map is read once, from front to
  // back. A stop waits for at most so many batches.
  constexpr uword at_once = 64;
  const Parallel threads = parallel.for_work(double(n * d) * double((d + 1) * data.n_cols) / 2);
  for (uword begin = 0; begin < n_batches; begin += at_once)
    threads.for_chains(
        n_tiles, std::min(at_once, n_batches - begin),
        [&] { return detail::CoordinateTile<T>(U, Ut, tile); },
        [&](uword t, uword b, detail::CoordinateTile<T>& sums) { add_batch(t, begin + b, sums); });
}

/// Transforms C from the coordinates of `before` to the coordinates of U.
template <class T>
void rotate(Scatter& scatter, const arma::Mat<T>& before, const arma::Mat<T>& U) {
  const arma::mat rotation = arma::conv_to<arma::mat>::from(transposed_product(before, U));
  scatter.C = transposed_product(rotation, product(scatter.C, rotation));
}

/// Solves the normal equations of each row of U in residual form (the plain form loses digits on
/// ill-conditioned data), orthonormalizes U, and rotates C along. Returns the largest angle between
/// the old and the new subspace. Throws Stopped if it is stopped; U stays as it was.
template <class T>
double update_coordinates(arma::Mat<T>& U, const CoordinateSums<T>& rows, Scatter& scatter,
                          const Parallel& parallel) {
  const uword n = U.n_rows, d = U.n_cols;
  arma::Mat<T> moved = U;
  constexpr uword chunk = 256, at_once = 8;
  const auto& kernels = kernels::coordinate_sum_kernels<T>();
  struct Scratch {
    arma::Mat<T> x;
    Aligned<double> memory;
  };
  const auto solve = [&](uword task, Scratch& scratch) {
    const uword end = std::min(n, (task + 1) * chunk);
    for (uword i = task * chunk; i < end; i += at_once) {
      const uword here = std::min(at_once, end - i);
      kernels.solve(rows.sums.colptr(i), here, d, 1e-14, scratch.x.memptr(), scratch.memory.data());
      for (uword c = 0; c < d; ++c)
        for (uword k = 0; k < here; ++k) moved(i + k, c) += scratch.x(c, k);
    }
  };
  parallel.for_work(double(n * d) * double(d * d) / 6)
      .for_all((n + chunk - 1) / chunk,
               [&] {
                 return Scratch{arma::Mat<T>(d, at_once),
                                Aligned<double>(rows.sums.n_rows * at_once)};
               },
               solve);
  if (!orthonormalize(moved)) throw NumericalError("the polish lost the rank of the basis");
  U.swap(moved);
  rotate(scatter, moved, U);
  return double(largest_angle(moved, U));
}

}  // namespace gasg21
