// K subspaces for Python: the stream, and the assignment of samples to subspaces that stand still.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cmath>
#include <gasg21/gasg21.hpp>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "any_rule.hpp"
#include "array_view.hpp"
#include "bases.hpp"
#include "module.hpp"
#include "pickling.hpp"
#include "tracker_state.hpp"
#include "watch.hpp"
#include "worth.hpp"

namespace gasg21::bindings {

namespace {

constexpr int schema = 2;  // of the pickled state; raise it when the fields change

template <class T>
class PyKSubspaces {
 public:
  using Core = KSubspaces<T, AnyStep, AnyMetric>;
  using Rule = decltype(AnyStep::rule);
  using Metric = decltype(AnyMetric::metric);

  explicit PyKSubspaces(Core core) : core_(std::move(core)) {}

  /// Updates with the samples, in the given order or as they stand. Returns which subspace took
  /// each, -1 = none, and their residuals before the update.
  py::tuple consume(const py::object& samples, const py::object& mask, const py::object& order,
                    py::object progress) {
    const AnyView<T> view = as_view<T>(samples, mask, core_.n());
    const uword m = std::visit([](const auto& v) { return v.n_cols; }, view);
    const arma::uvec at = !order.is_none() ? as_order(order)
                          : m == 0         ? arma::uvec()
                                           : arma::regspace<arma::uvec>(0, m - 1);
    arma::uvec labels(at.n_elem);
    py::array_t<double> residuals(py::ssize_t(at.n_elem));
    double* next_residual = residuals.mutable_data();
    uword* next_label = labels.memptr();
    std::unique_lock<std::mutex> lock(mutex_, std::defer_lock);
    Watch watch(std::move(progress), double(core_.n() * core_.size()), &lock);
    const auto observer = [&](const ClusterReport& step) {
      *next_residual++ = step.residual;
      *next_label++ = step.cluster;
      return watch.tick(step);
    };
    {
      const py::gil_scoped_release nogil;
      lock.lock();
      std::visit([&](const auto& v) { run(core_, v, at, observer); }, view);
      lock.unlock();
    }
    watch.finish();
    return py::make_tuple(to_labels(labels, core_.size()), residuals);
  }

  py::array_t<std::uint64_t> permutation(uword count) {
    return to_array(alone([&](Core& core) { return core.random().permutation(count); }));
  }

  py::list subspaces() {
    return to_list(alone([](Core& core) { return core.bases(); }));
  }

  void restart(const py::list& subspaces, const std::vector<Rule>& rules) {
    std::vector<AnyStep> steps;
    for (const Rule& rule : rules) steps.push_back(AnyStep{rule});
    alone([&, bases = copy_bases<T>(subspaces)](Core& core) { core.restart(bases, steps); });
  }

  py::dict counters() {
    return to_dict(alone([](Core& core) { return core.counters(); }));
  }

  std::vector<Rule> rules() {
    return alone([](Core& core) {
      std::vector<Rule> all;
      for (uword k = 0; k < core.size(); ++k) all.push_back(core.tracker(k).rule().rule);
      return all;
    });
  }

  py::tuple get_state() {
    const auto s = alone([](Core& core) { return core.state(); });
    py::list trackers;
    for (const auto& one : s.trackers) trackers.append(pack<T>(one));
    return py::make_tuple(schema, trackers, s.random.state(), pack(s.skipped));
  }

  static std::unique_ptr<PyKSubspaces> from_state(const py::tuple& t) {
    require(t.size() == 4 && t[0].cast<int>() == schema,
            "this pickle holds another version of the state of K subspaces");
    typename Core::State s{{}, Random(t[2].cast<Random::State>()), unpack_counters(t[3])};
    for (const auto& one : t[1].cast<py::list>())
      s.trackers.push_back(unpack<T>(one.cast<py::tuple>()));
    return std::make_unique<PyKSubspaces>(Core(std::move(s)));
  }

 private:
  /// Runs with the lock and without the GIL, as in PyTracker.
  template <class Work>
  auto alone(Work&& work) {
    const py::gil_scoped_release nogil;
    const std::lock_guard<std::mutex> lock(mutex_);
    return work(core_);
  }

  Core core_;
  std::mutex mutex_;
};

template <class T>
void bind_class(py::module_& m, const char* name) {
  using Class = PyKSubspaces<T>;
  py::class_<Class>(m, name)
      .def(py::init([](const py::list& subspaces, const typename Class::Rule& rule,
                       std::uint64_t seed, const typename Class::Metric& metric) {
             return std::make_unique<Class>(typename Class::Core(
                 copy_bases<T>(subspaces), AnyStep{rule}, seed, AnyMetric{metric}));
           }),
           py::arg("subspaces"), py::arg("rule"), py::arg("seed"), py::arg("metric") = NoScaling{},
           "Start from the row spaces of a list of (d_k, n) arrays.")
      .def("consume", &Class::consume, py::arg("samples"), py::arg("mask") = py::none(),
           py::arg("order") = py::none(), py::arg("progress") = py::none(),
           "Update with each sample; returns labels and residuals.")
      .def("restart", &Class::restart, py::arg("subspaces"), py::arg("rules"),
           "Go on from other subspaces of the same dimensions with other rules.")
      .def("permutation", &Class::permutation, py::arg("count"),
           "The next random order of `count` samples.")
      .def("subspaces", &Class::subspaces, "The orthonormal bases, new arrays (d_k, n).")
      .def_property_readonly("rules", &Class::rules)
      .def("counters", &Class::counters)
      .def("__getstate__", &Class::get_state)
      .def_static("_from_state", &Class::from_state)
      .def("__reduce__", reduce);
}

template <class T>
py::tuple assign_all(const py::list& subspaces, const py::object& samples, const py::object& mask,
                     unsigned n_threads) {
  const SubspaceBank<T> bank(copy_bases<T>(subspaces));
  const AnyView<T> view = as_view<T>(samples, mask, bank.n());
  Assignment<T> all;
  const double work = stored_entries<T>(view) * double(bank.size());
  without_gil<T>(view, worthwhile(n_threads, work),
                 [&](const auto& v, const Parallel& p) { all = assign(bank, v, p); });
  return py::make_tuple(to_labels(all.labels, bank.size()), to_column_array(all.residuals));
}

/// Residuals (m, K) to full precision: 0 for a sample of zeros, NaN where not determined.
template <class T>
py::array_t<T> residuals_to_all(const py::list& subspaces, const py::object& samples,
                                const py::object& mask, unsigned n_threads) {
  using Scratch = typename SubspaceBank<T>::Scratch;
  const SubspaceBank<T> bank(copy_bases<T>(subspaces));
  const AnyView<T> view = as_view<T>(samples, mask, bank.n());
  const uword m = std::visit([](const auto& v) { return v.n_cols; }, view), K = bank.size();
  py::array_t<T> out({py::ssize_t(m), py::ssize_t(K)});
  T* to = out.mutable_data();
  constexpr uword chunk = 16;
  const double work = stored_entries<T>(view) * double(K);
  without_gil<T>(view, worthwhile(n_threads, work), [&](const auto& v, const Parallel& p) {
    p.for_all((m + chunk - 1) / chunk, [&] { return Scratch(bank); },
              [&](uword task, Scratch& scratch) {
                for (uword j = task * chunk; j < std::min(m, (task + 1) * chunk); ++j) {
                  const Usable usable = scratch.x.read(v.sample(j));
                  for (uword k = 0; k < K; ++k)
                    to[j * K + k] = usable == Usable::yes    ? bank.exact_residual(k, scratch)
                                    : usable == Usable::zero ? T(0)
                                                             : T(std::nan(""));
                }
              });
  });
  return out;
}

template <class T>
void bind_functions(py::module_& m, const std::string& bits) {
  m.def(("assign" + bits).c_str(), &assign_all<T>, py::arg("subspaces"), py::arg("samples"),
        py::arg("mask") = py::none(), py::arg("n_threads") = 1,
        "Labels of the nearest of several orthonormal (d_k, n) arrays, and residuals.");
  m.def(("residuals" + bits).c_str(), &residuals_to_all<T>, py::arg("subspaces"),
        py::arg("samples"), py::arg("mask") = py::none(), py::arg("n_threads") = 1,
        "Residuals (m, K) of the unit-norm samples in each subspace.");
}

}  // namespace

void bind_k_subspaces(py::module_& m) {
  bind_class<double>(m, "KSubspaces64");
  bind_class<float>(m, "KSubspaces32");
  bind_functions<double>(m, "64");
  bind_functions<float>(m, "32");
}

}  // namespace gasg21::bindings
