// K subspaces for Python: the stream, and the assignment of samples to fixed subspaces.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cmath>
#include <gasg21/fit/assign.hpp>
#include <memory>

#include "module.hpp"
#include "py_k_subspaces.hpp"
#include "saved.hpp"

namespace gasg21::bindings {

namespace {

template <class T>
void bind_k_subspaces_in(py::module_& m, const char* name) {
  using Class = PyKSubspaces<T>;
  const auto given_start = [](const py::list& subspaces, const Rule& rule, std::uint64_t seed,
                              const Metric& metric) {
    typename Class::Core core(copy_bases<T>(subspaces), AnyStep{rule}, seed, AnyMetric{metric});
    core.follow(Following::none());
    return std::make_unique<Class>(std::move(core));
  };
  make_picklable(
      py::class_<Class>(m, name)
          .def(py::init(given_start), py::arg("subspaces"), py::arg("rule"), py::arg("seed"),
               py::arg("metric") = NoScaling{},
               "Start from the row spaces of a list of (d_k, n) arrays.")
          .def("consume", &Class::consume, py::arg("samples"), py::arg("mask") = py::none(),
               py::arg("order") = py::none(), py::arg("progress") = py::none(),
               py::arg("union") = py::none(),
               "Update with each sample; returns labels and residuals.")
          .def("continue_from", &Class::continue_from, py::arg("subspaces"),
               py::arg("estimated_angles"), py::arg("stream_rule"),
               "Continue from subspaces of the same dimensions that a fit found.")
          .def("follow_after_fit", &Class::follow_after_fit, py::arg("samples"), py::arg("mask"),
               py::arg("following"), py::arg("settled"),
               "Follow the stream from subspaces that a fit has found on these samples.")
          .def("following", &Class::following,
               "The status of the stream, that of each subspace, and the changes of each.")
          .def("permutation", &Class::permutation, py::arg("count"),
               "The next random order of `count` samples.")
          .def("subspaces", &Class::subspaces, "The orthonormal bases, new arrays (d_k, n).")
          .def_property_readonly("replay", &Class::replay)
          .def_property_readonly("rules", &Class::rules)
          .def("counters", &Class::counters));
}

/// Calls work(bank, view, parallel) without the GIL.
template <class T, class Work>
void with_bank(const py::list& subspaces, const py::object& samples, const py::object& mask,
               unsigned n_threads, Work&& work) {
  const SubspaceBank<T> bank(copy_bases<T>(subspaces));
  const AnyView<T> view = as_view<T>(samples, mask, bank.n());
  const double products = view.stored_entries() * double(bank.size());
  without_gil(worthwhile(n_threads, products),
              [&](const Parallel& parallel) { work(bank, view, parallel); });
}

template <class T>
py::tuple assign_in(const py::list& subspaces, const py::object& samples, const py::object& mask,
                    unsigned n_threads) {
  const uword K = subspaces.size();
  Assignment<T> all;
  with_bank<T>(subspaces, samples, mask, n_threads,
               [&](const auto& bank, const auto&... rest) { all = assign(bank, rest...); });
  return py::make_tuple(to_labels(all.labels, K), to_column_array(all.residuals));
}

template <class T>
py::array assign_labels_in(const py::list& subspaces, const py::object& samples,
                           const py::object& mask, unsigned n_threads) {
  const uword K = subspaces.size();
  arma::uvec labels;
  with_bank<T>(subspaces, samples, mask, n_threads, [&](const auto& bank, const auto&... rest) {
    labels = assign_labels(bank, rest...);
  });
  return to_labels(labels, K);
}

/// Residuals (m, K) to full precision: 0 for a sample of zeros, NaN where not determined.
template <class T>
py::array_t<T> residuals_in(const py::list& subspaces, const py::object& samples,
                            const py::object& mask, unsigned n_threads) {
  using Scratch = typename SubspaceBank<T>::Scratch;
  const SubspaceBank<T> bank(copy_bases<T>(subspaces));
  const AnyView<T> view = as_view<T>(samples, mask, bank.n());
  const uword m = view.n_cols, K = bank.size();
  py::array_t<T> out({py::ssize_t(m), py::ssize_t(K)});
  T* to = out.mutable_data();
  constexpr uword chunk = 16;
  const auto measure = [&](uword j, Scratch& scratch) {
    const Usable usable = scratch.read(view.sample(j));
    for (uword k = 0; k < K; ++k)
      to[j * K + k] = usable == Usable::yes    ? bank.exact_residual(k, scratch)
                      : usable == Usable::zero ? T(0)
                                               : T(std::nan(""));
  };
  const double work = view.stored_entries() * double(K);
  without_gil(worthwhile(n_threads, work), [&](const Parallel& parallel) {
    parallel.for_all((m + chunk - 1) / chunk, [&] { return Scratch(bank); },
                     [&](uword task, Scratch& scratch) {
                       const uword end = std::min(m, (task + 1) * chunk);
                       for (uword j = task * chunk; j < end; ++j) measure(j, scratch);
                     });
  });
  return out;
}

/// The precision of a list of subspaces.
py::array first_of(const py::list& subspaces) {
  require(!subspaces.empty(), "there must be at least one subspace");
  return as_array(subspaces[0], "subspaces");
}

}  // namespace

void bind_k_subspaces(py::module_& m) {
  bind_k_subspaces_in<double>(m, "KSubspaces64");
  bind_k_subspaces_in<float>(m, "KSubspaces32");
  m.def(
      "assign",
      [](const py::list& subspaces, const py::object& samples, const py::object& mask,
         unsigned n_threads) {
        return in_precision_of(first_of(subspaces), [&](auto zero) {
          return assign_in<decltype(zero)>(subspaces, samples, mask, n_threads);
        });
      },
      py::arg("subspaces"), py::arg("samples"), py::arg("mask") = py::none(),
      py::arg("n_threads") = 1,
      "Labels of the nearest of several orthonormal (d_k, n) arrays, and residuals.");
  m.def(
      "assign_labels",
      [](const py::list& subspaces, const py::object& samples, const py::object& mask,
         unsigned n_threads) {
        return in_precision_of(first_of(subspaces), [&](auto zero) -> py::array {
          return assign_labels_in<decltype(zero)>(subspaces, samples, mask, n_threads);
        });
      },
      py::arg("subspaces"), py::arg("samples"), py::arg("mask") = py::none(),
      py::arg("n_threads") = 1, "The same without the residuals, in less time.");
  m.def(
      "residuals",
      [](const py::list& subspaces, const py::object& samples, const py::object& mask,
         unsigned n_threads) {
        return in_precision_of(first_of(subspaces), [&](auto zero) -> py::array {
          return residuals_in<decltype(zero)>(subspaces, samples, mask, n_threads);
        });
      },
      py::arg("subspaces"), py::arg("samples"), py::arg("mask") = py::none(),
      py::arg("n_threads") = 1, "Residuals (m, K) of the unit-norm samples in each subspace.");
}

}  // namespace gasg21::bindings
