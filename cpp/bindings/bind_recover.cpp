// recover and choose_dimension for Python: one call for a whole fit.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <gasg21/recover.hpp>
#include <memory>
#include <string>
#include <utility>

#include "any_rule.hpp"
#include "array_view.hpp"
#include "history.hpp"
#include "module.hpp"
#include "py_tracker.hpp"
#include "watch.hpp"

namespace gasg21::bindings {

namespace {

/// How the tracker is composed, and where it starts.
struct TrackerChoice {
  AnyStep rule, stream_rule;
  AnyLoss loss;
  AnyMetric metric;
  std::uint64_t seed;
  py::object init;  // "random", "spherical_pca" or components
};

template <class T>
typename PyTracker<T>::Core make_tracker(const AnyView<T>& view, uword d, const AnyStep& rule,
                                         const TrackerChoice& choice, Watch& watch) {
  using Core = typename PyTracker<T>::Core;
  if (!py::isinstance<py::str>(choice.init)) {
    const arma::Mat<T> given = copy_basis<T>(choice.init.cast<py::array>(), "init");
    arma::Mat<T> tried = given;
    require(orthonormalize(tried), "init must have finite, linearly independent rows");
    return Core(given, rule, choice.seed, choice.loss, choice.metric);
  }
  const auto name = choice.init.cast<std::string>();
  require(name == "random" || name == "spherical_pca", "init='", name,
          "' must be 'random' or 'spherical_pca'");
  const Start start = name == "random" ? Start::random : Start::spherical_pca;
  const py::gil_scoped_release nogil;
  return start_tracker<Core>(view, d, rule, choice.loss, choice.metric, start, choice.seed, watch);
}

template <class T>
py::dict recover_in(const py::object& samples, const py::object& mask, uword n, uword d,
                    const TrackerChoice& choice, const RecoverOptions& options,
                    py::object progress) {
  using Core = typename PyTracker<T>::Core;
  const AnyView<T> view = as_view<T>(samples, mask, n);
  const uword working = std::max(d, options.working_components);
  Watch watch(std::move(progress), double(n * (working + 1)));
  Recoverer<Core> fit(make_tracker<T>(view, working, choice.rule, choice, watch), d, options);
  {
    const py::gil_scoped_release nogil;
    fit.run(view, watch);
    fit.hand_back(choice.stream_rule);
  }
  py::dict found;
  found["interrupt"] = watch.pending();
  found["tracker"] = std::make_unique<PyTracker<T>>(fit.tracker());
  found["components"] = to_components(fit.basis());
  found["status"] = to_string(fit.status());
  found["estimated_angle"] = fit.estimated_angle();
  found["history"] = to_list(fit.history());
  return found;
}

py::dict recover_any(const py::object& samples, const py::object& mask, uword n, uword d,
                     const Rule& rule, const Rule& stream_rule, const LossName& loss,
                     const Metric& metric, const py::object& init, const RecoverOptions& options,
                     const py::object& progress) {
  const TrackerChoice choice{AnyStep{rule},     AnyStep{stream_rule}, AnyLoss(loss),
                             AnyMetric{metric}, options.seed,         init};
  return in_precision_of(values_of(samples), [&](auto zero) {
    return recover_in<decltype(zero)>(samples, mask, n, d, choice, options, progress);
  });
}

py::object start_any(const py::object& samples, const py::object& mask, uword n, uword d,
                     const Rule& rule, const LossName& loss, const Metric& metric,
                     const py::object& init, std::uint64_t seed) {
  const TrackerChoice choice{AnyStep{rule},     AnyStep{rule}, AnyLoss(loss),
                             AnyMetric{metric}, seed,          init};
  return in_precision_of(values_of(samples), [&](auto zero) -> py::object {
    using T = decltype(zero);
    Watch watch;
    auto tracker = std::make_unique<PyTracker<T>>(
        make_tracker<T>(as_view<T>(samples, mask, n), d, choice.rule, choice, watch));
    watch.finish();
    return py::cast(std::move(tracker));
  });
}

uword choose_any(const py::object& samples, const py::object& mask, uword n, std::uint64_t seed,
                 unsigned n_threads) {
  return in_precision_of(values_of(samples), [&](auto zero) {
    using T = decltype(zero);
    const AnyView<T> view = as_view<T>(samples, mask, n);
    DimensionOptions options;
    options.seed = seed;
    options.n_threads = n_threads;
    Watch watch;
    uword d = 0;
    try {
      const py::gil_scoped_release nogil;
      d = choose_dimension<T>(view, options, watch);
    } catch (const Stopped&) {
    }
    watch.finish();
    return d;
  });
}

}  // namespace

void bind_recover(py::module_& m) {
  const RecoverOptions defaults;
  py::class_<RecoverOptions>(m, "RecoverOptions")
      .def(py::init([](uword max_passes, double tol, bool polish, uword working_components,
                       std::uint64_t seed, unsigned n_threads) {
             RecoverOptions options;
             options.max_passes = max_passes;
             options.tol = tol;
             options.polish = polish;
             options.working_components = working_components;
             options.seed = seed;
             options.n_threads = n_threads;
             return options;
           }),
           py::kw_only(), py::arg("max_passes") = defaults.max_passes,
           py::arg("tol") = defaults.tol, py::arg("polish") = defaults.polish,
           py::arg("working_components") = defaults.working_components,
           py::arg("seed") = defaults.seed, py::arg("n_threads") = defaults.n_threads);
  m.def("recover", &recover_any, py::arg("samples"), py::arg("mask"), py::arg("n"), py::arg("d"),
        py::kw_only(), py::arg("rule"), py::arg("stream_rule"), py::arg("loss"), py::arg("metric"),
        py::arg("init"), py::arg("options"), py::arg("progress") = py::none(),
        "A whole fit: stream, polish, self-check. Returns a dict; \"interrupt\" is the exception "
        "that stopped it, or None.");
  m.def("start_tracker", &start_any, py::arg("samples"), py::arg("mask"), py::arg("n"),
        py::arg("d"), py::kw_only(), py::arg("rule"), py::arg("loss"), py::arg("metric"),
        py::arg("init"), py::arg("seed"),
        "A tracker at its start, in the precision of the samples.");
  m.def("choose_dimension", &choose_any, py::arg("samples"), py::arg("mask"), py::arg("n"),
        py::kw_only(), py::arg("seed"), py::arg("n_threads"),
        "The dimension that n_components=\"auto\" means.");
}

}  // namespace gasg21::bindings
