// A fit of one subspace to data in blocks, for Python: on a sample, then by sums over all blocks.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <utility>

#include "block_tuple.hpp"
#include "lift.hpp"
#include "module.hpp"
#include "recovered.hpp"

namespace gasg21::bindings {

namespace {

/// Between the calls nothing runs. Not for several threads.
template <class T>
class PyBlockFit {
 public:
  using Core = typename PyTracker<T>::Core;

  /// Stream and polish on the sample.
  PyBlockFit(const AnyView<T>& sample, uword d, TrackerPlan<Core> plan,
             const RecoverOptions& options, const py::object& progress) {
    const uword working = std::max(d, options.working_components);
    Watch watch(progress, double(sample.n_rows * (working + 1)));
    {
      const py::gil_scoped_release nogil;
      const bool scaled = plan.metric.scaled();
      fit_.emplace(PyData<T>(sample, options.center, scaled), d, std::move(plan), options);
      fit_->solve(watch);
    }
    interrupt_ = watch.pending();
  }

  /// Basis, scatter and lift that the sums of the next round are made with; None if no round is to
  /// come.
  py::object state() const {
    const auto& fit = fit_->recoverer();
    if (!fit.may_go_on()) return py::none();
    return py::make_tuple(to_components(fit.working_basis()), to_pair(fit.scatter()),
                          pack<T>(fit.state().tracker.lift()));
  }

  /// Ends a round with the sums over all blocks. Returns whether it was the last.
  bool round(const py::tuple& given) {
    auto& fit = fit_->recoverer();
    const BlockSums sums = as_sums(given, fit.working_basis().n_rows, fit.working_basis().n_cols);
    Unobserved nobody;
    const py::gil_scoped_release nogil;
    return fit.round(sums, nobody);
  }

  /// Doubts and evidence from samples that are a share of the data.
  Recovered finish(const py::object& samples, const py::object& mask, double share, bool rotate,
                   bool interrupted, py::object progress) {
    const AnyView<T> view = as_view<T>(samples, mask, fit_->data().n_features());
    Watch watch(std::move(progress), double(view.n_rows * reached().basis.n_cols));
    if (interrupted) fit_->recoverer().interrupt();
    std::optional<Found<Core>> found;
    {
      const py::gil_scoped_release nogil;
      fit_->conclude(view, share, watch);
      found.emplace(fit_->hand_over(view, watch));
    }
    Recovered all = to_python(std::move(*found), rotate, watch);
    if (!interrupt_.is_none()) all.interrupt = interrupt_;
    return all;
  }

  uword second_sample(uword most) const { return fit_->second_sample(most); }
  py::list history() const { return to_list(reached().history); }
  uword n_components() const { return reached().tracker.d(); }
  const char* status() const { return to_string(reached().status); }

 private:
  const FitState<Core>& reached() const { return fit_->recoverer().state(); }

  std::optional<PyFit<T>> fit_;
  py::object interrupt_;
};

template <class T>
void bind_block_fit_in(py::module_& m, const char* name) {
  using Class = PyBlockFit<T>;
  py::class_<Class>(m, name)
      .def("state", &Class::state, "Components, scatter and lift of the next round, or None.")
      .def("round", &Class::round, py::arg("sums"), "End a round; returns whether it was the last.")
      .def("finish", &Class::finish, py::arg("samples"), py::arg("mask"), py::kw_only(),
           py::arg("share"), py::arg("rotate"), py::arg("interrupted"),
           py::arg("progress") = py::none(), "The result.")
      .def("second_sample", &Class::second_sample, py::arg("most"),
           "The size of a second sample, of `most` at hand, if the first does not suffice; else 0.")
      .def_property_readonly("history", &Class::history)
      .def_property_readonly("n_components", &Class::n_components)
      .def_property_readonly("status", &Class::status);
}

py::object solve_sample(const py::object& samples, const py::object& mask, uword n, uword d,
                        const Rule& rule, const Rule& stream_rule, const LossName& loss,
                        const Metric& metric, const py::object& init, const RecoverOptions& options,
                        const py::object& progress) {
  return in_precision_of(values_of(samples), [&](auto zero) -> py::object {
    using T = decltype(zero);
    return py::cast(std::make_unique<PyBlockFit<T>>(
        as_view<T>(samples, mask, n), d,
        as_plan<T>(rule, stream_rule, loss, metric, init, options.seed), options, progress));
  });
}

}  // namespace

void bind_block_fit(py::module_& m) {
  bind_block_fit_in<double>(m, "BlockFit64");
  bind_block_fit_in<float>(m, "BlockFit32");
  m.def("solve_sample", &solve_sample, py::arg("samples"), py::arg("mask"), py::arg("n"),
        py::arg("d"), py::kw_only(), py::arg("rule"), py::arg("stream_rule"), py::arg("loss"),
        py::arg("metric"), py::arg("init"), py::arg("options"), py::arg("progress") = py::none(),
        "A fit to data in blocks, from a sample of it: a BlockFit.");
}

}  // namespace gasg21::bindings
