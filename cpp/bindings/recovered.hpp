// Input of a fit of one subspace from Python, and its result.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <gasg21/recover.hpp>
#include <memory>
#include <string>
#include <utility>

#include "any_rule.hpp"
#include "array_view.hpp"
#include "history.hpp"
#include "py_subspace.hpp"
#include "py_tracker.hpp"
#include "watch.hpp"

namespace gasg21::bindings {

/// How the tracker is composed, and where it starts.
struct TrackerChoice {
  AnyStep rule, stream_rule;
  AnyLoss loss;
  AnyMetric metric;
  std::uint64_t seed;
  py::object init;  // "random", "spherical_pca" or components
};

/// The samples as a fit sees them: lifted for an affine subspace.
template <class T>
struct Prepared {
  AnyView<T> samples;
  std::unique_ptr<Lift<T>> lift;
  AnyView<T> view;

  Prepared(const AnyView<T>& raw, bool center, bool scaled) : samples(raw), view(raw) {
    if (!center) return;
    const py::gil_scoped_release nogil;
    set(choose_lift<T>(raw, constant_share(scaled)));
  }
  void set(Lift<T> chosen) {
    lift = std::make_unique<Lift<T>>(std::move(chosen));
    view = lifted(samples, *lift);
  }
  uword more() const { return lift ? lift->n_appended() : 0; }  // dimensions that the lift adds
};

/// A basis of n rows for lifted samples: its directions, and the axis of the constant.
template <class T>
arma::Mat<T> lifted_basis(const arma::Mat<T>& U) {
  arma::Mat<T> more(U.n_rows + 1, U.n_cols + 1, arma::fill::zeros);
  more.submat(0, 0, U.n_rows - 1, U.n_cols - 1) = U;
  more(U.n_rows, U.n_cols) = 1;
  return more;
}

/// A tracker of dimension d, which is lifted with the samples.
template <class T>
typename PyTracker<T>::Core make_tracker(const Prepared<T>& data, uword d, const AnyStep& rule,
                                         const TrackerChoice& choice, Watch& watch) {
  using Core = typename PyTracker<T>::Core;
  const auto with_lift = [&](Core tracker) {
    if (data.lift) tracker.set_lift(*data.lift);
    return tracker;
  };
  if (!py::isinstance<py::str>(choice.init)) {
    arma::Mat<T> given = copy_basis<T>(as_array(choice.init, "init"), "init");
    if (data.more() > 0) given = lifted_basis(given);
    arma::Mat<T> tried = given;
    require(orthonormalize(tried), "init must have finite, linearly independent rows");
    return with_lift(Core(given, rule, choice.seed, choice.loss, choice.metric));
  }
  const auto name = choice.init.cast<std::string>();
  require(name == "random" || name == "spherical_pca", "init='", name,
          "' must be 'random' or 'spherical_pca'");
  const Start start = name == "random" ? Start::random : Start::spherical_pca;
  const py::gil_scoped_release nogil;
  return with_lift(start_tracker<Core>(data.view, d + data.more(), rule, choice.loss, choice.metric,
                                       start, choice.seed, watch));
}

inline py::dict to_dict(const Identifiability& found) {
  py::dict doubts;
  doubts["few_inliers"] = found.few_inliers;
  doubts["unobserved"] = found.unobserved;
  doubts["hardly_observed"] = found.hardly_observed;
  doubts["blocks"] = found.blocks;
  doubts["information"] = found.information;
  doubts["angle"] = found.angle;
  return doubts;
}

/// Everything that Python publishes of a fit. `samples` are those that it looks at once more.
template <class Fit, class T>
py::dict hand_over(Fit& fit, const AnyView<T>& samples, const TrackerChoice& choice, bool rotate,
                   Watch& watch) {
  Evidence evidence;
  watch.go_on();
  {
    const py::gil_scoped_release nogil;
    fit.hand_back(choice.stream_rule);
    evidence = fit.evidence(samples, watch);
  }
  py::dict found;
  FitKind kind = fit.kind();
  kind.rotate = rotate;
  found["tracker"] = std::make_unique<PyTracker<T>>(fit.tracker(), evidence.range);
  found["subspace"] =
      std::make_unique<PySubspace<T>>(fit.basis(), fit.tracker().lift(), std::move(evidence), kind);
  found["interrupt"] = watch.pending();
  found["status"] = to_string(fit.status());
  found["estimated_angle"] = fit.estimated_angle();
  found["history"] = to_list(fit.history());
  found["doubts"] = to_dict(fit.doubts().determined);
  found["doubts"]["other"] = fit.doubts().other.nearer;
  found["doubts"]["bent"] = fit.doubts().other.bent;
  return found;
}

}  // namespace gasg21::bindings
