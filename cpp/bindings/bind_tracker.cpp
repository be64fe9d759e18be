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
#include "infinite.hpp"
#include "module.hpp"
#include "pickling.hpp"
#include "tracker_state.hpp"
#include "watch.hpp"

namespace gasg21::bindings {

namespace {

constexpr int schema = 3;  // of the pickled state; raise it when the fields change

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

  /// Updates with one vector, the common case made short: a plain (1, n) array without infinities.
  /// Returns its residual before the update, NaN if it was skipped; or None, and nothing has
  /// happened, for whatever else was given, at which the caller must look closer.
  py::object consume_row(const py::handle& row) {
    if (Py_TYPE(row.ptr()) != py::detail::npy_api::get().PyArray_Type_) return py::none();
    const auto a = py::reinterpret_borrow<py::array>(row);
    constexpr int plain = py::array::c_style | py::detail::npy_api::NPY_ARRAY_ALIGNED_;
    if (!py::isinstance<py::array_t<T>>(a) || (a.flags() & plain) != plain || a.ndim() != 2 ||
        a.shape(0) != 1 || uword(a.shape(1)) != core_.n())
      return py::none();
    const T* values = static_cast<const T*>(a.data());
    if (first_infinite(values, nullptr, core_.n()) < core_.n()) return py::none();
    return py::float_(
        alone([&](Core& core) { return core.update(DenseSample<T>{values}).residual; }));
  }

  py::array_t<std::uint64_t> permutation(uword count) {
    return to_array(alone([&](Core& core) { return core.random().permutation(count); }));
  }

  py::array_t<T> components() {
    return to_components(alone([](Core& core) { return core.basis(); }));
  }

  void restart(const py::array& components, const decltype(AnyStep::rule)& rule) {
    alone([&, U = copy_basis<T>(components, "components")](Core& core) {
      core.restart(U, AnyStep{rule});
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
    return alone([](Core& core) { return core.rule(); });
  }

  py::dict counters() {
    const auto [c, entries_used] =
        alone([](Core& core) { return std::make_pair(core.counters(), core.entries_used()); });
    py::dict counters = to_dict(c);
    counters["entries_used"] = entries_used;
    return counters;
  }

  py::tuple get_state() { return py::make_tuple(schema, core_.loss().name(), pack<T>(snapshot())); }

  static std::unique_ptr<PyTracker> from_state(const py::tuple& t) {
    require(t.size() == 3 && t[0].cast<int>() == schema,
            "this pickle holds another version of a tracker's state");
    return std::make_unique<PyTracker>(
        Core(unpack<T>(t[2].cast<py::tuple>()), AnyLoss(t[1].cast<LossName>())));
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
            return std::make_unique<Class>(
                typename Class::Core(copy_basis<T>(components, "components"), AnyStep{rule}, seed,
                                     AnyLoss(loss), AnyMetric{metric}));
          },
          py::arg("components"), py::arg("rule"), py::arg("seed"), py::arg("loss") = "l21",
          py::arg("metric") = NoScaling{}, "Start from the row space of a (d, n) array.")
      .def("consume", &Class::consume, py::arg("samples"), py::arg("mask") = py::none(),
           py::arg("order") = py::none(), py::arg("progress") = py::none(),
           py::arg("held_out") = py::none(),
           "Update with each sample: an array (m, n), borrowed, or (data, indices, indptr).")
      .def("consume_row", &Class::consume_row, py::arg("row"),
           "Update with a plain (1, n) array and return its residual; None if it is not one, or "
           "holds an infinity: then nothing has happened.")
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
