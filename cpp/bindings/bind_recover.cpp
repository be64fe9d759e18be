// recover and choose_dimension for Python: one call for a whole fit.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <gasg21/recover.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "any_rule.hpp"
#include "array_view.hpp"
#include "history.hpp"
#include "module.hpp"
#include "py_subspace.hpp"
#include "py_tracker.hpp"
#include "recovered.hpp"
#include "watch.hpp"

namespace gasg21::bindings {

namespace {

template <class T>
Recovered recover_in(const AnyView<T>& samples, uword d,
                     TrackerPlan<typename PyTracker<T>::Core> plan, const RecoverOptions& options,
                     bool rotate, Watch& watch) {
  std::optional<Found<typename PyTracker<T>::Core>> found;
  {
    const py::gil_scoped_release nogil;
    const bool scaled = plan.metric.scaled();
    PyFit<T> fit(PyData<T>(samples, options.center, scaled), d, std::move(plan), options);
    fit.run(watch);
    found.emplace(fit.hand_over(watch));
  }
  return to_python(std::move(*found), rotate, watch);
}

Recovered recover_any(const py::object& samples, const py::object& mask, uword n, uword d,
                      const Rule& rule, const Rule& stream_rule, const LossName& loss,
                      const Metric& metric, const py::object& init, const RecoverOptions& options,
                      bool rotate, const py::object& progress, const py::object& search_infinite) {
  return in_precision_of(values_of(samples), [&](auto zero) {
    using T = decltype(zero);
    Watch watch(progress, double(n * (std::max(d, options.working_components) + 1)));
    watch.refuse_infinite(search_infinite);
    return recover_in<T>(as_view<T>(samples, mask, n), d,
                         as_plan<T>(rule, stream_rule, loss, metric, init, options.seed), options,
                         rotate, watch);
  });
}

py::object start_any(const py::object& samples, const py::object& mask, uword n, uword d,
                     const Rule& rule, const LossName& loss, const Metric& metric,
                     const py::object& init, bool center, std::uint64_t seed,
                     const Following& following) {
  return in_precision_of(values_of(samples), [&](auto zero) -> py::object {
    using T = decltype(zero);
    const AnyView<T> view = as_view<T>(samples, mask, n);
    const auto plan = as_plan<T>(rule, rule, loss, metric, init, seed);
    Watch watch;
    std::optional<typename PyTracker<T>::Core> tracker;
    {
      const py::gil_scoped_release nogil;
      tracker.emplace(plan.start_on(PyData<T>(view, center, plan.metric.scaled()), d, watch));
    }
    watch.finish();
    tracker->follow(following);
    return py::cast(std::make_unique<PyTracker<T>>(std::move(*tracker)));
  });
}

/// A share of 0 keeps all dimensions that are found.
uword choose_any(const py::object& samples, const py::object& mask, uword n, bool center,
                 double share, std::uint64_t seed, unsigned n_threads, const py::object& progress) {
  return in_precision_of(values_of(samples), [&](auto zero) {
    using T = decltype(zero);
    const AnyView<T> view = as_view<T>(samples, mask, n);
    const Rule rule = AdaptiveStep(AdaptiveStepOptions::defaults(true, false));
    const auto plan = as_plan<T>(rule, rule, "l21", CovarianceScaling{}, py::str("random"), seed);
    RecoverOptions options;
    options.center = center;
    options.seed = seed;
    options.n_threads = n_threads;
    Watch watch(progress), quiet;
    uword d = 0;
    try {
      const py::gil_scoped_release nogil;
      const PyData<T> data(view, center, true);
      d = chosen_dimension<T>(data.view(), options, watch);
      if (share > 0) d = dimension_of_share(data, share, d, plan, options, quiet);
    } catch (const Stopped&) {
    }
    watch.finish();
    quiet.finish();
    return d;
  });
}

double offset_ratio_any(const py::object& samples, const py::object& mask, uword n) {
  return in_precision_of(values_of(samples), [&](auto zero) {
    using T = decltype(zero);
    const AnyView<T> view = as_view<T>(samples, mask, n);
    const py::gil_scoped_release nogil;
    return offset_ratio<T>(view);
  });
}

}  // namespace

void bind_recover(py::module_& m) {
  const RecoverOptions defaults;
  py::class_<RecoverOptions>(m, "RecoverOptions")
      .def(py::init([](uword max_passes, double tol, bool center, bool polish, bool doubt,
                       uword working_components, std::uint64_t seed, unsigned n_threads,
                       const Following& following) {
             RecoverOptions options;
             options.max_passes = max_passes;
             options.tol = tol;
             options.center = center;
             options.polish = polish;
             options.doubt = doubt;
             options.working_components = working_components;
             options.seed = seed;
             options.n_threads = n_threads;
             options.following = following;
             return options;
           }),
           py::kw_only(), py::arg("max_passes") = defaults.max_passes,
           py::arg("tol") = defaults.tol, py::arg("center") = defaults.center,
           py::arg("polish") = defaults.polish, py::arg("doubt") = defaults.doubt,
           py::arg("working_components") = defaults.working_components,
           py::arg("seed") = defaults.seed, py::arg("n_threads") = defaults.n_threads,
           py::arg("following") = defaults.following);
  py::class_<Doubts>(m, "Doubts")
      .def_property_readonly("few_inliers",
                             [](const Doubts& d) { return d.determined.few_inliers; })
      .def_property_readonly("unobserved", [](const Doubts& d) { return d.determined.unobserved; })
      .def_property_readonly("hardly_observed",
                             [](const Doubts& d) { return d.determined.hardly_observed; })
      .def_property_readonly("blocks", [](const Doubts& d) { return d.determined.blocks; })
      .def_property_readonly("information",
                             [](const Doubts& d) { return d.determined.information; })
      .def_property_readonly("angle", [](const Doubts& d) { return d.determined.angle; })
      .def_property_readonly("other", [](const Doubts& d) { return d.other.nearer; })
      .def_property_readonly("bent", [](const Doubts& d) { return d.other.bent; });
  py::class_<Recovered>(m, "Recovered")
      .def_readonly("tracker", &Recovered::tracker)
      .def_readonly("subspace", &Recovered::subspace)
      .def_readonly("interrupt", &Recovered::interrupt, "The exception that stopped it, or None.")
      .def_readonly("counters", &Recovered::counters)
      .def_readonly("step_size", &Recovered::step_size)
      .def_readonly("level", &Recovered::level)
      .def_readonly("estimated_angle", &Recovered::estimated_angle)
      .def_readonly("doubts", &Recovered::doubts)
      .def_property_readonly("status", [](const Recovered& r) { return to_string(r.status); })
      .def_property_readonly("history", [](const Recovered& r) { return to_list(r.history); });
  m.def(
      "recover", &recover_any, py::arg("samples"), py::arg("mask"), py::arg("n"), py::arg("d"),
      py::kw_only(), py::arg("rule"), py::arg("stream_rule"), py::arg("loss"), py::arg("metric"),
      py::arg("init"), py::arg("options"), py::arg("rotate") = true,
      py::arg("progress") = py::none(), py::arg("search_infinite") = py::none(),
      "A whole fit: stream, polish, self-check. `search_infinite` is called when the stream meets "
      "an infinity; what it raises stops the fit.");
  m.def("start_tracker", &start_any, py::arg("samples"), py::arg("mask"), py::arg("n"),
        py::arg("d"), py::kw_only(), py::arg("rule"), py::arg("loss"), py::arg("metric"),
        py::arg("init"), py::arg("center"), py::arg("seed"), py::arg("following"),
        "A tracker at its start, in the precision of the samples.");
  m.def("offset_ratio", &offset_ratio_any, py::arg("samples"), py::arg("mask"), py::arg("n"),
        "How far the centre of the samples is from 0, in units of their spread about it.");
  m.def("choose_dimension", &choose_any, py::arg("samples"), py::arg("mask"), py::arg("n"),
        py::kw_only(), py::arg("center"), py::arg("share"), py::arg("seed"), py::arg("n_threads"),
        py::arg("progress") = py::none(),
        "The dimension that n_components=\"auto\" or a share of the variance means.");
}

}  // namespace gasg21::bindings
