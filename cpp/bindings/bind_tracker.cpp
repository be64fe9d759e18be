// Tracker for Python: borrow the samples, release the GIL, run.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>

#include "module.hpp"
#include "py_tracker.hpp"
#include "saved.hpp"

namespace gasg21::bindings {

namespace {

template <class T>
void bind_tracker_in(py::module_& m, const char* name) {
  using Class = PyTracker<T>;
  using Core = typename Class::Core;
  // Updates and nothing else: an estimator says how its stream is followed.
  const auto plain = [](Core core) {
    core.follow(Following::none());
    return std::make_unique<Class>(std::move(core));
  };
  const auto random_start = [plain](uword n, uword d, const Rule& rule, std::uint64_t seed,
                                    const LossName& loss, const Metric& metric) {
    return plain(Core(n, d, AnyStep{rule}, seed, AnyLoss(loss), AnyMetric{metric}));
  };
  const auto given_start = [plain](const py::array& components, const Rule& rule,
                                   std::uint64_t seed, const LossName& loss, const Metric& metric) {
    return plain(Core(copy_basis<T>(components, "components"), AnyStep{rule}, seed, AnyLoss(loss),
                      AnyMetric{metric}));
  };
  make_picklable(
      py::class_<Class>(m, name)
          .def(py::init(random_start), py::arg("n"), py::arg("d"), py::arg("rule"), py::arg("seed"),
               py::arg("loss") = "l21", py::arg("metric") = NoScaling{},
               "Start from a random d-dimensional subspace of R^n.")
          .def_static("from_components", given_start, py::arg("components"), py::arg("rule"),
                      py::arg("seed"), py::arg("loss") = "l21", py::arg("metric") = NoScaling{},
                      "Start from the row space of a (d, n) array.")
          .def("consume", &Class::consume, py::arg("samples"), py::arg("mask") = py::none(),
               py::arg("order") = py::none(), py::arg("progress") = py::none(),
               "Update with each sample: an array (m, n), borrowed, or (data, indices, indptr).")
          .def(
              "consume_row", &Class::consume_row, py::arg("row"), py::arg("mask") = py::none(),
              "Update with a plain (n,) or (1, n) array and return its residual; None if it is not "
              "one, or holds an infinity: then nothing has changed.")
          .def("permutation", &Class::permutation, py::arg("count"),
               "The next random order of `count` samples.")
          .def("components", &Class::components, "The orthonormal basis, a new array (d, n).")
          .def("published", &Class::published, py::arg("rotate") = true,
               "Subspace, counters, step and level, all of the same moment.")
          .def_property_readonly("is_lifted", &Class::is_lifted)
          .def_property_readonly("is_replaying", &Class::is_replaying)
          .def_property_readonly("replay", &Class::replay)
          .def_property_readonly("n_features", &Class::n_features)
          .def_property_readonly("n_seen", &Class::n_seen)
          .def_property_readonly("eta", [](Class& self) { return self.step().eta(); })
          .def_property_readonly("level", [](Class& self) { return self.step().level(); })
          .def("counters", &Class::counters));
}

}  // namespace

void bind_tracker(py::module_& m) {
  const Following defaults;
  py::class_<Following>(m, "Following")
      .def(py::init([](uword replay, bool restart, bool watch) {
             return Following{replay, restart, watch};
           }),
           py::kw_only(), py::arg("replay") = defaults.replay,
           py::arg("restart") = defaults.restart, py::arg("watch") = defaults.watch,
           "What a stream does beyond the updates.");
  bind_tracker_in<double>(m, "Tracker64");
  bind_tracker_in<float>(m, "Tracker32");
}

}  // namespace gasg21::bindings
