// Samples in a fixed subspace: weights, residuals, and estimates of the missing entries.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>

#include "gasg21/data/observation.hpp"
#include "gasg21/fit/fixed_fit.hpp"
#include "gasg21/kernels/plain.hpp"
#include "gasg21/support/config.hpp"

namespace gasg21 {

/// Fits one sample after another to a fixed orthonormal basis, which must outlive it; by least
/// squares, or by another fit, such as L1Admm.
template <class T, class Fit = FixedFit<T>>
class Projector {
 public:
  explicit Projector(const arma::Mat<T>& U) : Projector(U, Fit(U)) {}
  Projector(const arma::Mat<T>& U, Fit fit) : U_(U), x_(U.n_rows), fit_(std::move(fit)) {}

  /// Reads a sample. Returns false if its weights are not determined: fewer than d + 1 entries
  /// observed, U_Omega singular, or an entry infinite. A zero vector has the weights 0.
  template <class Sample>
  bool read(const Sample& sample) {
    usable_ = x_.read(sample);
    determined_ = usable_ == Usable::yes && fit_.solve(U_, x_) == Solved::yes;
    return determined_ || usable_ == Usable::zero;
  }

  /// The sample last read, and its fit if it is determined.
  const Observation<T>& sample() const { return x_; }
  const Fit& fit() const { return fit_; }

  /// Whether the sample last read has weights of its own: not for a zero vector.
  bool determined() const { return determined_; }

  /// |r| / |x_Omega| of least squares in [0, 1] for the sample last read; 0 for a zero vector, NaN
  /// if undetermined.
  T residual() const { return determined_ ? std::min(fit_.residual(), T(1)) : otherwise(); }

  /// The d weights of the sample last read, in its own units.
  void weights(T* w) const {
    for (uword c = 0; c < U_.n_cols; ++c) w[c] = determined_ ? x_.scaled(fit_.w()[c]) : otherwise();
  }

  /// Writes the missing ones of the first `count` entries of the sample last read, plus `centre` if
  /// there is one, to `out`. The other entries keep their values.
  void fill_missing(T* out, uword count, const T* centre = nullptr) const {
    uword next = 0;  // the rows are sorted
    for (uword i = 0; i < count; ++i) {
      if (next < x_.count() && x_.rows()[next] == i) {
        ++next;
        continue;
      }
      out[i] = determined_ ? x_.scaled(entry(i)) : otherwise();
      if (centre) out[i] += centre[i];
    }
  }
  void fill_missing(T* out) const { fill_missing(out, U_.n_rows); }

 private:
  T otherwise() const {
    return usable_ == Usable::zero ? T(0) : std::numeric_limits<T>::quiet_NaN();
  }

  /// U_i w.
  T entry(uword i) const {
    T sum = 0;
    for (uword c = 0; c < U_.n_cols; ++c) sum += U_(i, c) * fit_.w()[c];
    return sum;
  }

  const arma::Mat<T>& U_;
  Observation<T> x_;
  Fit fit_;
  Usable usable_ = Usable::all_missing;
  bool determined_ = false;
};

}  // namespace gasg21
