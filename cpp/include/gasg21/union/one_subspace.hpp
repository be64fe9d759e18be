// A robust fit of one subspace or flat to dense samples, for algorithms that need one on the way:
// `recover` with its defaults, without its doubts.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "gasg21/data/views.hpp"
#include "gasg21/fit/projector.hpp"
#include "gasg21/geometry/affine.hpp"
#include "gasg21/geometry/products.hpp"
#include "gasg21/inliers/null_bounds.hpp"
#include "gasg21/kernels/plain.hpp"
#include "gasg21/recovery/recoverer.hpp"
#include "gasg21/recovery/start.hpp"
#include "gasg21/seeding/choose_lift.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/tracker.hpp"

namespace gasg21 {

/// How to fit one subspace.
struct OneSubspaceOptions {
  Start start = Start::random;
  double tol = 1e-6;
  uword max_passes = 20;
  std::uint64_t seed = 0;
};

/// A linear subspace of complete or incomplete samples.
struct OneSubspace {
  arma::mat basis;             // n x d, orthonormal
  double estimated_angle = 0;  // NaN = unknown
  double bound = 0;            // random directions have larger residuals

  /// The residuals of the unit-norm samples: 1 for a sample of zeros, NaN where undetermined.
  arma::vec residuals(const arma::mat& X, const Parallel& parallel = Parallel()) const;
  /// Whether each sample is as far from the subspace as a random direction, or tells nothing.
  std::vector<bool> is_outlier(const arma::mat& X, const Parallel& parallel = Parallel()) const;
  /// Fills in the missing entries; NaN where they are not determined.
  void complete(arma::mat& X, const Parallel& parallel = Parallel()) const;
};

/// An affine subspace.
struct OneFlat {
  arma::mat directions;  // n x d, orthonormal
  arma::vec point;       // n, on the flat
  double estimated_angle = 0;
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

/// Calls use(j, projector) for each sample after it was read, on several threads.
template <class Use>
void each_projected(const arma::mat& basis, const arma::mat& X, const std::vector<uword>& columns,
                    const Parallel& parallel, Use&& use) {
  constexpr uword chunk = 64;
  const uword count = columns.size();
  parallel.for_work(double(basis.n_elem) * double(count))
      .for_all((count + chunk - 1) / chunk, [&] { return Projector<double>(basis); },
               [&](uword task, Projector<double>& projector) {
                 for (uword c = task * chunk; c < std::min(count, (task + 1) * chunk); ++c) {
                   projector.read(DenseSample<double>{X.colptr(columns[c])});
                   use(columns[c], projector);
                 }
               });
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

inline arma::vec OneSubspace::residuals(const arma::mat& X, const Parallel& parallel) const {
  require(X.n_rows == basis.n_rows, "samples of ", X.n_rows, " entries do not fit a subspace of ",
          basis.n_rows);
  arma::vec found(X.n_cols);
  std::vector<uword> all(X.n_cols);
  for (uword j = 0; j < X.n_cols; ++j) all[j] = j;
  detail::each_projected(basis, X, all, parallel, [&](uword j, const Projector<double>& fit) {
    const bool is_zero = !fit.determined() && fit.residual() == 0;
    found[j] = is_zero ? 1 : fit.residual();
  });
  return found;
}

inline std::vector<bool> OneSubspace::is_outlier(const arma::mat& X,
                                                 const Parallel& parallel) const {
  const arma::vec found = residuals(X, parallel);
  std::vector<bool> outlier(X.n_cols);
  for (uword j = 0; j < X.n_cols; ++j) outlier[j] = !(found[j] <= bound);  // so is NaN
  return outlier;
}

inline void OneSubspace::complete(arma::mat& X, const Parallel& parallel) const {
  std::vector<uword> incomplete;
  for (uword j = 0; j < X.n_cols; ++j)
    if (X.col(j).has_nan()) incomplete.push_back(j);
  detail::each_projected(
      basis, X, incomplete, parallel,
      [&](uword j, const Projector<double>& fit) { fit.fill_missing(X.colptr(j)); });
}

}  // namespace gasg21
