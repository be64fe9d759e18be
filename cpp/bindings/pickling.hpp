// Pickling through gasg21._support.pickling.restore. pybind11's own way leaves an object without a
// value to Python's older protocols, which ends the process.
#pragma once

#include <pybind11/pybind11.h>

namespace gasg21::bindings {

/// __reduce__ of a class with `__getstate__` and a static `_from_state`.
inline pybind11::tuple reduce(const pybind11::object& self) {
  namespace py = pybind11;
  return py::make_tuple(
      py::module_::import("gasg21._support.pickling").attr("restore"),
      py::make_tuple(py::type::of(self).attr("__name__"), self.attr("__getstate__")()));
}

}  // namespace gasg21::bindings
