// recover_union for Python: one call for a whole fit, or for its start alone.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <gasg21/recover_union.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "any_rule.hpp"
#include "array_view.hpp"
#include "history.hpp"
#include "module.hpp"
#include "py_k_subspaces.hpp"
#include "watch.hpp"

namespace gasg21::bindings {

namespace {

/// How far to go: to the end, or only to where a fit or a stream starts.
enum class Goal { fit, start_of_fit, start_of_stream };

struct UnionCall {
  std::vector<uword> dimensions;
  AnyStep rule, stream_rule;
  AnyMetric metric;
  UnionOptions options;
  py::list given;  // subspaces to start from; empty = seeding finds them
  Goal goal;
};

template <class T>
py::dict recover_union_in(const py::object& samples, const py::object& mask, uword n,
                          const UnionCall& call, py::object progress) {
  using Core = typename PyKSubspaces<T>::Core;
  const AnyView<T> view = as_view<T>(samples, mask, n);
  Watch watch(std::move(progress), double(n * call.dimensions.size()));
  UnionRun<Core> fit(call.dimensions, call.rule, call.stream_rule, call.metric, call.options);
  try {
    auto given = copy_bases<T>(call.given);
    const py::gil_scoped_release nogil;
    if (call.goal == Goal::fit) {
      fit.run(view, std::move(given), watch);
      fit.hand_back();
    } else {
      fit.start(view, std::move(given), watch, call.goal == Goal::start_of_stream);
    }
  } catch (const Stopped&) {  // before there were subspaces
    watch.finish();
  }
  py::dict found;
  found["interrupt"] = watch.pending();
  found["stream"] = std::make_unique<PyKSubspaces<T>>(fit.stream());
  found["stream_rule"] = fit.stream_rule().rule;
  found["subspaces"] = to_list(fit.bases());
  found["status"] = to_string(fit.status());
  found["estimated_angles"] = to_column_array(fit.estimated_angles());
  found["history"] = to_list(fit.history());
  found["timings"] =
      py::dict(py::arg("seed") = fit.timings().seed, py::arg("select") = fit.timings().select,
               py::arg("refine") = fit.timings().refine);
  return found;
}

Goal as_goal(const std::string& name) {
  require(name == "fit" || name == "start_of_fit" || name == "start_of_stream", "goal='", name,
          "' must be 'fit', 'start_of_fit' or 'start_of_stream'");
  return name == "fit"            ? Goal::fit
         : name == "start_of_fit" ? Goal::start_of_fit
                                  : Goal::start_of_stream;
}

py::dict recover_union_any(const py::object& samples, const py::object& mask, uword n,
                           const std::vector<uword>& dimensions, const Rule& rule,
                           const Rule& stream_rule, const Metric& metric, const py::object& init,
                           UnionOptions options, const std::string& goal,
                           const py::object& progress) {
  py::list given;
  if (py::isinstance<py::str>(init)) {
    const auto name = init.cast<std::string>();
    require(name == "density" || name == "farthest", "init='", name,
            "' must be 'density' or 'farthest'");
    options.seeding = name == "density" ? Seeding::density : Seeding::farthest;
  } else {
    require(py::isinstance<py::list>(init), "init must be a text or a list of arrays");
    given = py::reinterpret_borrow<py::list>(init);
  }
  const UnionCall call{dimensions, AnyStep{rule}, AnyStep{stream_rule}, AnyMetric{metric},
                       options,    given,         as_goal(goal)};
  return in_precision_of(values_of(samples), [&](auto zero) {
    return recover_union_in<decltype(zero)>(samples, mask, n, call, progress);
  });
}

}  // namespace

void bind_recover_union(py::module_& m) {
  const UnionOptions defaults;
  py::class_<UnionOptions>(m, "UnionOptions")
      .def(py::init([](uword n_candidates, uword n_neighbors, uword max_passes, double tol,
                       bool polish, bool first_step_from_data, std::uint64_t seed,
                       unsigned n_threads, const Following& following) {
             UnionOptions options;
             options.n_candidates = n_candidates;
             options.n_neighbors = n_neighbors;
             options.max_passes = max_passes;
             options.tol = tol;
             options.polish = polish;
             options.first_step_from_data = first_step_from_data;
             options.seed = seed;
             options.n_threads = n_threads;
             options.following = following;
             return options;
           }),
           py::kw_only(), py::arg("n_candidates") = defaults.n_candidates,
           py::arg("n_neighbors") = defaults.n_neighbors,
           py::arg("max_passes") = defaults.max_passes, py::arg("tol") = defaults.tol,
           py::arg("polish") = defaults.polish,
           py::arg("first_step_from_data") = defaults.first_step_from_data,
           py::arg("seed") = defaults.seed, py::arg("n_threads") = defaults.n_threads,
           py::arg("following") = defaults.following);
  m.def("recover_union", &recover_union_any, py::arg("samples"), py::arg("mask"), py::arg("n"),
        py::arg("dimensions"), py::kw_only(), py::arg("rule"), py::arg("stream_rule"),
        py::arg("metric"), py::arg("init"), py::arg("options"), py::arg("goal") = "fit",
        py::arg("progress") = py::none(),
        "A whole fit of K subspaces, or its start. Returns a dict; \"interrupt\" is the exception "
        "that stopped it, or None.");
  m.def(
      "verdict",
      [](const py::array_t<double>& angles, double tol) {
        const auto count = uword(angles.size());
        return to_string(verdict<double>(copy_vector<double>(angles, count, "angles"), tol));
      },
      py::arg("estimated_angles"), py::arg("tol"),
      "The status of subspaces that no longer move, by their estimated errors.");
}

}  // namespace gasg21::bindings
