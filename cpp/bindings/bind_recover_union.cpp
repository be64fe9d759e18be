// recover_union for Python: one call for a whole fit, or for the start of a stream.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <gasg21/union/union_fit.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "any_rule.hpp"
#include "array_view.hpp"
#include "counters.hpp"
#include "history.hpp"
#include "module.hpp"
#include "py_k_subspaces.hpp"
#include "watch.hpp"

namespace gasg21::bindings {

namespace {

/// A fit of a union as Python sees it.
struct RecoveredUnion {
  py::object stream, fitted, labels, residuals, interrupt;
  Rule stream_rule;
  std::string status;
  py::array_t<double> estimated_angles;
  py::list history;
  std::pair<double, double> timings;  // seconds for candidates, and for their selection
  std::optional<double> agreement;
  std::optional<Selection> selection;
  py::dict counters;
};

struct UnionCall {
  UnionOrder order;
  AnyStep rule, stream_rule;
  AnyMetric metric;
  UnionOptions options;
  py::list given;  // subspaces to start from; empty = the fit finds them
  bool whole;      // false = only where a stream starts
};

template <class T, class Fit>
RecoveredUnion hand_over(Fit& fit, const UnionCall& call, Watch& watch) {
  const auto& found = fit.found();
  RecoveredUnion result;
  result.interrupt = watch.pending();
  result.stream = py::cast(std::make_unique<PyKSubspaces<T>>(fit.stream()));
  result.fitted = py::cast(std::make_unique<Union<T>>(fit.model()));
  result.stream_rule = found.stream_rule->rule;
  result.status = to_string(found.status);
  result.history = to_list(found.history);
  result.timings = {found.timings.seed, found.timings.select};
  result.agreement = found.agreement;
  result.selection = fit.selection();
  result.counters = to_dict(found.counters);
  result.labels = result.residuals = py::none();
  if (!call.whole) return result;
  result.estimated_angles = to_column_array(found.estimated_angles);
  result.labels = to_labels(fit.labels(), fit.model().n_clusters());
  result.residuals = to_column_array(fit.residuals());
  return result;
}

template <class T>
RecoveredUnion recover_union_in(const py::object& samples, const py::object& mask, uword n,
                                const UnionCall& call, py::object progress) {
  using Core = typename PyKSubspaces<T>::Core;
  const AnyView<T> view = as_view<T>(samples, mask, n);
  Watch watch(std::move(progress), double(n * std::max<uword>(call.order.n_clusters, 1)));
  UnionFit<Core> fit(view, call.order, call.rule, call.stream_rule, call.metric, call.options);
  try {
    const auto given = copy_bases<T>(call.given);
    const py::gil_scoped_release nogil;
    if (call.whole)
      fit.run(given, watch);
    else
      fit.start(given, watch);
  } catch (const Stopped&) {  // before there were subspaces
    watch.finish();
    throw;
  }
  return hand_over<T>(fit, call, watch);
}

UnionStart as_start(const std::string& name) {
  if (name == "auto") return UnionStart::by_data;
  if (name == "density") return UnionStart::density;
  if (name == "farthest") return UnionStart::farthest;
  require(name == "spectral", "start='", name,
          "' must be 'auto', 'density', 'farthest' or 'spectral'");
  return UnionStart::spectral;
}

Choice as_choice(const std::string& name) {
  require(name == "no" || name == "yes" || name == "auto", "'", name,
          "' must be 'no', 'yes' or 'auto'");
  return name == "no" ? Choice::no : name == "yes" ? Choice::yes : Choice::by_data;
}

RecoveredUnion recover_union_any(const py::object& samples, const py::object& mask, uword n,
                                 uword n_clusters, const std::vector<uword>& dimensions,
                                 const Rule& rule, const Rule& stream_rule, const Metric& metric,
                                 const py::list& given, const UnionOptions& options,
                                 const std::string& goal, const py::object& progress) {
  require(goal == "fit" || goal == "start", "goal='", goal, "' must be 'fit' or 'start'");
  const UnionCall call{{n_clusters, dimensions},
                       AnyStep{rule},
                       AnyStep{stream_rule},
                       AnyMetric{metric},
                       options,
                       given,
                       goal == "fit"};
  return in_precision_of(values_of(samples), [&](auto zero) {
    return recover_union_in<decltype(zero)>(samples, mask, n, call, progress);
  });
}

/// Moves a keyword argument to where it belongs.
template <class Value>
void take(py::kwargs& given, const char* key, Value& to) {
  if (!given.contains(key)) return;
  to = given[key].cast<Value>();
  PyDict_DelItemString(given.ptr(), key);
}

UnionOptions as_options(py::kwargs given) {
  UnionOptions options;
  std::string start = "auto", whiten = "auto", screen = "auto";
  take(given, "start", start);
  take(given, "whiten", whiten);
  take(given, "screen", screen);
  options.start = as_start(start);
  options.whiten = as_choice(whiten);
  options.screen = as_choice(screen);
  take(given, "n_candidates", options.n_candidates);
  take(given, "n_neighbors", options.n_neighbors);
  take(given, "n_ensemble", options.n_ensemble);
  take(given, "center", options.center);
  take(given, "polish", options.polish);
  take(given, "reject_outliers", options.reject_outliers);
  take(given, "max_passes", options.max_passes);
  take(given, "tol", options.tol);
  take(given, "first_step_from_data", options.first_step_from_data);
  take(given, "seed", options.seed);
  take(given, "n_threads", options.n_threads);
  take(given, "following", options.following);
  take(given, "consensus", options.consensus);
  for (const auto& unknown : given)
    require(false, "there is no option ", py::str(unknown.first).cast<std::string>());
  return options;
}

void bind_consensus_constants(py::module_& m) {
  using Constants = ConsensusConstants;
  py::class_<Constants>(m, "ConsensusConstants")
      .def(py::init<>())
      .def_readwrite("n_runs", &Constants::n_runs)
      .def_readwrite("passes", &Constants::passes)
      .def_readwrite("first_passes", &Constants::first_passes)
      .def_readwrite("n_candidates", &Constants::n_candidates)
      .def_readwrite("n_narrow", &Constants::n_narrow)
      .def_readwrite("exponents", &Constants::exponents)
      .def_readwrite("cost", &Constants::cost)
      .def_readwrite("agreement", &Constants::agreement)
      .def_readwrite("power", &Constants::power)
      .def_readwrite("negligible", &Constants::negligible)
      .def_readwrite("hopeless", &Constants::hopeless);
}

void bind_selection(py::module_& m) {
  py::class_<Selection>(m, "Selection")
      .def_readonly("n_clusters", &Selection::n_clusters)
      .def_property_readonly("n_components", [](const Selection& s) { return s.n_components; })
      .def_readonly("drop_ratios", &Selection::drop_ratios)
      .def_readonly("agreement", &Selection::agreement)
      .def_readonly("gain", &Selection::gain)
      .def_property_readonly("rule", [](const Selection& s) { return to_string(s.rule); });
}

}  // namespace

void bind_recover_union(py::module_& m) {
  bind_consensus_constants(m);
  bind_selection(m);
  py::class_<UnionOptions>(m, "UnionOptions")
      .def(py::init(&as_options), "The fields of gasg21::UnionOptions, by name.");
  py::class_<RecoveredUnion>(m, "RecoveredUnion")
      .def_readonly("stream", &RecoveredUnion::stream)
      .def_readonly("stream_rule", &RecoveredUnion::stream_rule)
      .def_readonly("union", &RecoveredUnion::fitted)
      .def_readonly("labels", &RecoveredUnion::labels)
      .def_readonly("residuals", &RecoveredUnion::residuals)
      .def_readonly("interrupt", &RecoveredUnion::interrupt)
      .def_readonly("status", &RecoveredUnion::status)
      .def_readonly("estimated_angles", &RecoveredUnion::estimated_angles)
      .def_readonly("history", &RecoveredUnion::history)
      .def_readonly("timings", &RecoveredUnion::timings)
      .def_readonly("agreement", &RecoveredUnion::agreement)
      .def_readonly("selection", &RecoveredUnion::selection)
      .def_readonly("counters", &RecoveredUnion::counters);
  m.def("recover_union", &recover_union_any, py::arg("samples"), py::arg("mask"), py::arg("n"),
        py::arg("n_clusters"), py::arg("dimensions"), py::kw_only(), py::arg("rule"),
        py::arg("stream_rule"), py::arg("metric"), py::arg("given"), py::arg("options"),
        py::arg("goal") = "fit", py::arg("progress") = py::none(),
        "A whole fit of K subspaces, or the start of a stream. 0 leaves a number to the data. "
        "`interrupt` of the result is the exception that stopped it, or None.");
}

}  // namespace gasg21::bindings
