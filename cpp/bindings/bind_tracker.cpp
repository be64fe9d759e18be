// Tracker for Python: borrow the samples, release the GIL, run.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <gasg21/gasg21.hpp>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "any_rule.hpp"
#include "array_view.hpp"
#include "module.hpp"
#include "pickling.hpp"
#include "watch.hpp"

namespace gasg21::bindings {

namespace {

constexpr int schema = 1;  // of the pickled state; raise it when the fields change

py::array_t<std::uint64_t> to_array(const arma::uvec& order) {
  return py::array_t<std::uint64_t>(py::ssize_t(order.n_elem),
                                    reinterpret_cast<const std::uint64_t*>(order.memptr()));
}

template <class T>
class PyTracker {
 public:
  using Core = Tracker<T, AnyStep, AnyLoss, AnyMetric>;

  explicit PyTracker(Core core) : core_(std::move(core)) {}

  /// Updates with the samples, in the given order or as they stand. Returns their residuals before
  /// the update, NaN for those that were skipped.
  py::array_t<double> consume(const py::object& samples, const py::object& mask,
                              const py::object& order, py::object progress,
                              const HeldOut* held_out) {
    const AnyView<T> view = as_view<T>(samples, mask, core_.n(), held_out);
    const uword m = std::visit([](const auto& v) { return v.n_cols; }, view);
    if (m == 0) return py::array_t<double>(0);
    const arma::uvec at = order.is_none() ? arma::regspace<arma::uvec>(0, m - 1) : as_order(order);
    py::array_t<double> residuals(py::ssize_t(at.n_elem));
    double* next = residuals.mutable_data();
    std::unique_lock<std::mutex> lock(mutex_, std::defer_lock);
    Watch watch(std::move(progress), double(core_.n() * (core_.d() + 1)), &lock);
    const auto observer = [&](const StepReport& step) {
      *next++ = step.residual;
      return watch.tick(step);
    };
    {
      const py::gil_scoped_release nogil;
      lock.lock();
      std::visit([&](const auto& v) { run(core_, v, at, observer); }, view);
      lock.unlock();
    }
    watch.finish();
    return residuals;
  }

  py::array_t<std::uint64_t> permutation(uword count) {
    return to_array(alone([&](Core& core) { return core.random().permutation(count); }));
  }

  py::array_t<T> components() {
    return to_components(alone([](Core& core) { return core.basis(); }));
  }

  void restart(const py::array& components, const decltype(AnyStep::rule)& rule) {
    const arma::Mat<T> U = as_basis<T>(components, "components");
    alone([&](Core& core) {
      core.restart(arma::Mat<T>(U.memptr(), U.n_rows, U.n_cols), AnyStep{rule});
    });
  }

  std::unique_ptr<PyTracker> with_counters_of(PyTracker& other) {
    auto state = snapshot();
    const auto counted = other.snapshot();
    state.counters = counted.counters;
    state.entries_used = counted.entries_used;
    state.random = counted.random;
    return std::make_unique<PyTracker>(Core(std::move(state), core_.loss()));
  }

  AnyStep step() {
    return alone([](Core& core) { return core.state().rule; });
  }

  py::dict counters() {
    const auto [c, entries_used] = alone([](Core& core) {
      return std::make_pair(core.state().counters, core.state().entries_used);
    });
    return py::dict(py::arg("n_seen") = c.seen(), py::arg("n_used") = c.used(),
                    py::arg("n_zero") = c[StepOutcome::zero],
                    py::arg("n_all_missing") = c[StepOutcome::all_missing],
                    py::arg("n_too_few") = c[StepOutcome::too_few_entries],
                    py::arg("n_nonfinite") = c[StepOutcome::not_finite],
                    py::arg("n_rank_deficient") = c[StepOutcome::rank_deficient],
                    py::arg("n_orthogonal") = c[StepOutcome::orthogonal],
                    py::arg("entries_used") = entries_used);
  }

  py::tuple get_state() {
    const auto s = snapshot();
    py::list counts;
    for (std::size_t o = 0; o < n_outcomes; ++o) counts.append(s.counters[StepOutcome(o)]);
    return py::make_tuple(schema, core_.loss().name(), to_components(s.U), s.rule.rule,
                          to_column_array(s.previous.e), to_column_array(s.previous.w),
                          s.previous.weight, s.random.state(), counts, s.entries_used,
                          s.steps_since_check, s.metric.metric);
  }

  static std::unique_ptr<PyTracker> from_state(const py::tuple& t) {
    require(t.size() == 12 && t[0].cast<int>() == schema,
            "this pickle holds another version of a tracker's state");
    const auto U = t[2].cast<py::array>();
    const arma::Mat<T> borrowed = as_basis<T>(U, "U");
    typename Core::State s{
        arma::Mat<T>(borrowed.memptr(), borrowed.n_rows, borrowed.n_cols),
        AnyStep{t[3].cast<decltype(AnyStep::rule)>()},
        AnyMetric{t[11].cast<decltype(AnyMetric::metric)>()},
        {to_column(t[4], borrowed.n_rows), to_column(t[5], borrowed.n_cols), t[6].cast<double>()},
        Random(t[7].cast<Random::State>()),
        Counters{}};
    const auto counts = t[8].cast<py::list>();
    require(counts.size() == n_outcomes, "this pickle holds other counters");
    for (std::size_t o = 0; o < n_outcomes; ++o)
      s.counters[StepOutcome(o)] = counts[o].cast<std::uint64_t>();
    s.entries_used = t[9].cast<std::uint64_t>();
    s.steps_since_check = t[10].cast<std::uint64_t>();
    return std::make_unique<PyTracker>(Core(std::move(s), AnyLoss(t[1].cast<LossName>())));
  }

 private:
  /// Runs with the lock and without the GIL. (Never the GIL first and then the lock: a running
  /// `consume` holds the lock and takes the GIL now and then.)
  template <class Work>
  auto alone(Work&& work) {
    const py::gil_scoped_release nogil;
    const std::lock_guard<std::mutex> lock(mutex_);
    return work(core_);
  }

  typename Core::State snapshot() {
    return alone([](Core& core) { return core.state(); });
  }

  static arma::uvec as_order(const py::object& order) {
    const auto a = order.cast<py::array>();
    const uword* at =
        reinterpret_cast<const uword*>(as_vector<std::uint64_t>(a, uword(a.size()), "order"));
    return arma::uvec(const_cast<uword*>(at), uword(a.size()), false, true);
  }

  static py::array_t<T> to_column_array(const arma::Col<T>& v) {
    return py::array_t<T>(py::ssize_t(v.n_elem), v.memptr());
  }

  static arma::Col<T> to_column(const py::handle& h, uword count) {
    return arma::Col<T>(as_vector<T>(h.cast<py::array>(), count, "previous gradient"), count);
  }

  Core core_;
  std::mutex mutex_;
};

template <class T>
void bind_for(py::module_& m, const char* name) {
  using Class = PyTracker<T>;
  using Rule = decltype(AnyStep::rule);
  using Metric = decltype(AnyMetric::metric);
  py::class_<Class>(m, name)
      .def(py::init([](uword n, uword d, const Rule& rule, std::uint64_t seed, const LossName& loss,
                       const Metric& metric) {
             return std::make_unique<Class>(
                 typename Class::Core(n, d, AnyStep{rule}, seed, AnyLoss(loss), AnyMetric{metric}));
           }),
           py::arg("n"), py::arg("d"), py::arg("rule"), py::arg("seed"), py::arg("loss") = "l21",
           py::arg("metric") = NoScaling{}, "Start from a random d-dimensional subspace of R^n.")
      .def_static(
          "from_components",
          [](const py::array& components, const Rule& rule, std::uint64_t seed,
             const LossName& loss, const Metric& metric) {
            const arma::Mat<T> U = as_basis<T>(components, "components");
            return std::make_unique<Class>(
                typename Class::Core(arma::Mat<T>(U.memptr(), U.n_rows, U.n_cols), AnyStep{rule},
                                     seed, AnyLoss(loss), AnyMetric{metric}));
          },
          py::arg("components"), py::arg("rule"), py::arg("seed"), py::arg("loss") = "l21",
          py::arg("metric") = NoScaling{}, "Start from the row space of a (d, n) array.")
      .def("consume", &Class::consume, py::arg("samples"), py::arg("mask") = py::none(),
           py::arg("order") = py::none(), py::arg("progress") = py::none(),
           py::arg("held_out") = py::none(),
           "Update with each sample: an array (m, n), borrowed, or (data, indices, indptr).")
      .def("restart", &Class::restart, py::arg("components"), py::arg("rule"),
           "Go on from another basis (d, n) with another rule.")
      .def_property_readonly("rule", [](Class& self) { return self.step().rule; })
      .def("with_counters_of", &Class::with_counters_of, py::arg("other"),
           "This tracker, counting on from another one.")
      .def("permutation", &Class::permutation, py::arg("count"),
           "The next random order of `count` samples.")
      .def("components", &Class::components, "The orthonormal basis, a new array (d, n).")
      .def_property_readonly("eta", [](Class& self) { return self.step().eta(); })
      .def_property_readonly("level", [](Class& self) { return self.step().level(); })
      .def("counters", &Class::counters)
      .def("__getstate__", &Class::get_state)
      .def_static("_from_state", &Class::from_state)
      .def("__reduce__", reduce);
}

template <class T>
void bind_start(py::module_& m, const char* name) {
  m.def(
      name,
      [](const py::object& samples, const py::object& mask, uword n, uword d, std::uint64_t seed) {
        const AnyView<T> view = as_view<T>(samples, mask, n);
        Random random(seed);
        Watch watch{py::none(), double(n * d)};
        const arma::Mat<T> U = [&] {
          const py::gil_scoped_release nogil;
          return std::visit(
              [&](const auto& v) {
                return spherical_pca_basis<T>(v, d, random, [&] { return watch.tick(); });
              },
              view);
        }();
        watch.finish();
        return to_components(U);
      },
      py::arg("samples"), py::arg("mask"), py::arg("n"), py::arg("d"), py::arg("seed"),
      "The leading directions of the spherized samples, (d, n).");
}

}  // namespace

void bind_tracker(py::module_& m) {
  py::class_<HeldOut>(m, "HeldOut")
      .def(py::init([](decltype(HeldOut::rows) rows) { return HeldOut{std::move(rows)}; }),
           py::arg("rows"), "Entries to treat as missing: sample -> sorted list of features.");
  bind_start<double>(m, "spherical_pca64");
  bind_start<float>(m, "spherical_pca32");
  m.def(
      "permutation",
      [](uword count, std::uint64_t seed) { return to_array(Random(seed).permutation(count)); },
      py::arg("count"), py::arg("seed"), "0 to count - 1 in random order.");
  bind_for<double>(m, "Tracker64");
  bind_for<float>(m, "Tracker32");
}

}  // namespace gasg21::bindings
