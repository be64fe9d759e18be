// A lift as Python holds it: None, or a pair (centre, constant).
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <gasg21/data/lift.hpp>
#include <memory>

#include "array_view.hpp"

namespace gasg21::bindings {

template <class T>
py::object pack(const std::shared_ptr<const Lift<T>>& lift) {
  if (!lift) return py::none();
  return py::make_tuple(to_column_array(lift->centre), lift->constant);
}

template <class T>
std::shared_ptr<const Lift<T>> unpack_lift(const py::handle& h) {
  if (h.is_none()) return nullptr;
  require(py::isinstance<py::tuple>(h), "a lift is a pair: centre, constant");
  const auto t = py::reinterpret_borrow<py::tuple>(h);
  require(t.size() == 2, "a lift is a pair: centre, constant");
  const py::array a = as_array(t[0], "centre");
  return std::make_shared<const Lift<T>>(
      Lift<T>{copy_vector<T>(a, uword(a.size()), "centre"), t[1].cast<T>()});
}

/// A view with the lift, if there is one.
template <class T>
AnyView<T> with_lift(const AnyView<T>& view, const std::shared_ptr<const Lift<T>>& lift) {
  return lift ? lifted(view, *lift) : view;
}

}  // namespace gasg21::bindings
