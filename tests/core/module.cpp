// gasg21._core_test: parts of the library on plain arrays, which Python tests compare with an
// oracle in NumPy. It is not in the wheel.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <gasg21/inliers/decision.hpp>
#include <gasg21/inliers/distances.hpp>
#include <gasg21/recovery/identifiability.hpp>

#include "array_view.hpp"

namespace gasg21::bindings {

namespace {

/// Copies: W (m, d), r2, count and norm (m,), all float64.
Fitted as_fitted(const py::array& W, const py::array& r2, const py::array& count,
                 const py::array& norm, uword n) {
  Fitted fitted{n, copy_matrix<double>(W, "W"), {}, {}, {}};
  require(fitted.W.n_rows >= 1, "W must have at least one column");
  const uword m = fitted.W.n_cols;
  fitted.r2 = copy_vector<double>(r2, m, "r2");
  fitted.count = copy_vector<double>(count, m, "count");
  fitted.norm = copy_vector<double>(norm, m, "norm");
  return fitted;
}

/// A new C-ordered (rows, columns) array.
py::array_t<double> to_rows(const arma::mat& A) {
  py::array_t<double> out({py::ssize_t(A.n_rows), py::ssize_t(A.n_cols)});
  double* to = out.mutable_data();
  for (uword i = 0; i < A.n_rows; ++i)
    for (uword c = 0; c < A.n_cols; ++c) *to++ = A(i, c);
  return out;
}

/// Throws unless the fits have d weights each.
void require_weights(const Fitted& fitted, uword d) {
  require(fitted.d() == d, "W has ", fitted.d(), " columns, not ", d);
}

void bind_decision(py::module_& m) {
  py::class_<Decision>(m, "Decision")
      .def(
          "margins",
          [](const Decision& self, const py::array& W, const py::array& r2, const py::array& count,
             const py::array& norm, bool fresh) {
            const Fitted fitted = as_fitted(W, r2, count, norm, self.n);
            arma::vec margins;
            {
              const py::gil_scoped_release nogil;
              margins = self.margins(fitted, fresh);
            }
            return to_column_array(margins);
          },
          py::arg("W"), py::arg("r2"), py::arg("count"), py::arg("norm"), py::arg("fresh"),
          "Below 0 for outliers, NaN for samples that tell nothing.")
      .def_readonly("n", &Decision::n)
      .def_property_readonly("C", [](const Decision& d) { return to_rows(d.C); })
      .def_readonly("s", &Decision::s)
      .def_readonly("share", &Decision::share)
      .def_readonly("believed", &Decision::believed)
      .def_readonly("excuses", &Decision::excuses)
      .def_readonly("exact", &Decision::exact)
      .def_readonly("centre", &Decision::centre)
      .def_readonly("cut", &Decision::cut)
      .def_readonly("n_inliers", &Decision::n_inliers)
      .def_readonly("flagged", &Decision::flagged)
      .def_readonly("explains_too_little", &Decision::explains_too_little);
  m.def(
      "decide",
      [](const py::array& W, const py::array& r2, const py::array& count, const py::array& norm,
         uword n, double exact) {
        const Fitted fitted = as_fitted(W, r2, count, norm, n);
        const py::gil_scoped_release nogil;
        return decide(fitted, exact);
      },
      py::arg("W"), py::arg("r2"), py::arg("count"), py::arg("norm"), py::arg("n"),
      py::arg("exact") = 0.0,
      "Which samples are outliers, learnt from fits: weights (m, d) and squared residuals of the "
      "unit-norm samples, observed entries, norms.");
  m.def("exact_residual", exact_residual, py::arg("epsilon"), py::arg("converged"),
        py::arg("estimated_angle"), "The residual up to which a sample counts as an exact fit.");
}

void bind_distances(py::module_& m) {
  py::class_<Distances>(m, "Distances")
      .def(
          "pairs",
          [](const Distances& self, const py::array& W, const py::array& r2, const py::array& count,
             const py::array& norm) {
            const Fitted fitted = as_fitted(W, r2, count, norm, 0);
            require_weights(fitted, self.R.empty() ? self.centre.n_elem : self.R.n_rows);
            arma::mat pairs;
            {
              const py::gil_scoped_release nogil;
              pairs = self.pairs(fitted);
            }
            return to_components(pairs);
          },
          py::arg("W"), py::arg("r2"), py::arg("count"), py::arg("norm"),
          "(m, 2): distance from the centre within the subspace, and residual; about 1 for "
          "inliers.")
      .def_property_readonly("centre", [](const Distances& d) { return to_column_array(d.centre); })
      .def_property_readonly("covariance", [](const Distances& d) { return to_rows(d.covariance); })
      .def_readonly("noise_variance", &Distances::noise_variance)
      .def_readonly("n_inliers", &Distances::n_inliers);
  m.def(
      "learn_distances",
      [](const py::array& W, const py::array& r2, const py::array& count, const py::array& norm,
         const Decision& decision, const py::object& R) {
        const Fitted fitted = as_fitted(W, r2, count, norm, decision.n);
        arma::mat map;
        if (!R.is_none()) {
          const arma::mat given = copy_matrix<double>(as_array(R, "R"), "R");
          require(!given.empty(), "R must not be empty");
          map = given.t();
        }
        const py::gil_scoped_release nogil;
        return learn_distances(fitted, decision, map);
      },
      py::arg("W"), py::arg("r2"), py::arg("count"), py::arg("norm"), py::arg("decision"),
      py::arg("R") = py::none(),
      "Robust distances, learnt from the fits that the decision takes for inliers. R (d_inner, d) "
      "maps weights before they are measured.");
}

}  // namespace

void bind_core_test(py::module_& m) {
  bind_decision(m);
  bind_distances(m);
  m.def(
      "information",
      [](const py::array& components, const py::object& samples, std::uint64_t seed) {
        const arma::mat U = copy_basis<double>(components, "components");
        return check_identifiability(U, as_view<double>(samples, py::none(), U.n_rows), seed)
            .information;
      },
      py::arg("components"), py::arg("samples"), py::arg("seed"),
      "Information about the direction that the observed entries determine least.");
}

}  // namespace gasg21::bindings

PYBIND11_MODULE(_core_test, m) { gasg21::bindings::bind_core_test(m); }
