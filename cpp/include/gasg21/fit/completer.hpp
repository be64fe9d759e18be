// Missing entries of a sample, from a subspace and what is known about the weights in it: the
// posterior mean. It exists for any number of observed entries, and errors of weights that few
// entries determine do not blow up.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "gasg21/data/observation.hpp"
#include "gasg21/fit/fixed_fit.hpp"
#include "gasg21/geometry/positive_definite.hpp"
#include "gasg21/geometry/products.hpp"
#include "gasg21/kernels/plain.hpp"
#include "gasg21/kernels/small_solve.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"

namespace gasg21 {

/// Law of a sample whose observed entries have the mean square 1: weights of scatter C,
/// noise of variance s noise_i on entry i. Only the ratio of C and s matters.
struct WeightPrior {
  arma::mat C;  // empty = unknown
  double s = 0;
  arma::vec noise;  // empty = 1 everywhere
};

/// Between two values.
struct Limits {
  double low, high;
};

/// Which entries a fit has seen.
struct EntryRange {
  arma::vec low, high;  // of each coordinate; low > high if it was never observed. Empty = unknown
  double largest = 0;   // largest r.m.s. entry of a sample: a larger sample scales the range

  bool is_known() const { return !low.empty(); }
  bool seen(uword i) const { return !is_known() || low[i] <= high[i]; }
  /// A filled entry goes at most a quarter of the range beyond it.  Pre: is_known().
  Limits limits(uword i) const {
    const double beyond = 0.25 * (high[i] - low[i]);
    return {low[i] - beyond, high[i] + beyond};
  }
};

/// Whether the noise is rounding error: least squares is then exact, and free of any scale.
template <class T>
bool is_noise_free(const WeightPrior& prior) {
  return prior.s < (sizeof(T) == 8 ? 1e-20 : 1e-10);
}

/// The limits of the filled entries of the first `count` coordinates: NaN for those that were never
/// observed, infinite without noise or a known range.
template <class T>
std::vector<Limits> entry_limits(const WeightPrior& prior, const EntryRange& range, uword count) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<Limits> limits(count, {-inf, inf});
  for (uword i = 0; i < count && range.is_known(); ++i) {
    if (!range.seen(i))
      limits[i] = {nan, nan};
    else if (!is_noise_free<T>(prior))
      limits[i] = range.limits(i);
  }
  return limits;
}

/// Fills in missing entries in a fixed orthonormal basis, which must outlive it.
template <class T>
class Completer {
 public:
  Completer(const arma::Mat<T>& U, const WeightPrior& prior, EntryRange range = {})
      : U_(U),
        x_(U.n_rows),
        least_squares_(U),
        B_(U.n_cols, U.n_rows),
        s_(prior.s),
        noise_free_(is_noise_free<T>(prior)),
        precision_(U.n_rows, arma::fill::ones),
        range_(std::move(range)),
        M_(U.n_cols, U.n_cols),
        v_(U.n_cols),
        q_(U.n_cols) {
    const uword n = U.n_rows, d = U.n_cols;
    require(prior.C.n_rows == d && prior.C.n_cols == d, "the scatter is not ", d, " x ", d);
    require(prior.noise.empty() || prior.noise.n_elem == n, "the noise has ", prior.noise.n_elem,
            " entries, not ", n);
    require(
        range_.low.n_elem == range_.high.n_elem && (range_.low.empty() || range_.low.n_elem == n),
        "the range has ", range_.low.n_elem, " and ", range_.high.n_elem, " entries, not ", n);
    if (!prior.noise.empty()) precision_ = 1 / prior.noise;
    const arma::mat R = positive_root(prior.C);
    B_ = product(arma::mat(R.t()), arma::conv_to<arma::mat>::from(arma::Mat<T>(U.t())));
  }

  /// Reads a sample. Returns false if nothing can be said: no entry observed, or one infinite.
  template <class Sample>
  bool read(const Sample& sample) {
    usable_ = x_.read(sample);
    return usable_ == Usable::yes || usable_ == Usable::zero;
  }

  /// Writes the missing ones of the first `count` entries of the sample last read, plus `centre` if
  /// there is one, to `out`. NaN where nothing can be said, and for coordinates that the fit has
  /// never observed.
  void fill_missing(T* out, uword count, const T* centre = nullptr) {
    if (usable_ == Usable::yes && x_.full()) return;
    const bool shrunk = usable_ == Usable::yes && !solve_exactly();
    if (shrunk) solve();
    const double largest = shrunk ? size_of_sample() / range_.largest : 1;
    uword next = 0;  // the rows are sorted
    for (uword i = 0; i < count; ++i) {
      if (next < x_.count() && x_.rows()[next] == i) {
        ++next;
        continue;
      }
      out[i] = range_.seen(i) ? value(i, shrunk, largest) : std::numeric_limits<T>::quiet_NaN();
      if (centre) out[i] += centre[i];
    }
  }

  /// Sum of squared errors when each of the first `count` entries is predicted from all other
  /// observed entries, over the sum of squared distances from `reference` (n entries). NaN for a
  /// sample that says nothing.
  double held_out_error(uword count, const double* reference) {
    if (usable_ != Usable::yes) return std::numeric_limits<double>::quiet_NaN();
    solve();
    const uword d = v_.n_elem;
    const double unit = 1 / double(x_.scale());
    double wrong = 0, size = 0;
    for (uword k = 0; k < x_.count() && x_.rows()[k] < count; ++k) {
      const uword i = x_.rows()[k];
      const double z = double(x_.values()[k]);
      std::copy(B_.colptr(i), B_.colptr(i) + d, q_.memptr());
      // Leaving entry i out divides its residual by 1 - h.
      const double left = 1 - precision_[i] * kernels::ldl_forward(M_.memptr(), d, q_.memptr());
      const double miss = left > 1e-9 ? (z - entry(i)) / left : z;
      const double truth = z - reference[i] * unit;
      wrong += miss * miss;
      size += truth * truth;
    }
    return size > 0 ? wrong / size : std::numeric_limits<double>::quiet_NaN();
  }

 private:
  bool solve_exactly() { return noise_free_ && least_squares_.solve(U_, x_) == Solved::yes; }

  /// v, the weights in units of their scatter: M v = B_O N^-1 z with M = B_O N^-1 B_O' + s I, and
  /// one step of refinement.
  void solve() {
    const uword d = v_.n_elem;
    M_.zeros();
    const uword* const rows = x_.rows();
    for (uword k = 0; k < x_.count(); ++k) {
      const uword i = rows[k];
      const double* b = B_.colptr(i);
      for (uword c = 0; c < d; ++c) {
        const double scaled = precision_[i] * b[c];
        double* column = M_.colptr(c);
        for (uword a = c; a < d; ++a) column[a] += scaled * b[a];
      }
    }
    // The least ridge keeps M regular where fewer than d entries are observed without noise.
    double ridge = std::max(s_, 1e-14 * arma::trace(M_) / double(d));
    if (!(ridge > 0)) ridge = 1;  // the subspace has nothing in these coordinates
    v_.zeros();
    for (arma::mat G = M_;; ridge *= 100) {
      M_ = G;
      M_.diag() += ridge;
      if (kernels::ldl(M_.memptr(), d) > 0) break;
      if (!(ridge < 1e300)) return;  // not finite: nothing to learn from
    }
    correct(ridge);
    correct(ridge);
  }

  /// v += M^-1 (B_O N^-1 (z - B_O' v) - ridge v).
  void correct(double ridge) {
    const uword d = v_.n_elem;
    q_ = -ridge * v_;
    const uword* const rows = x_.rows();
    const T* const values = x_.values();
    double* const q = q_.memptr();
    for (uword k = 0; k < x_.count(); ++k) {
      const uword i = rows[k];
      const double r = precision_[i] * (double(values[k]) - entry(i));
      const double* b = B_.colptr(i);
      for (uword c = 0; c < d; ++c) q[c] += r * b[c];
    }
    kernels::ldl_solve(M_.memptr(), d, q_.memptr());
    v_ += q_;
  }

  /// b_i'v.
  double entry(uword i) const { return kernels::short_dot(B_.colptr(i), v_.memptr(), v_.n_elem); }

  double size_of_sample() const { return double(x_.scaled(T(1 / std::sqrt(double(x_.count()))))); }

  /// The value of entry i in the units of the sample.
  T value(uword i, bool shrunk, double largest) const {
    if (usable_ == Usable::zero) return T(0);
    if (usable_ != Usable::yes) return std::numeric_limits<T>::quiet_NaN();
    if (!shrunk) {
      T sum = 0;
      for (uword c = 0; c < U_.n_cols; ++c) sum += U_(i, c) * least_squares_.w()[c];
      return x_.scaled(sum);
    }
    const T free = x_.scaled(T(entry(i)));
    if (!range_.is_known()) return free;
    const auto [low, high] = range_.limits(i);
    const double scale = largest > 1 + 1e-9 ? largest : 1;  // not by rounding
    return T(std::clamp(double(free), std::min(low, low * scale), std::max(high, high * scale)));
  }

  const arma::Mat<T>& U_;
  Observation<T> x_;
  FixedFit<T> least_squares_;
  arma::mat B_;  // d x n: column i is R'u_i with R R' = C
  double s_;
  bool noise_free_;
  arma::vec precision_;
  EntryRange range_;
  arma::mat M_;
  arma::vec v_, q_;
  Usable usable_ = Usable::all_missing;
};

}  // namespace gasg21
