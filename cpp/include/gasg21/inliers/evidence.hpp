// What a fit leaves behind of its samples, so that the inliers can be described without them.
#pragma once

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

/// Looks at some of the samples, and at the range of all. Fits of complete samples determine the
/// prior by themselves. Throws Stopped if it is stopped.
template <class T, class Data>
Evidence collect_evidence(const arma::Mat<T>& U, const Data& data, const Parallel& parallel) {
  Evidence found{fit_some(U, data, parallel), {}, entry_range<T>(data)};
  if (arma::any(found.fits.count < double(U.n_rows))) found.prior = learn_prior(U, data);
  return found;
}

}  // namespace gasg21
