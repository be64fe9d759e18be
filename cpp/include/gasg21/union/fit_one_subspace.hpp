// A robust fit of one subspace or flat to dense samples: `recover` with its defaults, without its
// doubts.
#pragma once

#include <cstdint>
#include <utility>

#include "gasg21/data/observation.hpp"
#include "gasg21/data/views.hpp"
#include "gasg21/geometry/affine.hpp"
#include "gasg21/geometry/products.hpp"
#include "gasg21/inliers/null_bounds.hpp"
#include "gasg21/recovery/recoverer.hpp"
#include "gasg21/recovery/start.hpp"
#include "gasg21/seeding/choose_lift.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/tracker.hpp"
#include "gasg21/union/one_subspace.hpp"

namespace gasg21 {

/// How to fit one subspace.
struct OneSubspaceOptions {
  Start start = Start::random;
  double tol = 1e-6;
  uword max_passes = 20;
  std::uint64_t seed = 0;
};

namespace detail {

/// Lets the caller's `Parallel` stop a fit.
struct StopsWith : Unobserved {
  explicit StopsWith(const Parallel& parallel_) : parallel(parallel_) {}
  const Parallel& parallel;

  bool poll() { return parallel.is_stopped(); }
};

inline RecoverOptions recover_options(const OneSubspaceOptions& options, const Parallel& parallel) {
  RecoverOptions all;
  all.max_passes = options.max_passes;
  all.tol = options.tol;
  all.doubt = false;
  all.start = options.start;
  all.seed = options.seed;
  all.n_threads = parallel.n_threads();
  return all;
}

/// Runs a fit of d dimensions, those that a lift adds among them.
inline Recoverer<Tracker<double>> fitted_alone(const DenseView<double>& data, uword d,
                                               const OneSubspaceOptions& options,
                                               const Parallel& parallel) {
  StopsWith observer(parallel);
  const AdaptiveStep rule(AdaptiveStepOptions::defaults(true, false));
  auto tracker = start_tracker<Tracker<double>>(data, d, rule, L21Loss{}, CovarianceScaling{},
                                                options.start, options.seed, observer);
  if (data.lift) tracker.set_lift(*data.lift);
  Recoverer<Tracker<double>> fit(std::move(tracker), d, recover_options(options, parallel));
  fit.run(data, observer);
  if (fit.state().status == Status::interrupted) throw Stopped{};
  return fit;
}

/// The mean number of observed entries of the samples that have more than d.
inline double mean_observed(const arma::mat& X, uword d) {
  double entries = 0, samples = 0;
  for (uword j = 0; j < X.n_cols; ++j) {
    const uword count = count_observed<double>(DenseSample<double>{X.colptr(j)}, X.n_rows);
    if (count <= d) continue;
    entries += double(count);
    ++samples;
  }
  return samples > 0 ? entries / samples : double(X.n_rows);
}

}  // namespace detail

/// Fits the columns of X; NaN = missing. Throws Stopped when it is stopped.
inline OneSubspace fit_one_subspace(const arma::mat& X, uword d, const OneSubspaceOptions& options,
                                    const Parallel& parallel = Parallel()) {
  auto fit = detail::fitted_alone(DenseView<double>(X), d, options, parallel);
  return {fit.state().basis, fit.state().estimated_angle(),
          near_bound(detail::mean_observed(X, d), d)};
}

/// Fits a flat of d dimensions to the columns of X.
inline OneFlat fit_one_flat(const arma::mat& X, uword d, const OneSubspaceOptions& options,
                            const Parallel& parallel = Parallel()) {
  const DenseView<double> data(X);
  const Lift<double> lift = choose_lift<double>(data);
  auto fit = detail::fitted_alone(lifted(data, lift), d + 1, options, parallel);
  const Flat<double> flat = flat_of(fit.state().basis, lift.constant);
  const arma::mat directions = product(fit.state().basis, flat.directions);
  return {directions.head_rows(X.n_rows), lift.centre + flat.nearest,
          fit.state().estimated_angle()};
}

}  // namespace gasg21
