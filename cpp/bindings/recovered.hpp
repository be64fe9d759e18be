// A fit of one subspace for Python: how it is composed, and its result.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <gasg21/recovery/fit.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "any_rule.hpp"
#include "array_view.hpp"
#include "counters.hpp"
#include "history.hpp"
#include "py_subspace.hpp"
#include "py_tracker.hpp"
#include "watch.hpp"

namespace gasg21::bindings {

template <class T>
using PyFit = Fit<typename PyTracker<T>::Core, AnyView<T>>;
template <class T>
using PyData = LiftedData<T, AnyView<T>>;

/// How a tracker starts: `init` is "random", "spherical_pca" or components.
template <class T>
TrackerPlan<typename PyTracker<T>::Core> as_plan(const Rule& rule, const Rule& stream_rule,
                                                 const LossName& loss, const Metric& metric,
                                                 const py::object& init, std::uint64_t seed) {
  TrackerPlan<typename PyTracker<T>::Core> plan{
      AnyStep{rule}, AnyStep{stream_rule}, AnyLoss(loss), AnyMetric{metric}, {}, Start::random,
      seed};
  if (!py::isinstance<py::str>(init)) {
    plan.init = copy_basis<T>(as_array(init, "init"), "init");
    return plan;
  }
  const auto name = init.cast<std::string>();
  require(name == "random" || name == "spherical_pca", "init='", name,
          "' must be 'random' or 'spherical_pca'");
  if (name == "spherical_pca") plan.start = Start::spherical_pca;
  return plan;
}

/// The result of a fit.
struct Recovered {
  py::object tracker, subspace;
  py::object interrupt;  // the exception that stopped the fit, or None
  py::dict counters;
  double step_size;
  std::int64_t level;
  Status status;
  double estimated_angle;
  std::vector<PassRecord> history;
  Doubts doubts;
};

/// With the GIL. `rotate`: show the principal axes.
template <class Core>
Recovered to_python(Found<Core>&& found, bool rotate, Watch& watch) {
  using T = typename Core::value_type;
  const Core& tracker = found.tracker;
  Recovered all{{},
                {},
                watch.pending(),
                to_dict(tracker.counters(), tracker.entries_used()),
                tracker.rule().eta(),
                tracker.rule().level(),
                found.status,
                found.estimated_angle,
                std::move(found.history),
                std::move(found.doubts)};
  found.kind.rotate = rotate;
  all.tracker =
      py::cast(std::make_unique<PyTracker<T>>(std::move(found.tracker), found.evidence.range));
  all.subspace = py::cast(std::make_unique<PySubspace<T>>(
      std::move(found.basis), std::move(found.lift), std::move(found.evidence), found.kind));
  return all;
}

}  // namespace gasg21::bindings
