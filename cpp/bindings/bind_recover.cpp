// recover and choose_dimension for Python: one call for a whole fit.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <gasg21/recover.hpp>
#include <gasg21/recovery/recentre.hpp>
#include <memory>
#include <string>
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

/// Moves the centre onto the subspace by some fits, each about the centre that the last one found.
/// Each brings it about ten times nearer.
template <class T, class Begin>
void centre_on_subspace(Prepared<T>& data, const AnyLoss& loss, Begin&& begin, Watch& watch) {
  constexpr int rounds = 4;
  data.set({data.lift->centre, T(0)});
  for (int round = 0; round < rounds; ++round) {
    auto fit = begin();
    const py::gil_scoped_release nogil;
    fit.run(data.view, watch);
    if (fit.status() == Status::interrupted) return;
    data.set({data.lift->centre + median_residuals(fit.basis(), data.view, loss), T(0)});
  }
}

template <class T>
py::dict recover_in(const py::object& samples, const py::object& mask, uword n, uword d,
                    const TrackerChoice& choice, const RecoverOptions& options, bool rotate,
                    py::object progress, py::object search_infinite) {
  using Core = typename PyTracker<T>::Core;
  Prepared<T> data(as_view<T>(samples, mask, n), options.center, choice.metric.scaled());
  const uword working = std::max(d, options.working_components);
  Watch watch(std::move(progress), double(n * (working + 1)));
  watch.refuse_infinite(std::move(search_infinite));
  const auto begin = [&] {
    return Recoverer<Core>(make_tracker<T>(data, working, choice.rule, choice, watch),
                           d + data.more(), options);
  };
  if (options.center && !choice.loss.is_least_squares()) {
    watch.show_passes(false);
    centre_on_subspace(data, choice.loss, begin, watch);
    watch.show_passes(true);
  }
  Recoverer<Core> fit = begin();
  {
    const py::gil_scoped_release nogil;
    fit.run(data.view, watch);
  }
  return hand_over(fit, data.view, choice, rotate, watch);
}

py::dict recover_any(const py::object& samples, const py::object& mask, uword n, uword d,
                     const Rule& rule, const Rule& stream_rule, const LossName& loss,
                     const Metric& metric, const py::object& init, const RecoverOptions& options,
                     bool rotate, const py::object& progress, const py::object& search_infinite) {
  const TrackerChoice choice{AnyStep{rule},     AnyStep{stream_rule}, AnyLoss(loss),
                             AnyMetric{metric}, options.seed,         init};
  return in_precision_of(values_of(samples), [&](auto zero) {
    return recover_in<decltype(zero)>(samples, mask, n, d, choice, options, rotate, progress,
                                      search_infinite);
  });
}

py::object start_any(const py::object& samples, const py::object& mask, uword n, uword d,
                     const Rule& rule, const LossName& loss, const Metric& metric,
                     const py::object& init, bool center, std::uint64_t seed,
                     const Following& following) {
  const TrackerChoice choice{AnyStep{rule},     AnyStep{rule}, AnyLoss(loss),
                             AnyMetric{metric}, seed,          init};
  return in_precision_of(values_of(samples), [&](auto zero) -> py::object {
    using T = decltype(zero);
    Watch watch;
    auto tracker =
        make_tracker<T>(Prepared<T>(as_view<T>(samples, mask, n), center, choice.metric.scaled()),
                        d, choice.rule, choice, watch);
    watch.finish();
    tracker.follow(following);
    return py::cast(std::make_unique<PyTracker<T>>(std::move(tracker)));
  });
}

uword choose_any(const py::object& samples, const py::object& mask, uword n, bool center,
                 std::uint64_t seed, unsigned n_threads, const py::object& progress) {
  return in_precision_of(values_of(samples), [&](auto zero) {
    using T = decltype(zero);
    const Prepared<T> data(as_view<T>(samples, mask, n), center, true);
    RecoverOptions options;
    options.seed = seed;
    options.n_threads = n_threads;
    Watch watch(progress);
    uword d = 0;
    try {
      const py::gil_scoped_release nogil;
      d = chosen_dimension<T>(data.view, options, watch);
    } catch (const Stopped&) {
    }
    watch.finish();
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
  m.def("recover", &recover_any, py::arg("samples"), py::arg("mask"), py::arg("n"), py::arg("d"),
        py::kw_only(), py::arg("rule"), py::arg("stream_rule"), py::arg("loss"), py::arg("metric"),
        py::arg("init"), py::arg("options"), py::arg("rotate") = true,
        py::arg("progress") = py::none(), py::arg("search_infinite") = py::none(),
        "A whole fit: stream, polish, self-check. Returns a dict; \"interrupt\" is the exception "
        "that stopped it, or None. `search_infinite` is called when the stream meets an infinity; "
        "what it raises stops the fit.");
  m.def("start_tracker", &start_any, py::arg("samples"), py::arg("mask"), py::arg("n"),
        py::arg("d"), py::kw_only(), py::arg("rule"), py::arg("loss"), py::arg("metric"),
        py::arg("init"), py::arg("center"), py::arg("seed"), py::arg("following"),
        "A tracker at its start, in the precision of the samples.");
  m.def("offset_ratio", &offset_ratio_any, py::arg("samples"), py::arg("mask"), py::arg("n"),
        "How far the centre of the samples is from 0, in units of their spread about it.");
  m.def("choose_dimension", &choose_any, py::arg("samples"), py::arg("mask"), py::arg("n"),
        py::kw_only(), py::arg("center"), py::arg("seed"), py::arg("n_threads"),
        py::arg("progress") = py::none(), "The dimension that n_components=\"auto\" means.");
}

}  // namespace gasg21::bindings
