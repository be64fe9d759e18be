// Summary of the samples that a fit keeps, so that it can describe the inliers without them.
#pragma once

#include <algorithm>
#include <utility>

#include "gasg21/fit/completer.hpp"
#include "gasg21/inliers/fitted.hpp"
#include "gasg21/inliers/weight_prior.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/parallel.hpp"

namespace gasg21 {

struct Evidence {
  Fitted fits;
  WeightPrior prior;  // empty = to be learnt from the fits
  EntryRange range;   // empty = unknown
};

namespace detail {

/// Whether the prior is worth a further look at the data: entries are missing, and either they are
/// so few that the fits alone mislead, or the look costs little. The data also tells the noise of
/// each coordinate.
inline bool needs_data_for_prior(const Fitted& fits) {
  const arma::vec counts = fits.count(arma::find(fits.count > 0));
  if (counts.empty() || arma::all(counts == double(fits.n))) return false;
  constexpr double many = 10, cheap = 1000;
  const double d = double(fits.d());
  return arma::mean(counts) < many * d || double(fits.n) * d < cheap;
}

}  // namespace detail

/// A quick look at few samples, for a fit that was interrupted.
template <class T, class Data>
Evidence collect_little_evidence(const arma::Mat<T>& U, const Data& data) {
  constexpr uword few = 100;
  return {fit_all(U, about(data, few), Parallel()), {}, entry_range<T>(data)};
}

/// With the fits of some of the samples to U. The range comes from as many samples.
template <class T, class Data>
Evidence collect_evidence(const arma::Mat<T>& U, const Data& data, Fitted fits) {
  const EntryRange range = entry_range<T>(data, std::max<uword>(fits.size(), 1));
  Evidence found{std::move(fits), {}, range};
  if (detail::needs_data_for_prior(found.fits)) found.prior = learn_prior(U, data);
  return found;
}

}  // namespace gasg21
