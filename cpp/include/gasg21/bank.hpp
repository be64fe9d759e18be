// Several subspaces side by side: one sample is fitted to all of them at once, one lane each, and
// goes to the nearest. Eq. (14), Alg. 3, steps 5 and 6.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "config.hpp"
#include "error.hpp"
#include "least_squares.hpp"
#include "observation.hpp"

namespace gasg21 {

/// Which subspace a sample is nearest to. `cluster` is the number of subspaces when none of them
/// can be told: too little of the sample is observed.
template <class T>
struct Nearest {
  uword cluster;
  T residual;  // |r| of the unit-norm sample, NaN when there is none
};

template <class T>
class SubspaceBank {
 public:
  explicit SubspaceBank(std::vector<arma::Mat<T>> bases) : bases_(std::move(bases)) {
    require(!bases_.empty(), "there must be at least one subspace");
    n_ = bases_[0].n_rows;
    for (const auto& U : bases_) {
      require(U.n_rows == n_, "the subspaces lie in spaces of ", n_, " and ", U.n_rows,
              " dimensions");
      require(U.n_cols >= 1 && U.n_cols < n_, "d = ", U.n_cols, " must be in [1, n - 1]");
      d_ = std::max(d_, U.n_cols);
    }
    panels_.zeros(lanes * d_ * n_ * ((bases_.size() + lanes - 1) / lanes));
    for (uword k = 0; k < bases_.size(); ++k) fill_lane(k);
  }

  uword size() const { return bases_.size(); }
  uword n() const { return n_; }
  const arma::Mat<T>& basis(uword k) const { return bases_[k]; }
  const std::vector<arma::Mat<T>>& bases() const { return bases_; }

  void set(uword k, const arma::Mat<T>& U) {
    bases_[k] = U;
    fill_lane(k);
  }

  /// What a thread needs to fit samples.
  class Scratch {
   public:
    explicit Scratch(const SubspaceBank& bank)
        : r2(bank.size()), x(bank.n_), sums_((bank.d_ * (bank.d_ + 1) / 2 + bank.d_) * lanes) {
      for (const auto& U : bank.bases_) fits_.emplace_back(bank.n_, U.n_cols);
    }
    std::vector<T> r2;  // squared residuals, set by `fit_all`
    Observation<T> x;

   private:
    friend class SubspaceBank;
    std::vector<T> sums_;
    std::vector<LeastSquares<T>> fits_;
  };

  /// The squared residual of scratch.x in each subspace, to about 1e-12 (double), NaN where it is
  /// not determined.
  void fit_all(Scratch& scratch) const {
    for (uword first = 0; first < size(); first += lanes) {
      const T* panel = panels_.memptr() + first * d_ * n_;
      switch (d_) {  // sums stay in registers when d is known
        case 1:
          sum_panel<1>(panel, scratch);
          break;
        case 2:
          sum_panel<2>(panel, scratch);
          break;
        case 3:
          sum_panel<3>(panel, scratch);
          break;
        case 4:
          sum_panel<4>(panel, scratch);
          break;
        case 5:
          sum_panel<5>(panel, scratch);
          break;
        default:
          sum_panel<0>(panel, scratch);
      }
      solve_panel(first, scratch);
    }
  }

  /// The nearest subspace to scratch.x; of equally near ones the first.
  Nearest<T> nearest(Scratch& scratch) const {
    fit_all(scratch);
    T smallest = std::numeric_limits<T>::infinity();
    for (const T r2 : scratch.r2)
      if (r2 < smallest) smallest = r2;
    // The squared residual of a sample in its subspace is rounding error: those that are as good
    // are told apart by least squares with refinement.
    Nearest<T> best{size(), std::numeric_limits<T>::quiet_NaN()};
    for (uword k = 0; k < size(); ++k) {
      if (!(scratch.r2[k] <= smallest + tie)) continue;
      const T residual = exact_residual(k, scratch);
      if (best.cluster == size() || residual < best.residual) best = {k, residual};
    }
    return best;
  }

  /// |r| of scratch.x in subspace k, to full precision; NaN when it is not determined.
  T exact_residual(uword k, Scratch& scratch) const {
    LeastSquares<T>& fit = scratch.fits_[k];
    if (fit.solve(bases_[k], scratch.x) != Solved::yes) return std::numeric_limits<T>::quiet_NaN();
    return std::min(fit.residual(), T(1));
  }

 private:
  static constexpr uword lanes = 8;
  // Normal equations are believed up to this ratio of pivots, which bounds the error of r^2.
  static constexpr T worst_pivot = T(1e-3);
  static constexpr T tie = 4096 * std::numeric_limits<T>::epsilon();

  /// Panels of `lanes` subspaces: entry (i, c) of subspace k is at [k / lanes][i][c][k % lanes].
  void fill_lane(uword k) {
    const arma::Mat<T>& U = bases_[k];
    T* lane = panels_.memptr() + (k / lanes) * lanes * d_ * n_ + k % lanes;
    for (uword c = 0; c < U.n_cols; ++c)
      for (uword i = 0; i < n_; ++i) lane[(i * d_ + c) * lanes] = U(i, c);
  }

  /// G = U_Omega'U_Omega, packed by rows of the lower triangle, and b = U_Omega'x, for all lanes.
  template <uword D>
  void sum_panel(const T* panel, Scratch& scratch) const {
    constexpr uword at_most = D == 0 ? 1 : D;
    const uword d = D == 0 ? d_ : D, packed = d * (d + 1) / 2;
    T fixed[(at_most * (at_most + 1) / 2 + at_most) * lanes] = {};
    T* G = D == 0 ? scratch.sums_.data() : fixed;
    if (D == 0) std::fill(scratch.sums_.begin(), scratch.sums_.end(), T(0));
    T* b = G + packed * lanes;
    const Observation<T>& x = scratch.x;
    const bool full = x.full();
    for (uword k = 0; k < x.count(); ++k) {
      const T* u = panel + x.rows()[k] * d * lanes;
      const T value = x.values()[k];
      for (uword c = 0; c < d; ++c)
        for (uword l = 0; l < lanes; ++l) b[c * lanes + l] += u[c * lanes + l] * value;
      if (full) continue;  // then G = I
      for (uword c = 0, p = 0; c < d; ++c)
        for (uword a = 0; a <= c; ++a, ++p)
          for (uword l = 0; l < lanes; ++l) G[p * lanes + l] += u[c * lanes + l] * u[a * lanes + l];
    }
    if (D != 0) std::copy(fixed, fixed + (packed + d) * lanes, scratch.sums_.begin());
  }

  /// r^2 = |x|^2 - b'G^-1 b by Cholesky, all lanes at once. A column that a subspace does not have
  /// is 0, and gets a pivot like its others.
  void solve_panel(uword first, Scratch& scratch) const {
    const uword d = d_, here = std::min(lanes, size() - first);
    const bool full = scratch.x.full();
    T* G = scratch.sums_.data();
    T* b = G + d * (d + 1) / 2 * lanes;
    const auto row = [&](uword c) { return G + c * (c + 1) / 2 * lanes; };
    std::array<T, lanes> r2, smallest, largest, pivot;
    r2.fill(T(1));
    smallest.fill(std::numeric_limits<T>::infinity());
    largest.fill(T(0));
    if (full)
      for (uword c = 0; c < d; ++c)
        for (uword l = 0; l < lanes; ++l) r2[l] -= b[c * lanes + l] * b[c * lanes + l];
    else {
      for (uword l = 0; l < lanes; ++l)
        for (uword c = l < here ? bases_[first + l].n_cols : 0; c < d; ++c)
          row(c)[c * lanes + l] = G[l];
      for (uword c = 0; c < d; ++c) {
        T* Lc = row(c);
        for (uword a = 0; a < c; ++a) {
          const T* La = row(a);
          for (uword e = 0; e < a; ++e)
            for (uword l = 0; l < lanes; ++l)
              Lc[a * lanes + l] -= Lc[e * lanes + l] * La[e * lanes + l];
          for (uword l = 0; l < lanes; ++l) Lc[a * lanes + l] /= La[a * lanes + l];
        }
        for (uword l = 0; l < lanes; ++l) pivot[l] = Lc[c * lanes + l];
        for (uword a = 0; a < c; ++a)
          for (uword l = 0; l < lanes; ++l) {
            pivot[l] -= Lc[a * lanes + l] * Lc[a * lanes + l];
            b[c * lanes + l] -= Lc[a * lanes + l] * b[a * lanes + l];
          }
        for (uword l = 0; l < lanes; ++l) {
          smallest[l] = std::min(smallest[l], pivot[l]);
          largest[l] = std::max(largest[l], pivot[l]);
          Lc[c * lanes + l] = pivot[l] > 0 ? std::sqrt(pivot[l]) : T(1);
          b[c * lanes + l] /= Lc[c * lanes + l];
          r2[l] -= b[c * lanes + l] * b[c * lanes + l];
        }
      }
    }
    for (uword l = 0; l < here; ++l) {
      const uword k = first + l;
      const bool believed = full || smallest[l] > worst_pivot * largest[l];
      scratch.r2[k] = std::max(r2[l], T(0));
      if (scratch.x.count() <= bases_[k].n_cols)
        scratch.r2[k] = std::numeric_limits<T>::quiet_NaN();
      else if (!believed) {
        const T residual = exact_residual(k, scratch);
        scratch.r2[k] = residual * residual;
      }
    }
  }

  std::vector<arma::Mat<T>> bases_;
  uword n_ = 0, d_ = 0;
  arma::Col<T> panels_;
};

}  // namespace gasg21
