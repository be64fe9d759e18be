// The polish: a batch stage after the stream. Row-wise least squares with the weights of the
// subspace-constrained Tyler estimator (Lerman, Yu and Zhang), here with missing data. It solves
// what the stream cannot (very many outliers, very ill-conditioned or sparse data), reaches the
// accuracy of least squares on the true inliers under noise, and estimates its own error. It is
// another estimator than the paper's L21 sum.
//
// Everything in it is a sum over samples, so data may come in blocks, from a disk or from many
// machines:   block -> fits,   fits -> scatter sums -> weights,   block -> row sums -> new basis.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "config.hpp"
#include "error.hpp"
#include "grassmann.hpp"
#include "kernels.hpp"
#include "least_squares.hpp"
#include "observation.hpp"
#include "parallel.hpp"

namespace gasg21 {

/// What is kept of each sample between the two looks at the data of one pass: O(d) numbers.
template <class T>
struct SampleFits {
  arma::Mat<T> W;         // d x m, weights of the unit-norm samples
  arma::vec r2;           // squared residuals of the unit-norm samples
  arma::vec count;        // observed entries; 0 = the sample cannot be used
  arma::Col<T> up, down;  // (x * up) * down is the unit-norm sample
  arma::vec omega;        // what the sample counts, set by `Scatter::weigh`

  SampleFits(uword d, uword m)
      : W(d, m, arma::fill::zeros),
        r2(m, arma::fill::zeros),
        count(m, arma::fill::zeros),
        up(m, arma::fill::zeros),
        down(m, arma::fill::zeros),
        omega(m, arma::fill::zeros) {}
};

/// Fits the samples of a block, which are the samples first, first + 1, ... of the whole, to U.
/// False when it was stopped.
template <class T, class Data>
bool fit_block(const arma::Mat<T>& U, const Data& data, uword first, SampleFits<T>& fits,
               const Parallel& parallel) {
  const uword n = U.n_rows, d = U.n_cols;
  const uword chunk = std::clamp<uword>(1'000'000 / (n * d), 1, 64);
  struct Scratch {
    Observation<T> x;
    LeastSquares<T> fit;
  };
  const auto one = [&](uword j, Scratch& scratch) {
    auto& [x, fit] = scratch;
    const uword at = first + j;
    fits.count[at] = 0;
    require(is_sorted(data.sample(j)), "the rows of sample ", at,
            " must rise: the polish reads them in parts");
    if (x.read(data.sample(j)) != Usable::yes || fit.solve(U, x) != Solved::yes) return;
    fits.W.col(at) = fit.w();
    fits.r2[at] = double(fit.residual()) * double(fit.residual());
    fits.count[at] = double(x.count());
    std::tie(fits.up[at], fits.down[at]) = x.factors();
  };
  return parallel.for_each((data.n_cols + chunk - 1) / chunk,
                           [&] { return Scratch{Observation<T>(n), LeastSquares<T>(n, d)}; },
                           [&](uword task, Scratch& scratch) {
                             for (uword j = task * chunk;
                                  j < std::min(data.n_cols, (task + 1) * chunk); ++j)
                               one(j, scratch);
                           });
}

/// Sums over samples from which the scatter of the inliers follows. Add those of several blocks.
struct ScatterSums {
  arma::mat C;        // of omega w w'
  double s = 0;       // of omega r^2 / (N - d)
  double weight = 0;  // of omega

  template <class T>
  explicit ScatterSums(const SampleFits<T>& fits)
      : C(fits.W.n_rows, fits.W.n_rows, arma::fill::zeros) {
    const uword d = C.n_rows;
    for (uword j = 0; j < fits.count.n_elem; ++j) {
      if (fits.count[j] == 0) continue;
      const double omega = fits.omega[j];
      const T* w = fits.W.colptr(j);
      for (uword c = 0; c < d; ++c)
        for (uword b = 0; b <= c; ++b) C(b, c) += (omega * double(w[b])) * double(w[c]);
      s += omega * fits.r2[j] / (fits.count[j] - double(d));
      weight += omega;
    }
    C = arma::symmatu(C);
  }
};

/// The scatter of the inliers: C of their weights, s of their squared residuals per degree of
/// freedom. From it comes what each sample counts.
struct Scatter {
  arma::mat C;  // empty = nothing is known yet: all samples count alike
  double s = 0;

  Scatter() = default;
  Scatter(arma::mat C_, double s_) : C(std::move(C_)), s(s_) {}
  explicit Scatter(const ScatterSums& sums) {
    require(sums.weight > 0, "no sample can be used");
    C = sums.C / sums.weight;
    s = std::max(sums.s / sums.weight, 1e-34);  // noise-free data: rounding level
  }

  /// Tyler's fixed point, `times` iterations; no look at the data. Sets fits.omega.
  template <class T>
  void weigh(SampleFits<T>& fits, int times) {
    set_weights(fits);
    for (int i = 0; i < times; ++i) {
      *this = Scatter(ScatterSums(fits));
      set_weights(fits);
    }
  }

  /// omega_j = 1 / (w' C^-1 w + r^2 / s).
  template <class T>
  void set_weights(SampleFits<T>& fits) const {
    const uword d = fits.W.n_rows;
    arma::mat L;
    if (!C.empty()) L = factor();
    arma::vec w(d);
    for (uword j = 0; j < fits.count.n_elem; ++j) {
      fits.omega[j] = fits.count[j] == 0 ? 0 : 1;
      if (fits.count[j] == 0 || C.empty()) continue;
      for (uword c = 0; c < d; ++c) w[c] = double(fits.W(c, j));
      kernels::forward_solve(L.memptr(), d, w.memptr());
      fits.omega[j] = 1 / (arma::dot(w, w) + fits.r2[j] / s);
    }
  }

 private:
  /// The Cholesky factor of C, with as little on its diagonal as it takes.
  arma::mat factor() const {
    const double unit = arma::trace(C) / double(C.n_rows);
    for (double ridge = 1e-14; ridge < 1; ridge *= 100) {
      arma::mat L = C;
      L.diag() += ridge * unit;
      if (kernels::cholesky(L.memptr(), L.n_rows) > 0) return L;
    }
    throw NumericalError("the scatter of the weights is not positive");
  }
};

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

/// Adds the samples of a block to the row sums, in tiles of coordinates that stay in the cache.
/// False when it was stopped.
template <class T, class Data>
bool add_block(const arma::Mat<T>& U, const Data& data, uword first, const SampleFits<T>& fits,
               RowSums<T>& rows, const Parallel& parallel) {
  const uword n = U.n_rows, d = U.n_cols, packed = d * (d + 1) / 2;
  const uword tile = std::clamp<uword>(32'768 / (sizeof(T) * (packed + d)), 8, 256);
  const uword block = std::max<uword>(2'000'000 / (tile * packed), 1);
  const arma::Mat<T> Ut = U.t();
  const uword n_tiles = (n + tile - 1) / tile, n_blocks = (data.n_cols + block - 1) / block;
  struct Scratch {
    arma::Col<T> y, z;  // omega w w', packed, and omega w
  };
  const auto add = [&](uword j, uword from, uword to, Scratch& scratch) {
    const uword at = first + j;
    if (fits.omega[at] == 0) return;
    const T* w = fits.W.colptr(at);
    T *y = scratch.y.memptr(), *z = scratch.z.memptr();
    for (uword c = 0, p = 0; c < d; ++c) {
      z[c] = T(fits.omega[at]) * w[c];
      for (uword b = c; b < d; ++b) y[p++] = z[c] * w[b];
    }
    const T up = fits.up[at], down = fits.down[at];
    each_observed(data.sample(j), from, to, [&](uword i, T value) {
      const T r = (value * up) * down - kernels::short_dot(Ut.colptr(i), w, d);
      T* sums = rows.sums.colptr(i);
      for (uword p = 0; p < packed; ++p) sums[p] += y[p];
      for (uword c = 0; c < d; ++c) sums[packed + c] += r * z[c];
    });
  };
  // Blocks of samples one after the other, so that a memory map is read once, from front to back.
  for (uword b = 0; b < n_blocks; ++b) {
    const bool finished = parallel.for_each(
        n_tiles, [&] { return Scratch{arma::Col<T>(packed), arma::Col<T>(d)}; },
        [&](uword t, Scratch& scratch) {
          for (uword j = b * block; j < std::min(data.n_cols, (b + 1) * block); ++j)
            add(j, t * tile, std::min(n, (t + 1) * tile), scratch);
        });
    if (!finished) return false;
  }
  return true;
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
  const arma::mat rotation = arma::conv_to<arma::mat>::from(before.t() * U);
  scatter.C = rotation.t() * scatter.C * rotation;
  return double(largest_angle(before, U));
}

/// What the inliers say about each direction of the subspace, in units of their own noise.
template <class T>
arma::mat information(const SampleFits<T>& fits, uword n) {
  const uword d = fits.W.n_rows;
  arma::mat sums(d, d, arma::fill::zeros);
  for (uword j = 0; j < fits.count.n_elem; ++j) {
    if (fits.count[j] == 0) continue;
    const double noise = std::max(fits.r2[j], 1e-34) / (fits.count[j] - double(d));
    const double weight = fits.count[j] / double(n) / noise;
    const arma::vec w = arma::conv_to<arma::vec>::from(fits.W.col(j));
    sums += weight * (w * w.t());
    // Of that, noise in the weights makes up the identity on average; all of it for an outlier.
    sums.diag() -= 1;
  }
  return sums;
}

/// Standard error of the largest angle to the true subspace, from the fits alone: that of the
/// direction which the inliers say least about.
inline double standard_error(const arma::mat& information, uword n) {
  const double smallest = smallest_eigenvalue(information), lost = arma::datum::pi / 2;
  return smallest > 0 ? std::min(std::sqrt(double(n) / smallest), lost) : lost;
}
template <class T>
double standard_error(const SampleFits<T>& fits, uword n) {
  return standard_error(information(fits, n), n);
}

/// What one block contributes to a round of the polish that many machines share: for a subspace and
/// a scatter that all of them know. Sums of blocks add up; `next` makes the new subspace of them.
template <class T>
struct BlockSums {
  ScatterSums scatter;
  RowSums<T> rows;
  arma::mat information;

  BlockSums& operator+=(const BlockSums& other) {
    scatter.C += other.scatter.C;
    scatter.s += other.scatter.s;
    scatter.weight += other.scatter.weight;
    rows += other.rows;
    information += other.information;
    return *this;
  }
};

/// block -> sums.
template <class T, class Data>
BlockSums<T> block_sums(const arma::Mat<T>& U, const Scatter& scatter, const Data& block,
                        const Parallel& parallel = Parallel()) {
  SampleFits<T> fits(U.n_cols, block.n_cols);
  fit_block(U, block, 0, fits, parallel);
  scatter.set_weights(fits);
  BlockSums<T> sums{ScatterSums(fits), RowSums<T>(U.n_rows, U.n_cols), information(fits, U.n_rows)};
  add_block(U, block, 0, fits, sums.rows, parallel);
  return sums;
}

struct PolishOptions {
  uword max_passes = 40;
  double tol = 1e-6;   // stop when a pass changes the subspace by no more than this, or
  double share = 0.1;  // by no more than this share of the estimated error
  unsigned n_threads = 1;
};

struct PolishResult {
  uword passes = 0;
  double change = 0;           // of the last pass, radians
  double estimated_angle = 0;  // standard error of the largest angle to the truth
  bool converged = false;
};

/// One subspace and what the polish knows about the samples: one pass = `fit` every block, `weigh`,
/// `add` every block, `update`.
template <class T>
class Polisher {
 public:
  Polisher(arma::Mat<T> U, uword n_samples)
      : U_(std::move(U)), fits_(U_.n_cols, n_samples), rows_(U_.n_rows, U_.n_cols) {
    require(double(orthonormality_error(U_)) < 1e-3, "the basis is not orthonormal");
  }

  template <class Data>
  bool fit(const Data& block, uword first, const Parallel& parallel) {
    check(block, first);
    return fit_block(U_, block, first, fits_, parallel);
  }

  void weigh() {
    information_ = gasg21::information(fits_, U_.n_rows);
    // Thirty iterations at first, from equal weights, so that a converged fit is not thrown away.
    scatter_.weigh(fits_, passes_ == 0 ? 31 : 3);
    rows_.sums.zeros();
  }

  template <class Data>
  bool add(const Data& block, uword first, const Parallel& parallel) {
    check(block, first);
    return add_block(U_, block, first, fits_, rows_, parallel);
  }

  /// Returns the angle by which the subspace moved.
  double update(const Parallel& parallel) {
    ++passes_;
    return update_rows(U_, rows_, scatter_, parallel);
  }

  const arma::Mat<T>& basis() const { return U_; }
  const SampleFits<T>& fits() const { return fits_; }
  const Scatter& scatter() const { return scatter_; }
  const arma::mat& information() const { return information_; }
  double estimated_angle() const { return standard_error(information_, U_.n_rows); }

 private:
  template <class Data>
  void check(const Data& block, uword first) const {
    require(block.n_rows == U_.n_rows && first + block.n_cols <= fits_.count.n_elem,
            "the block does not fit the polish");
  }

  arma::Mat<T> U_;
  SampleFits<T> fits_;
  RowSums<T> rows_;
  Scatter scatter_;
  arma::mat information_;  // before the last update
  uword passes_ = 0;
};

/// Polishes U on data that is at hand as a whole.
template <class T, class Data>
PolishResult polish(arma::Mat<T>& U, const Data& data, const PolishOptions& options = {}) {
  Polisher<T> polisher(U, data.n_cols);
  const Parallel parallel(options.n_threads);
  const double tol = std::max(options.tol, 10.0 * std::numeric_limits<T>::epsilon());
  PolishResult result;
  while (result.passes < options.max_passes && !result.converged) {
    polisher.fit(data, 0, parallel);
    polisher.weigh();
    polisher.add(data, 0, parallel);
    result.change = polisher.update(parallel);
    result.estimated_angle = polisher.estimated_angle();
    result.converged = result.change <= std::max(tol, options.share * result.estimated_angle);
    ++result.passes;
  }
  U = polisher.basis();
  return result;
}

}  // namespace gasg21
