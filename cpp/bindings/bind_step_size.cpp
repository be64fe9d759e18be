// The step rules, the L1 loss and the metrics, with their state: what Python hands to a tracker,
// and what a pickle holds.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <gasg21/loss.hpp>
#include <gasg21/metric.hpp>
#include <gasg21/step_size.hpp>
#include <optional>

#include "module.hpp"
#include "saved.hpp"

namespace gasg21::bindings {

namespace py = pybind11;

namespace {

/// The loss, once its fit has accepted its constants.
L1Loss checked(const L1Loss& loss) {
  loss.make_fit<double>(2, 1);
  return loss;
}

void bind_adaptive(py::module_& m) {
  const AdaptiveStepOptions defaults;
  make_picklable(
      py::class_<AdaptiveStep>(m, "AdaptiveStep")
          .def(py::init([](std::optional<double> eta0, std::optional<double> mu_max, double mu_min,
                           double f_min, double f_max, double omega,
                           std::optional<std::int64_t> max_level, bool scaling, bool stream) {
                 AdaptiveStepOptions options = AdaptiveStepOptions::defaults(scaling, stream);
                 options.eta0 = eta0.value_or(options.eta0);
                 options.mu_max = mu_max.value_or(options.mu_max);
                 options.mu_min = mu_min;
                 options.f_min = f_min;
                 options.f_max = f_max;
                 options.omega = omega;
                 options.max_level = max_level.value_or(options.max_level);
                 return AdaptiveStep(options);
               }),
               py::arg("eta0") = py::none(), py::arg("mu_max") = py::none(),
               py::arg("mu_min") = defaults.mu_min, py::arg("f_min") = defaults.f_min,
               py::arg("f_max") = defaults.f_max, py::arg("omega") = defaults.omega,
               py::arg("max_level") = py::none(), py::arg("scaling") = false,
               py::arg("stream") = false,
               "None = the default of the metric, for a stream or a fit.")
          .def_property_readonly("eta", &AdaptiveStep::eta)
          .def_property_readonly("level", &AdaptiveStep::level));
}

void bind_diminishing(py::module_& m) {
  make_picklable(py::class_<DiminishingStep>(m, "DiminishingStep")
                     .def(py::init<double>(), py::arg("eta0") = DiminishingStep().eta0())
                     .def_property_readonly("eta", &DiminishingStep::eta)
                     .def_property_readonly("level", &DiminishingStep::level));
}

void bind_constant(py::module_& m) {
  make_picklable(py::class_<ConstantStep>(m, "ConstantStep")
                     .def(py::init<double>(), py::arg("eta0") = ConstantStep().eta())
                     .def_property_readonly("eta", &ConstantStep::eta)
                     .def_property_readonly("level", &ConstantStep::level));
}

void bind_multi_level(py::module_& m) {
  const MultiLevelStepOptions levels;
  make_picklable(
      py::class_<MultiLevelStep>(m, "MultiLevelStep")
          .def(py::init([](double first_angle, double mu_max, double mu_min, double f_min,
                           double f_max, double omega, std::int64_t max_level, double max_angle) {
                 return MultiLevelStep(MultiLevelStepOptions{first_angle, mu_max, mu_min, f_min,
                                                             f_max, omega, max_level, max_angle});
               }),
               py::arg("first_angle") = levels.first_angle, py::arg("mu_max") = levels.mu_max,
               py::arg("mu_min") = levels.mu_min, py::arg("f_min") = levels.f_min,
               py::arg("f_max") = levels.f_max, py::arg("omega") = levels.omega,
               py::arg("max_level") = levels.max_level, py::arg("max_angle") = levels.max_angle)
          .def_property_readonly("eta", &MultiLevelStep::eta)
          .def_property_readonly("level", &MultiLevelStep::level));
}

void bind_greedy(py::module_& m) {
  make_picklable(py::class_<GreedyStep>(m, "GreedyStep")
                     .def(py::init<>())
                     .def_property_readonly("eta", &GreedyStep::eta)
                     .def_property_readonly("level", &GreedyStep::level));
}

void bind_l1_loss(py::module_& m) {
  const L1AdmmOptions admm;
  make_picklable(py::class_<L1Loss>(m, "L1Loss")
                     .def(py::init([](double rho, std::int64_t max_iter, double tol) {
                            return checked(L1Loss{{rho, max_iter, tol}});
                          }),
                          py::arg("rho") = admm.rho, py::arg("max_iter") = admm.max_iter,
                          py::arg("tol") = admm.tol));
}

void bind_metrics(py::module_& m) {
  make_picklable(py::class_<NoScaling>(m, "NoScaling").def(py::init<>()));

  make_picklable(
      py::class_<CovarianceScaling>(m, "CovarianceScaling")
          .def(py::init<double>(), py::arg("forgetting") = CovarianceScaling().forgetting()));
}

}  // namespace

void bind_step_size(py::module_& m) {
  bind_adaptive(m);
  bind_diminishing(m);
  bind_constant(m);
  bind_multi_level(m);
  bind_greedy(m);
  bind_l1_loss(m);
  bind_metrics(m);
}

}  // namespace gasg21::bindings
