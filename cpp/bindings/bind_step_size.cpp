// The step rules, the L1 loss and the metrics, with their state: what Python hands to a tracker,
// and what a pickle holds.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <gasg21/loss.hpp>
#include <gasg21/metric.hpp>
#include <gasg21/step_size.hpp>
#include <optional>

#include "module.hpp"
#include "pickling.hpp"

namespace gasg21::bindings {

namespace py = pybind11;

namespace {

// Of a pickled CovarianceScaling; raise it when the fields change.
constexpr int scaling_schema = 3;

/// `next` of a rule that looks at the whole gradient.
template <class Rule>
double next_of(Rule& rule, double agreement, double length, double previous_length, double slope) {
  return rule.next(GradientSummary{agreement, length, previous_length, slope});
}

/// The loss, once its fit has accepted its constants.
L1Loss checked(const L1Loss& loss) {
  loss.make_fit<double>(2, 1);
  return loss;
}

void bind_adaptive(py::module_& m) {
  const AdaptiveStepOptions defaults;
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
           py::arg("max_level") = py::none(), py::arg("scaling") = false, py::arg("stream") = false,
           "None = the default of the metric, for a stream or a fit.")
      .def("at_level", &AdaptiveStep::at_level, py::arg("level"))
      .def("next", py::overload_cast<double>(&AdaptiveStep::next), py::arg("agreement"))
      .def("sigmoid", &AdaptiveStep::sigmoid, py::arg("x"))
      .def_property_readonly("eta", &AdaptiveStep::eta)
      .def_property_readonly("mu", &AdaptiveStep::mu)
      .def_property_readonly("level", &AdaptiveStep::level)
      .def("__getstate__",
           [](const AdaptiveStep& r) {
             const auto& o = r.options();
             return py::make_tuple(o.eta0, o.mu_max, o.mu_min, o.f_min, o.f_max, o.omega,
                                   o.max_level, r.mu(), r.level(), o.steady);
           })
      .def_static("_from_state",
                  [](const py::tuple& t) {
                    require(t.size() == 10, "not the state of an AdaptiveStep");
                    const auto real = [&](int i) { return t[i].cast<double>(); };
                    const auto whole = [&](int i) { return t[i].cast<std::int64_t>(); };
                    return AdaptiveStep({real(0), real(1), real(2), real(3), real(4), real(5),
                                         whole(6), t[9].cast<bool>()},
                                        real(7), whole(8));
                  })
      .def("__reduce__", reduce);
}

void bind_diminishing(py::module_& m) {
  py::class_<DiminishingStep>(m, "DiminishingStep")
      .def(py::init<double>(), py::arg("eta0") = DiminishingStep().eta0())
      .def("next", py::overload_cast<double>(&DiminishingStep::next), py::arg("agreement"))
      .def_property_readonly("eta", &DiminishingStep::eta)
      .def_property_readonly("level", &DiminishingStep::level)
      .def("__getstate__",
           [](const DiminishingStep& r) { return py::make_tuple(r.eta0(), r.taken()); })
      .def_static("_from_state",
                  [](const py::tuple& t) {
                    require(t.size() == 2, "not the state of a DiminishingStep");
                    return DiminishingStep(t[0].cast<double>(), t[1].cast<std::int64_t>());
                  })
      .def("__reduce__", reduce);
}

void bind_constant(py::module_& m) {
  py::class_<ConstantStep>(m, "ConstantStep")
      .def(py::init<double>(), py::arg("eta0") = ConstantStep().eta())
      .def("next", py::overload_cast<double>(&ConstantStep::next), py::arg("agreement"))
      .def_property_readonly("eta", &ConstantStep::eta)
      .def_property_readonly("level", &ConstantStep::level)
      .def("__getstate__", [](const ConstantStep& r) { return py::make_tuple(r.eta()); })
      .def_static("_from_state",
                  [](const py::tuple& t) {
                    require(t.size() == 1, "not the state of a ConstantStep");
                    return ConstantStep(t[0].cast<double>());
                  })
      .def("__reduce__", reduce);
}

void bind_multi_level(py::module_& m) {
  const MultiLevelStepOptions levels;
  py::class_<MultiLevelStep>(m, "MultiLevelStep")
      .def(py::init([](double first_angle, double mu_max, double mu_min, double f_min, double f_max,
                       double omega, std::int64_t max_level, double max_angle) {
             return MultiLevelStep(
                 {first_angle, mu_max, mu_min, f_min, f_max, omega, max_level, max_angle});
           }),
           py::arg("first_angle") = levels.first_angle, py::arg("mu_max") = levels.mu_max,
           py::arg("mu_min") = levels.mu_min, py::arg("f_min") = levels.f_min,
           py::arg("f_max") = levels.f_max, py::arg("omega") = levels.omega,
           py::arg("max_level") = levels.max_level, py::arg("max_angle") = levels.max_angle)
      .def("next", &next_of<MultiLevelStep>, py::arg("agreement"), py::arg("length"),
           py::arg("previous_length"), py::arg("slope"))
      .def_property_readonly("eta", &MultiLevelStep::eta)
      .def_property_readonly("mu", &MultiLevelStep::mu)
      .def_property_readonly("level", &MultiLevelStep::level)
      .def("__getstate__",
           [](const MultiLevelStep& r) {
             const auto& o = r.options();
             return py::make_tuple(o.first_angle, o.mu_max, o.mu_min, o.f_min, o.f_max, o.omega,
                                   o.max_level, o.max_angle, r.scale(), r.mu(), r.level(), r.eta());
           })
      .def_static("_from_state",
                  [](const py::tuple& t) {
                    require(t.size() == 12, "not the state of a MultiLevelStep");
                    const auto real = [&](int i) { return t[i].cast<double>(); };
                    const auto whole = [&](int i) { return t[i].cast<std::int64_t>(); };
                    return MultiLevelStep(
                        {real(0), real(1), real(2), real(3), real(4), real(5), whole(6), real(7)},
                        real(8), real(9), whole(10), real(11));
                  })
      .def("__reduce__", reduce);
}

void bind_greedy(py::module_& m) {
  py::class_<GreedyStep>(m, "GreedyStep")
      .def(py::init<>())
      .def("next", &next_of<GreedyStep>, py::arg("agreement"), py::arg("length"),
           py::arg("previous_length"), py::arg("slope"))
      .def_property_readonly("eta", &GreedyStep::eta)
      .def_property_readonly("level", &GreedyStep::level)
      .def("__getstate__", [](const GreedyStep& r) { return py::make_tuple(r.eta()); })
      .def_static("_from_state",
                  [](const py::tuple& t) {
                    require(t.size() == 1, "not the state of a GreedyStep");
                    return GreedyStep(t[0].cast<double>());
                  })
      .def("__reduce__", reduce);
}

void bind_l1_loss(py::module_& m) {
  const L1AdmmOptions admm;
  py::class_<L1Loss>(m, "L1Loss")
      .def(py::init([](double rho, std::int64_t max_iter, double tol) {
             return checked(L1Loss{{rho, max_iter, tol}});
           }),
           py::arg("rho") = admm.rho, py::arg("max_iter") = admm.max_iter,
           py::arg("tol") = admm.tol)
      .def("__getstate__",
           [](const L1Loss& l) {
             return py::make_tuple(l.options.rho, l.options.max_iter, l.options.tol);
           })
      .def_static("_from_state",
                  [](const py::tuple& t) {
                    require(t.size() == 3, "not the state of an L1Loss");
                    return checked(L1Loss{
                        {t[0].cast<double>(), t[1].cast<std::int64_t>(), t[2].cast<double>()}});
                  })
      .def("__reduce__", reduce);
}

void bind_metrics(py::module_& m) {
  py::class_<NoScaling>(m, "NoScaling")
      .def(py::init<>())
      .def("__getstate__", [](const NoScaling&) { return py::tuple(); })
      .def_static("_from_state", [](const py::tuple&) { return NoScaling{}; })
      .def("__reduce__", reduce);

  py::class_<CovarianceScaling>(m, "CovarianceScaling")
      .def(py::init<double>(), py::arg("forgetting") = CovarianceScaling().forgetting())
      .def("__getstate__",
           [](const CovarianceScaling& c) {
             const arma::mat& L = c.factor();
             const auto d = py::ssize_t(L.n_rows);
             return py::make_tuple(scaling_schema, c.forgetting(),
                                   py::array_t<double>({d, d}, L.memptr()), c.weight(), c.trace());
           })
      .def_static("_from_state",
                  [](const py::tuple& t) {
                    require(t.size() == 5 && t[0].cast<int>() == scaling_schema,
                            "this pickle holds another version of a CovarianceScaling's state");
                    const auto L = t[2].cast<py::array_t<double, py::array::c_style>>();
                    require(L.ndim() == 2, "not the state of a CovarianceScaling");
                    return CovarianceScaling(
                        t[1].cast<double>(),
                        arma::mat(L.data(), uword(L.shape(1)), uword(L.shape(0))),
                        t[3].cast<double>(), t[4].cast<double>());
                  })
      .def("__reduce__", reduce);
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
