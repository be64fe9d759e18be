// Fits of some samples to one basis. All that a fit knows about its inliers is learnt from them.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "gasg21/data/views.hpp"
#include "gasg21/polish/sample_fits.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/parallel.hpp"

namespace gasg21 {

/// Fits of some samples to one basis: what is known of them without the data.
struct Fitted {
  uword n;                    // coordinates
  arma::mat W;                // d x m, weights of the unit-norm samples
  arma::vec r2, count, norm;  // squared residual of the unit-norm sample, observed entries (0 = not
                              // usable), |x_Omega| in the data's units

  uword size() const { return count.n_elem; }
  uword d() const { return W.n_rows; }
};

/// Whether sample j tells something: it has a residual.
inline bool tells(const Fitted& fitted, uword j) {
  return fitted.count[j] > double(fitted.W.n_rows) && fitted.norm[j] > 0;
}

/// No fits.
template <class T>
Fitted no_fits(const arma::Mat<T>& U) {
  return {U.n_rows, arma::mat(U.n_cols, 0), {}, {}, {}};
}

/// The fits of samples of n coordinates.
template <class T>
Fitted to_fitted(const SampleFits<T>& fits, uword n) {
  Fitted fitted{n, arma::conv_to<arma::mat>::from(fits.W), fits.r2, fits.count,
                arma::vec(fits.count.n_elem)};
  for (uword j = 0; j < fitted.size(); ++j)
    fitted.norm[j] = fits.is_used(j) ? 1 / double(fits.down[j]) / double(fits.up[j]) : 0;
  return fitted;
}

/// Fits all samples to U.
template <class T, class Data>
Fitted fit_all(const arma::Mat<T>& U, const Data& data, const Parallel& parallel) {
  SampleFits<T> fits(U.n_cols, data.n_cols);
  fit_samples(U, data, fits, parallel);
  return to_fitted(fits, U.n_rows);
}

/// Samples that suffice to describe the inliers.
inline constexpr uword enough_described = 2000;

/// Fits about so many samples to U.
template <class T, class Data>
Fitted fit_some(const arma::Mat<T>& U, const Data& data, const Parallel& parallel,
                uword count = enough_described) {
  return fit_all(U, about(data, count), parallel);
}

/// The fits of the last samples of a stream, each from before its update.
class RecentFits {
 public:
  static constexpr uword most = 512;

  explicit RecentFits(uword d) : d_(d) {}

  /// Records the fit of one sample; forgets the oldest if there are enough.
  template <class T>
  void add(const T* w, double residual, double count, double norm) {
    if (fits_.size() < most * stride()) fits_.resize(fits_.size() + stride());
    double* at = &fits_[next_ * stride()];
    at = std::copy(w, w + d_, at);
    at[0] = residual * residual;
    at[1] = count;
    at[2] = norm;
    next_ = (next_ + 1) % most;
  }

  /// Starts anew with some of these fits, evenly spaced.
  void assign(const Fitted& fitted) {
    fits_.clear();
    next_ = 0;
    const uword step = std::max<uword>(1, (fitted.size() + most - 1) / most);
    for (uword j = 0; j < fitted.size(); j += step)
      if (fitted.count[j] > 0)
        add(fitted.W.colptr(j), std::sqrt(fitted.r2[j]), fitted.count[j], fitted.norm[j]);
  }

  /// All of them, for a basis of n rows.
  Fitted fitted(uword n) const {
    const uword m = fits_.size() / stride();
    Fitted all{n, arma::mat(d_, m), arma::vec(m), arma::vec(m), arma::vec(m)};
    for (uword j = 0; j < m; ++j) {
      const double* at = &fits_[j * stride()];
      std::copy(at, at + d_, all.W.colptr(j));
      all.r2[j] = at[d_];
      all.count[j] = at[d_ + 1];
      all.norm[j] = at[d_ + 2];
    }
    return all;
  }

  uword d() const { return d_; }

  /// For saving and resuming.
  const std::vector<double>& values() const { return fits_; }
  uword next() const { return next_; }
  static RecentFits resumed(uword d, std::vector<double> values, uword next) {
    RecentFits recent(d);
    require(values.size() % recent.stride() == 0 && values.size() <= most * recent.stride() &&
                next < most && next * recent.stride() <= values.size(),
            "the recent fits do not belong to a basis of ", d, " columns");
    recent.fits_ = std::move(values);
    recent.next_ = next;
    return recent;
  }

 private:
  uword stride() const { return d_ + 3; }

  uword d_;
  std::vector<double> fits_;  // per sample: w, r^2, count, norm
  uword next_ = 0;            // where the next one goes
};

}  // namespace gasg21
