// Geometry on (d, n) components.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <gasg21/geometry/grassmann.hpp>

#include "array_view.hpp"
#include "module.hpp"

namespace gasg21::bindings {

namespace {

template <class T>
void bind_geometry_in(py::module_& m) {
  m.def(
      "largest_angle",
      [](const py::array_t<T>& A, const py::array_t<T>& B) {
        const Basis<T> a(A, "A"), b(B, "B");
        require(A.shape(1) == B.shape(1), "A and B must have the same number of columns");
        const py::gil_scoped_release nogil;
        return double(largest_angle<T>(a, b));
      },
      py::arg("A").noconvert(), py::arg("B").noconvert(),
      "Largest principal angle between the row spaces of two orthonormal arrays, in radians.");
  m.def(
      "orthonormality_error",
      [](const py::array_t<T>& A) { return double(orthonormality_error<T>(Basis<T>(A, "A"))); },
      py::arg("A").noconvert(), "max |A A' - I|.");
}

}  // namespace

void bind_geometry(py::module_& m) {
  bind_geometry_in<double>(m);
  bind_geometry_in<float>(m);
}

}  // namespace gasg21::bindings
