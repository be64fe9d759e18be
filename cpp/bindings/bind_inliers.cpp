// Decisions about outliers and robust distances, for Python: learnt from fits to one basis.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <gasg21/inliers/decision.hpp>
#include <gasg21/inliers/distances.hpp>

#include "array_view.hpp"
#include "module.hpp"
#include "pickling.hpp"

namespace gasg21::bindings {

namespace {

// Of pickled decisions and distances; raise them when the fields change.
constexpr int decision_schema = 1, distances_schema = 1;

/// Copies: W (m, d), r2, count and norm (m,), all float64.
Fitted as_fitted(const py::array& W, const py::array& r2, const py::array& count,
                 const py::array& norm, uword n) {
  Fitted fitted{n, copy_basis<double>(W, "W"), {}, {}, {}};
  const uword m = fitted.W.n_cols;
  const auto column = [m](const py::array& a, const char* name) {
    return arma::vec(as_vector<double>(a, m, name), m);
  };
  fitted.r2 = column(r2, "r2");
  fitted.count = column(count, "count");
  fitted.norm = column(norm, "norm");
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

arma::mat from_rows(const py::handle& object) {
  const auto a = py::cast<py::array>(object);
  require_native<double>(a, "a matrix of the state");
  require(a.ndim() == 2 && (a.flags() & py::array::c_style) != 0,
          "a matrix of the state must be 2-d and C-ordered");
  const arma::mat transposed(static_cast<const double*>(a.data()), uword(a.shape(1)),
                             uword(a.shape(0)));
  return transposed.t();
}

arma::vec from_vector(const py::handle& object) {
  const auto a = py::cast<py::array>(object);
  return arma::vec(as_vector<double>(a, uword(a.size()), "a vector of the state"), uword(a.size()));
}

py::tuple state_of(const Decision& d) {
  return py::make_tuple(decision_schema, d.n, to_rows(d.C), d.s, d.share, d.believed, d.excuses,
                        d.exact, d.centre, d.cut, d.n_inliers, d.flagged, d.explains_too_little);
}

Decision decision_from(const py::tuple& t) {
  require(t.size() == 13 && t[0].cast<int>() == decision_schema, "not the state of a Decision");
  const auto real = [&](int i) { return t[i].cast<double>(); };
  const auto flag = [&](int i) { return t[i].cast<bool>(); };
  Decision d{t[1].cast<uword>(),
             from_rows(t[2]),
             real(3),
             real(4),
             flag(5),
             flag(6),
             real(7),
             real(8),
             real(9),
             real(10),
             real(11),
             flag(12)};
  require(d.C.is_square() && d.C.is_finite(),
          "the scatter of a Decision must be square and finite");
  require(!d.believed || (!d.C.empty() && d.s > 0 && d.share > 0 && d.share < 1),
          "not the state of a Decision: no mixture");
  return d;
}

py::tuple state_of(const Distances& d) {
  return py::make_tuple(distances_schema, to_rows(d.R), to_column_array(d.centre),
                        to_rows(d.covariance), d.noise_variance, d.n_inliers,
                        to_column_array(d.core.centre), to_rows(d.core.scatter), d.noise);
}

Distances distances_from(const py::tuple& t) {
  require(t.size() == 9 && t[0].cast<int>() == distances_schema, "not the state of Distances");
  const auto real = [&](int i) { return t[i].cast<double>(); };
  Distances d{from_rows(t[1]), from_vector(t[2]), from_rows(t[3]),
              real(4),         real(5),           {from_vector(t[6]), from_rows(t[7])},
              real(8)};
  const uword k = d.core.centre.n_elem;
  require(d.core.scatter.n_rows == k && d.core.scatter.n_cols == k && d.core.scatter.is_finite() &&
              (d.R.empty() || d.R.n_cols == k || d.n_inliers == 0),
          "not the state of Distances: the sizes do not fit");
  return d;
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
      .def_readonly("explains_too_little", &Decision::explains_too_little)
      .def("__getstate__", [](const Decision& d) { return state_of(d); })
      .def_static("_from_state", decision_from)
      .def("__reduce__", reduce);
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
      .def_readonly("n_inliers", &Distances::n_inliers)
      .def("__getstate__", [](const Distances& d) { return state_of(d); })
      .def_static("_from_state", distances_from)
      .def("__reduce__", reduce);
  m.def(
      "learn_distances",
      [](const py::array& W, const py::array& r2, const py::array& count, const py::array& norm,
         const Decision& decision, const py::object& R) {
        const Fitted fitted = as_fitted(W, r2, count, norm, decision.n);
        const arma::mat map = R.is_none() ? arma::mat() : from_rows(R);
        const py::gil_scoped_release nogil;
        return learn_distances(fitted, decision, map);
      },
      py::arg("W"), py::arg("r2"), py::arg("count"), py::arg("norm"), py::arg("decision"),
      py::arg("R") = py::none(),
      "Robust distances, learnt from the fits that the decision takes for inliers. R (d_inner, d) "
      "maps weights before they are measured.");
}

}  // namespace

void bind_inliers(py::module_& m) {
  bind_decision(m);
  bind_distances(m);
}

}  // namespace gasg21::bindings
