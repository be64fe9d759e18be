// recover(data, d, options): the default algorithm for one subspace. A few passes of the stream,
// then the polish, then a check whether to believe the result. GASG21.fit is this function.
#pragma once

#include <utility>
#include <vector>

#include "gasg21/data/views.hpp"
#include "gasg21/fit/projector.hpp"
#include "gasg21/inliers/subspace.hpp"
#include "gasg21/recovery/dimension.hpp"
#include "gasg21/recovery/fit.hpp"
#include "gasg21/recovery/options.hpp"
#include "gasg21/recovery/report.hpp"
#include "gasg21/recovery/start.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/tracker.hpp"

namespace gasg21 {

/// The result of `recover`.
template <class T>
struct Recovery {
  arma::Mat<T> basis;      // n x d, orthonormal: the principal axes, strongest first
  arma::Col<T> mean;       // n, of the inliers; zeros for a linear subspace
  arma::Mat<T> weights;    // d x m, of each sample in the basis; NaN where not determined
  arma::Col<T> residuals;  // m, of the unit-norm samples: 0 = in the subspace, 1 = orthogonal
  Subspace<T> subspace;    // describes the inliers, and answers for new samples
  Status status;
  double estimated_angle;  // standard error of the largest angle to the true subspace, radians
  std::vector<PassRecord> history;
  Tracker<T> tracker;  // continues from here, one vector at a time

  bool converged() const { return is_converged(status); }
};

/// The dimension of a linear or affine subspace, chosen from the data.
template <class T, class Data, class Observer>
uword chosen_dimension(const Data& data, const RecoverOptions& options, Observer& observer) {
  DimensionOptions choice;
  choice.seed = options.seed;
  choice.n_threads = options.n_threads;
  return data.lift ? choose_affine_dimension<T>(data, choice, observer)
                   : choose_dimension<T>(data, choice, observer);
}

/// How many principal axes of the subspace of `most` dimensions have this share of the variance of
/// the inliers in it. Any tracker may fit it.
template <class Tracker, class T, class Data, class Observer>
uword dimension_of_share(const LiftedData<T, Data>& data, double share, uword most,
                         const TrackerPlan<Tracker>& plan, RecoverOptions options,
                         Observer& observer) {
  options.doubt = false;
  Fit<Tracker, Data> fit(data, most, plan, options);
  fit.run(observer);
  const auto found = fit.hand_over(observer);
  const Subspace<T> subspace(found.basis, found.lift, found.evidence, found.kind);
  return axes_with_share(subspace.axes().explained_variance, share);
}

/// Scaled GASG21, as a fit composes it.
template <class T>
TrackerPlan<Tracker<T>> default_plan(const RecoverOptions& options) {
  const AdaptiveStep fit_rule(AdaptiveStepOptions::defaults(true, false));
  return {fit_rule, AdaptiveStep{}, {}, {}, {}, options.start, options.seed};
}

/// Finds the d-dimensional subspace that the good samples lie on. The data is a view (DenseView,
/// SparseView or AnyView). d = 0 chooses the dimension from the data.
template <class T, class Data, class Observer>
Recovery<T> recover(const Data& samples, uword d, const RecoverOptions& options,
                    Observer& observer) {
  LiftedData<T, Data> data(samples, options.center, true);
  if (d == 0) d = chosen_dimension<T>(data.view(), options, observer);
  Fit<Tracker<T>, Data> fit(std::move(data), d, default_plan<T>(options), options);
  fit.run(observer);
  auto result = fit.hand_over(observer);
  Subspace<T> subspace(result.basis, result.lift, result.evidence, result.kind);
  const Data& lifted_samples = fit.data().view();
  Recovery<T> found{subspace.axes().components,
                    subspace.axes().mean,
                    arma::Mat<T>(d, samples.n_cols),
                    arma::Col<T>(samples.n_cols),
                    subspace,
                    result.status,
                    result.estimated_angle,
                    std::move(result.history),
                    std::move(result.tracker)};
  const Lift<T> centred{found.mean, T(0)};
  const Data about_mean = options.center ? lifted(samples, centred) : samples;
  Projector<T> along(found.basis), to(result.basis);
  for (uword j = 0; j < samples.n_cols; ++j) {
    along.read(about_mean.sample(j));
    along.weights(found.weights.colptr(j));
    to.read(lifted_samples.sample(j));
    found.residuals[j] = to.residual();
  }
  return found;
}

/// The same for an n x m matrix, one sample per column; NaN = missing.
template <class T>
Recovery<T> recover(const arma::Mat<T>& X, uword d, const RecoverOptions& options = {}) {
  Unobserved nobody;
  return recover<T>(DenseView<T>(X), d, options, nobody);
}

}  // namespace gasg21
