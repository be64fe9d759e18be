// A fit of one subspace to data in blocks, for Python: on a sample, then by sums over all blocks.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <memory>
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
  PyBlockFit(const py::object& samples, const py::object& mask, uword n, uword d,
             TrackerChoice choice, const RecoverOptions& options, py::object progress)
      : choice_(std::move(choice)),
        data_(as_view<T>(samples, mask, n), options.center, choice_.metric.scaled()) {
    const uword working = std::max(d, options.working_components);
    Watch watch(std::move(progress), double(n * (working + 1)));
    fit_ = std::make_unique<Recoverer<Core>>(
        make_tracker<T>(data_, working, choice_.rule, choice_, watch), d + data_.more(), options);
    {
      const py::gil_scoped_release nogil;
      fit_->solve(data_.view, watch);
    }
    interrupt_ = watch.pending();
  }

  /// Basis, scatter and lift that the sums of the next round are made with; None if no round is to
  /// come.
  py::object state() const {
    if (!fit_->may_go_on()) return py::none();
    const Scatter& scatter = fit_->scatter();
    return py::make_tuple(to_components(fit_->working_basis()),
                          py::make_tuple(to_square(scatter.C), scatter.s),
                          pack<T>(fit_->tracker().lift()));
  }

  /// Ends a round with the sums over all blocks. Returns whether it was the last.
  bool round(const py::tuple& given) {
    const arma::Mat<T>& U = fit_->working_basis();
    const BlockSums sums = as_sums(given, U.n_rows, U.n_cols);
    Unobserved nobody;
    const py::gil_scoped_release nogil;
    return fit_->round(sums, nobody);
  }

  /// Doubts and evidence from samples that are a share of the data. Returns what `recover` does.
  py::dict finish(const py::object& samples, const py::object& mask, double share, bool rotate,
                  bool interrupted, py::object progress) {
    const uword n = data_.lift ? data_.lift->centre.n_elem : data_.view.n_rows;
    AnyView<T> view = as_view<T>(samples, mask, n);
    if (data_.lift) view = lifted(view, *data_.lift);
    Watch watch(std::move(progress), double(view.n_rows * fit_->basis().n_cols));
    if (interrupted) fit_->interrupt();
    {
      const py::gil_scoped_release nogil;
      fit_->conclude_rounds(view, share, watch);
    }
    py::dict found = hand_over(*fit_, view, choice_, rotate, watch);
    if (!interrupt_.is_none()) found["interrupt"] = interrupt_;
    return found;
  }

  py::list history() const { return to_list(fit_->history()); }
  uword n_components() const { return fit_->tracker().d(); }
  const char* status() const { return to_string(fit_->status()); }

 private:
  TrackerChoice choice_;
  Prepared<T> data_;
  std::unique_ptr<Recoverer<Core>> fit_;
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
           py::arg("progress") = py::none(), "The result, as a dict like that of `recover`.")
      .def_property_readonly("history", &Class::history)
      .def_property_readonly("n_components", &Class::n_components)
      .def_property_readonly("status", &Class::status);
}

py::object solve_sample(const py::object& samples, const py::object& mask, uword n, uword d,
                        const Rule& rule, const Rule& stream_rule, const LossName& loss,
                        const Metric& metric, const py::object& init, const RecoverOptions& options,
                        const py::object& progress) {
  TrackerChoice choice{AnyStep{rule},     AnyStep{stream_rule}, AnyLoss(loss),
                       AnyMetric{metric}, options.seed,         init};
  return in_precision_of(values_of(samples), [&](auto zero) -> py::object {
    return py::cast(std::make_unique<PyBlockFit<decltype(zero)>>(
        samples, mask, n, d, std::move(choice), options, progress));
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
  m.def("enough_samples", &enough_samples, py::arg("n"), py::arg("d"),
        py::arg("observed_per_sample"), py::arg("fewest"),
        "Samples that suffice to find a subspace.");
}

}  // namespace gasg21::bindings
