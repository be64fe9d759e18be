// recover(data, d, options): the default algorithm for one subspace. A few passes of the stream,
// then the polish, then a check whether to believe the result. GASG21.fit is this function.
#pragma once

#include <algorithm>
#include <vector>

#include "gasg21/data/views.hpp"
#include "gasg21/fit/projector.hpp"
#include "gasg21/inliers/subspace.hpp"
#include "gasg21/recovery/dimension.hpp"
#include "gasg21/recovery/recoverer.hpp"
#include "gasg21/recovery/report.hpp"
#include "gasg21/recovery/start_tracker.hpp"
#include "gasg21/seeding/choose_lift.hpp"
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
  Subspace<T> subspace;    // what the fit knows about its inliers
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

/// Finds the d-dimensional subspace that the good samples lie on. The data is a view (DenseView,
/// SparseView or AnyView). d = 0 chooses the dimension from the data.
template <class T, class Data, class Observer>
Recovery<T> recover(const Data& samples, uword d, const RecoverOptions& options,
                    Observer& observer) {
  const Lift<T> lift = options.center ? choose_lift<T>(samples) : Lift<T>{};
  const Data data = options.center ? lifted(samples, lift) : samples;
  if (d == 0) d = chosen_dimension<T>(data, options, observer);
  const uword more = options.center, working = std::max(d, options.working_components) + more;
  const AdaptiveStep fit_rule(AdaptiveStepOptions::defaults(true, false)), stream_rule;
  auto tracker = start_tracker<Tracker<T>>(data, working, fit_rule, L21Loss{}, CovarianceScaling{},
                                           options.start, options.seed, observer);
  if (options.center) tracker.set_lift(lift);
  Recoverer<Tracker<T>> fit(std::move(tracker), d + more, options);
  fit.run(data, observer);
  fit.hand_back(stream_rule);
  Subspace<T> subspace(fit.basis(), fit.tracker().lift(), fit.evidence(data, observer), fit.kind());
  Recovery<T> found{subspace.axes().components,
                    subspace.axes().mean,
                    arma::Mat<T>(d, data.n_cols),
                    arma::Col<T>(data.n_cols),
                    subspace,
                    fit.status(),
                    fit.estimated_angle(),
                    fit.history(),
                    fit.tracker()};
  const Lift<T> centred{found.mean, T(0)};
  const Data about_mean = options.center ? lifted(samples, centred) : samples;
  Projector<T> along(found.basis), to(fit.basis());
  for (uword j = 0; j < data.n_cols; ++j) {
    along.read(about_mean.sample(j));
    along.weights(found.weights.colptr(j));
    to.read(data.sample(j));
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
