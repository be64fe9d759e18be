// The step rules, with their state: what Python hands to a tracker, and what a pickle holds.
#include <pybind11/pybind11.h>

#include <gasg21/gasg21.hpp>

#include "module.hpp"

namespace gasg21::bindings {

namespace py = pybind11;

void bind_step_size(py::module_& m) {
  const AdaptiveStepOptions defaults;
  py::class_<AdaptiveStep>(m, "AdaptiveStep")
      .def(py::init([](double eta0, double mu_max, double mu_min, double f_min, double f_max,
                       double omega) {
             return AdaptiveStep({eta0, mu_max, mu_min, f_min, f_max, omega});
           }),
           py::arg("eta0") = defaults.eta0, py::arg("mu_max") = defaults.mu_max,
           py::arg("mu_min") = defaults.mu_min, py::arg("f_min") = defaults.f_min,
           py::arg("f_max") = defaults.f_max, py::arg("omega") = defaults.omega)
      .def("next", &AdaptiveStep::next, py::arg("agreement"))
      .def("sigmoid", &AdaptiveStep::sigmoid, py::arg("x"))
      .def_property_readonly("eta", &AdaptiveStep::eta)
      .def_property_readonly("mu", &AdaptiveStep::mu)
      .def_property_readonly("level", &AdaptiveStep::level)
      .def(py::pickle(
          [](const AdaptiveStep& r) {
            const auto& o = r.options();
            return py::make_tuple(o.eta0, o.mu_max, o.mu_min, o.f_min, o.f_max, o.omega, r.mu(),
                                  r.level());
          },
          [](const py::tuple& t) {
            require(t.size() == 8, "not the state of an AdaptiveStep");
            const auto real = [&](int i) { return t[i].cast<double>(); };
            return AdaptiveStep({real(0), real(1), real(2), real(3), real(4), real(5)}, real(6),
                                t[7].cast<std::int64_t>());
          }));

  py::class_<DiminishingStep>(m, "DiminishingStep")
      .def(py::init<double>(), py::arg("eta0") = DiminishingStep().eta0())
      .def("next", &DiminishingStep::next, py::arg("agreement"))
      .def_property_readonly("eta", &DiminishingStep::eta)
      .def_property_readonly("level", &DiminishingStep::level)
      .def(py::pickle([](const DiminishingStep& r) { return py::make_tuple(r.eta0(), r.taken()); },
                      [](const py::tuple& t) {
                        require(t.size() == 2, "not the state of a DiminishingStep");
                        return DiminishingStep(t[0].cast<double>(), t[1].cast<std::int64_t>());
                      }));

  py::class_<ConstantStep>(m, "ConstantStep")
      .def(py::init<double>(), py::arg("eta0") = ConstantStep().eta())
      .def("next", &ConstantStep::next, py::arg("agreement"))
      .def_property_readonly("eta", &ConstantStep::eta)
      .def_property_readonly("level", &ConstantStep::level)
      .def(py::pickle([](const ConstantStep& r) { return py::make_tuple(r.eta()); },
                      [](const py::tuple& t) {
                        require(t.size() == 1, "not the state of a ConstantStep");
                        return ConstantStep(t[0].cast<double>());
                      }));
}

}  // namespace gasg21::bindings
