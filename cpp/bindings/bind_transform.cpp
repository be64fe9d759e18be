// Samples in a fixed subspace, and the look for infinities at the door.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cmath>
#include <gasg21/gasg21.hpp>
#include <string>
#include <type_traits>

#include "any_rule.hpp"
#include "array_view.hpp"
#include "module.hpp"
#include "watch.hpp"

namespace gasg21::bindings {

namespace {

/// The index of the first observed infinite entry of a sample among its stored ones, or `count`.
template <class T>
uword first_infinite(const T* values, const unsigned char* mask, uword count) {
  const auto infinite = [&](uword k) { return std::isinf(values[k]) && (!mask || mask[k]); };
  bool any = false;
  for (uword k = 0; k < count; ++k) any |= infinite(k);  // no branch: nearly always there is none
  if (!any) return count;
  uword k = 0;
  while (!infinite(k)) ++k;
  return k;
}

/// The first observed infinite entry, as (sample, feature), or None.
template <class T>
py::object find_infinite(const py::object& samples, const py::object& mask, uword n) {
  const AnyView<T> view = as_view<T>(samples, mask, n);
  Watch watch{py::none(), double(n)};
  bool found = false;
  uword row = 0, column = 0;
  const auto look = [&](uword j, const auto& x) {
    if constexpr (std::is_same_v<decltype(x), const DenseSample<T>&>) {
      column = first_infinite(x.values, x.mask, n);
      found = column < n;
    } else {
      const uword k = first_infinite(x.values, nullptr, x.count);
      found = k < x.count;
      if (found) column = uword(x.rows[k]);
    }
    row = j;
  };
  {
    const py::gil_scoped_release nogil;
    std::visit(
        [&](const auto& v) {
          for (uword j = 0; j < v.n_cols && !found && !watch.tick(); ++j) look(j, v.sample(j));
        },
        view);
  }
  watch.finish();
  if (!found) return py::none();
  return py::make_tuple(row, column);
}

/// Fits each sample to the components, without the GIL, and calls visit(j, projector).
template <class T, class Visit>
void each_fitted(const arma::Mat<T>& U, const AnyView<T>& view, const LossName& loss,
                 Visit&& visit) {
  const AnyLoss any(loss);
  Watch watch{py::none(), double(U.n_elem)};
  {
    const py::gil_scoped_release nogil;
    Projector<T, AnyStandingFit<T>> projector(U, any.make_standing_fit<T>(U));
    std::visit(
        [&](const auto& v) {
          for (uword j = 0; j < v.n_cols && !watch.tick(); ++j) {
            projector.read(v.sample(j));
            visit(j, projector);
          }
        },
        view);
  }
  watch.finish();
}

template <class T>
py::tuple project(const py::array& components, const py::object& samples, const py::object& mask,
                  const LossName& loss) {
  const arma::Mat<T> U = as_basis<T>(components, "components");
  const AnyView<T> view = as_view<T>(samples, mask, U.n_rows);
  const auto count = py::ssize_t(std::visit([](const auto& v) { return v.n_cols; }, view));
  py::array_t<T> weights({count, py::ssize_t(U.n_cols)}), residuals(count);
  T *w = weights.mutable_data(), *r = residuals.mutable_data();
  each_fitted(U, view, loss, [&](uword j, const auto& fit) {
    fit.weights(w + j * U.n_cols);
    r[j] = fit.residual();
  });
  return py::make_tuple(weights, residuals);
}

template <class T>
void fill_missing(const py::array& components, const py::object& samples, const py::object& mask,
                  py::array_t<T>& out, const LossName& loss) {
  const arma::Mat<T> U = as_basis<T>(components, "components");
  const AnyView<T> view = as_view<T>(samples, mask, U.n_rows);
  const uword count = std::visit([](const auto& v) { return v.n_cols; }, view);
  require(out.ndim() == 2 && uword(out.shape(0)) == count && uword(out.shape(1)) == U.n_rows &&
              (out.flags() & py::array::c_style) != 0,
          "out must be C-ordered with the shape of the samples");
  T* to = out.mutable_data();
  each_fitted(U, view, loss,
              [&](uword j, const auto& fit) { fit.fill_missing(to + j * U.n_rows); });
}

template <class T>
void bind_for(py::module_& m, const std::string& bits) {
  m.def(("find_infinite" + bits).c_str(), &find_infinite<T>, py::arg("samples"), py::arg("mask"),
        py::arg("n"), "The first observed infinite entry as (sample, feature), or None.");
  m.def(("project" + bits).c_str(), &project<T>, py::arg("components"), py::arg("samples"),
        py::arg("mask") = py::none(), py::arg("loss") = "l21",
        "Weights (m, d) and relative residuals (m,) of samples in the row space of orthonormal "
        "components. The weights are those of the loss, the residuals those of least squares.");
  m.def(("fill_missing" + bits).c_str(), &fill_missing<T>, py::arg("components"),
        py::arg("samples"), py::arg("mask"), py::arg("out").noconvert(), py::arg("loss") = "l21",
        "Writes the missing entries of the samples, as the subspace has them, into out.");
}

}  // namespace

void bind_transform(py::module_& m) {
  bind_for<double>(m, "64");
  bind_for<float>(m, "32");
}

}  // namespace gasg21::bindings
