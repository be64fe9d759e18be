// Samples in a fixed subspace, for Python: weights, residuals, and missing entries filled in.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <gasg21/fit/projector.hpp>

#include "any_rule.hpp"
#include "array_view.hpp"
#include "each_fitted.hpp"
#include "module.hpp"

namespace gasg21::bindings {

namespace {

template <class T>
py::tuple project_in(const py::array& components, const py::object& samples, const py::object& mask,
                     const LossName& loss, unsigned n_threads) {
  const Basis<T> held(components, "components");
  const arma::Mat<T>& U = held;
  const AnyView<T> view = as_view<T>(samples, mask, U.n_rows);
  const auto count = py::ssize_t(view.n_cols);
  py::array_t<T> weights({count, py::ssize_t(U.n_cols)}), residuals(count);
  T *w = weights.mutable_data(), *r = residuals.mutable_data();
  each_fitted(U, view, loss, n_threads, [&](uword j, const auto& fit) {
    fit.weights(w + j * U.n_cols);
    r[j] = fit.residual();
  });
  return py::make_tuple(weights, residuals);
}

template <class T>
void fill_missing_in(const py::array& components, const py::object& samples, const py::object& mask,
                     py::array out, const LossName& loss, unsigned n_threads) {
  const Basis<T> held(components, "components");
  const arma::Mat<T>& U = held;
  const AnyView<T> view = as_view<T>(samples, mask, U.n_rows);
  Output<T> written(std::move(out), view.n_cols, U.n_rows);
  T* to = written.data();
  each_fitted(U, view, loss, n_threads,
              [&](uword j, const auto& fit) { fit.fill_missing(to + j * U.n_rows); });
}

}  // namespace

void bind_projector(py::module_& m) {
  m.def(
      "project",
      [](const py::array& components, const py::object& samples, const py::object& mask,
         const LossName& loss, unsigned n_threads) {
        return in_precision_of(components, [&](auto zero) {
          return project_in<decltype(zero)>(components, samples, mask, loss, n_threads);
        });
      },
      py::arg("components"), py::arg("samples"), py::arg("mask") = py::none(),
      py::arg("loss") = "l21", py::arg("n_threads") = 1,
      "Weights (m, d) and relative residuals (m,) of samples in the row space of orthonormal "
      "components. The weights are those of the loss, the residuals those of least squares.");
  m.def(
      "fill_missing",
      [](const py::array& components, const py::object& samples, const py::object& mask,
         const py::array& out, const LossName& loss, unsigned n_threads) {
        in_precision_of(components, [&](auto zero) {
          fill_missing_in<decltype(zero)>(components, samples, mask, out, loss, n_threads);
        });
      },
      py::arg("components"), py::arg("samples"), py::arg("mask"), py::arg("out"),
      py::arg("loss") = "l21", py::arg("n_threads") = 1,
      "Writes the missing entries of the samples, as the subspace has them, into out.");
}

}  // namespace gasg21::bindings
