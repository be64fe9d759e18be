// A fitted subspace for Python: its principal axes, and what it says about samples.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <gasg21/fit/projector.hpp>
#include <limits>
#include <utility>

#include "any_rule.hpp"
#include "array_view.hpp"
#include "each_fitted.hpp"
#include "lift.hpp"
#include "module.hpp"
#include "plain_row.hpp"
#include "py_subspace.hpp"
#include "saved.hpp"
#include "watch.hpp"

namespace gasg21::bindings {

namespace {

/// Relative residuals of the samples, lifted if the subspace is affine; NaN for those that say
/// nothing if `telling`.
template <class T>
py::array_t<T> subspace_residuals(PySubspace<T>& self, const py::object& samples,
                                  const py::object& mask, bool telling, unsigned n_threads) {
  const AnyView<T> view = with_lift(as_view<T>(samples, mask, self.n_features()), self.lift());
  py::array_t<T> residuals(py::ssize_t(view.n_cols));
  T* r = residuals.mutable_data();
  each_fitted(self.basis(), view, LossName("l21"), n_threads, [&](uword j, const auto& fit) {
    r[j] = telling && !fit.determined() ? std::numeric_limits<T>::quiet_NaN() : fit.residual();
  });
  return residuals;
}

/// Weights in the principal axes, about the mean.
template <class T>
py::array_t<T> subspace_weights(PySubspace<T>& self, const py::object& samples,
                                const py::object& mask, const LossName& loss, unsigned n_threads) {
  const PrincipalAxes<T>& axes = self.get().axes();
  const Lift<T> about_mean{axes.mean, T(0)};
  const AnyView<T> raw = as_view<T>(samples, mask, self.n_features());
  const AnyView<T> view = self.lift() ? lifted(raw, about_mean) : raw;
  const uword d = axes.components.n_cols;
  py::array_t<T> weights({py::ssize_t(view.n_cols), py::ssize_t(d)});
  T* w = weights.mutable_data();
  each_fitted(axes.components, view, loss, n_threads,
              [&](uword j, const auto& fit) { fit.weights(w + j * d); });
  return weights;
}

/// The fits of samples to the basis, lifted if the subspace is affine.
template <class T>
Fitted fits_of(PySubspace<T>& self, const py::object& samples, const py::object& mask,
               unsigned n_threads) {
  const AnyView<T> view = with_lift(as_view<T>(samples, mask, self.n_features()), self.lift());
  Fitted fits = no_fits(self.basis());
  const double work = double(self.basis().n_cols) * view.stored_entries();
  without_gil(worthwhile(n_threads, work),
              [&](const Parallel& parallel) { fits = fit_all(self.basis(), view, parallel); });
  return fits;
}

template <class T>
py::array_t<double> decision_of(PySubspace<T>& self, const py::object& samples,
                                const py::object& mask, unsigned n_threads) {
  const Subspace<T>& subspace = self.get();
  return to_column_array(subspace.decision_function(fits_of(self, samples, mask, n_threads)));
}

template <class T>
py::array_t<double> distances_of(PySubspace<T>& self, const py::object& samples,
                                 const py::object& mask, unsigned n_threads) {
  const Subspace<T>& subspace = self.get();
  return to_components(subspace.distances(fits_of(self, samples, mask, n_threads)));
}

/// Calls work(reader, row) for one plain row and returns a (1, columns) array, or a (1,) one
/// without columns, that `work` writes to. None if the row is not plain, or work returns false, or
/// the work is long: it keeps the GIL, so no other thread resizes the row.
template <class T, class Out, class Work>
py::object answer_row(PySubspace<T>& self, const py::handle& row, const py::handle& mask,
                      uword columns, Work&& work) {
  constexpr uword most = 1'000'000;  // entries of the basis: some 200 us
  if (self.basis().n_elem > most) return py::none();
  self.get();
  const auto plain = as_plain_row<T>(row, mask, self.n_features());
  if (!plain) return py::none();
  auto out = columns > 0 ? py::array_t<Out>({py::ssize_t(1), py::ssize_t(columns)})
                         : py::array_t<Out>(py::ssize_t(1));
  Out* to = out.mutable_data();
  const auto with = [&](RowReader<T>& reader) { return work(reader, *plain, to); };
  if (!self.with_row_reader(with)) return py::none();
  return std::move(out);
}

template <class T>
py::object row_residual(PySubspace<T>& self, const py::handle& row, const py::handle& mask,
                        bool telling) {
  return answer_row<T, T>(self, row, mask, 0, [&](auto& reader, const auto& sample, T* to) {
    *to = reader.residual(sample, telling);
    return true;
  });
}

template <class T>
py::object row_weights(PySubspace<T>& self, const py::handle& row, const py::handle& mask) {
  return answer_row<T, T>(self, row, mask, self.n_components(),
                          [](auto& reader, const auto& sample, T* to) {
                            reader.weights(sample, to);
                            return true;
                          });
}

template <class T>
py::object row_decision(PySubspace<T>& self, const py::handle& row, const py::handle& mask) {
  return answer_row<T, double>(self, row, mask, 0,
                               [](auto& reader, const auto& sample, double* to) {
                                 *to = reader.decision(sample);
                                 return true;
                               });
}

template <class T>
py::object row_distances(PySubspace<T>& self, const py::handle& row, const py::handle& mask) {
  return answer_row<T, double>(self, row, mask, 2,
                               [](auto& reader, const auto& sample, double* to) {
                                 reader.distances(sample, to);
                                 return true;
                               });
}

template <class T>
py::object row_completed(PySubspace<T>& self, const py::handle& row, const py::handle& mask) {
  return answer_row<T, T>(
      self, row, mask, self.n_features(),
      [](auto& reader, const auto& sample, T* to) { return reader.complete(sample, to); });
}

/// Between which values a filled entry lies: NaN for features that the fit has never observed.
template <class T>
py::tuple limits_of(PySubspace<T>& self) {
  const Subspace<T>& subspace = self.get();
  const uword n = self.n_features();
  const auto limits = entry_limits<T>(subspace.prior(), subspace.range(), n);
  arma::vec low(n), high(n);
  for (uword i = 0; i < n; ++i) {
    const double centre = self.lift() ? double(self.lift()->centre[i]) : 0;
    low[i] = limits[i].low + centre;
    high[i] = limits[i].high + centre;
  }
  return py::make_tuple(to_column_array(low), to_column_array(high));
}

template <class T>
void bind_subspace_in(py::module_& m, const char* name) {
  using Class = PySubspace<T>;
  make_picklable(
      py::class_<Class>(m, name)
          .def_property_readonly("basis", [](Class& self) { return to_components(self.basis()); })
          .def_property_readonly("lift", [](Class& self) { return pack(self.lift()); })
          .def_property_readonly("n_features", &Class::n_features)
          .def_property_readonly(
              "components", [](Class& self) { return to_components(self.get().axes().components); })
          .def_property_readonly(
              "mean", [](Class& self) { return to_column_array(self.get().axes().mean); })
          .def_property_readonly(
              "explained_variance",
              [](Class& self) { return to_column_array(self.get().axes().explained_variance); })
          .def_property_readonly("n_components", &Class::n_components)
          .def("residuals", &subspace_residuals<T>, py::arg("samples"), py::arg("mask"),
               py::arg("telling"), py::arg("n_threads"),
               "Relative residuals; with `telling` NaN also for samples of zeros, which say "
               "nothing.")
          .def("transform", &subspace_weights<T>, py::arg("samples"), py::arg("mask"),
               py::arg("loss"), py::arg("n_threads"),
               "Weights in the principal axes, about the mean.")
          .def_property_readonly("noise_variance",
                                 [](Class& self) { return self.get().noise_variance(); })
          .def_property_readonly("flagged",
                                 [](Class& self) { return self.get().decision().flagged; })
          .def_property_readonly(
              "explains_too_little",
              [](Class& self) { return self.get().decision().explains_too_little; })
          .def_property_readonly("decides",
                                 [](Class& self) { return !self.get().decision().C.empty(); })
          .def_property_readonly("is_exact",
                                 [](Class& self) { return self.get().decision().exact > 0; })
          .def_property_readonly("prior", [](Class& self) { return to_tuple(self.get().prior()); })
          .def_property_readonly("range", [](Class& self) { return to_tuple(self.get().range()); })
          .def_property_readonly("limits", &limits_of<T>)
          .def("decision_function", &decision_of<T>, py::arg("samples"), py::arg("mask"),
               py::arg("n_threads"), "Below 0 for outliers, NaN for samples that say nothing.")
          .def("distances", &distances_of<T>, py::arg("samples"), py::arg("mask"),
               py::arg("n_threads"),
               "(m, 2): from the centre of the inliers within the subspace, and from the "
               "subspace.")
          .def("row_residual", &row_residual<T>, py::arg("row"), py::arg("mask"),
               py::arg("telling"), "As `residuals`; None if the row is not plain.")
          .def("row_weights", &row_weights<T>, py::arg("row"), py::arg("mask"),
               "As `transform` by least squares; None if the row is not plain.")
          .def("row_decision", &row_decision<T>, py::arg("row"), py::arg("mask"),
               "As `decision_function`; None if the row is not plain.")
          .def("row_distances", &row_distances<T>, py::arg("row"), py::arg("mask"),
               "As `distances`; None if the row is not plain.")
          .def("row_completed", &row_completed<T>, py::arg("row"), py::arg("mask"),
               "The row with its missing entries filled in; None if it is not plain, has no "
               "observed entry, or the fit has never observed some of the features."));
}

}  // namespace

void bind_subspace(py::module_& m) {
  bind_subspace_in<double>(m, "Subspace64");
  bind_subspace_in<float>(m, "Subspace32");
}

}  // namespace gasg21::bindings
