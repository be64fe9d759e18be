// A loop over samples that are fitted to a basis, for Python: without the GIL, on as many threads
// as pay.
#pragma once

#include <gasg21/fit/projector.hpp>

#include "any_rule.hpp"
#include "each_sample.hpp"

namespace gasg21::bindings {

/// Fits each sample to the basis U and calls visit(j, projector). The result of a sample depends
/// on nothing but the sample, so the threads change no bit.
template <class T, class Visit>
void each_fitted(const arma::Mat<T>& U, const AnyView<T>& view, const LossName& loss,
                 unsigned n_threads, Visit&& visit) {
  const AnyLoss any(loss);
  each_sample<T>(
      view, n_threads, double(U.n_cols) * any.passes(),
      [&] { return Projector<T, AnyFixedFit<T>>(U, any.make_fixed_fit<T>(U)); },
      [&](uword j, const AnySample<T>& sample, auto& projector) {
        projector.read(sample);
        visit(j, projector);
      });
}

}  // namespace gasg21::bindings
