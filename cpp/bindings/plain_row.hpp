// One vector that needs no validation.
#pragma once

#include <pybind11/numpy.h>

#include <algorithm>
#include <gasg21/data/views.hpp>
#include <optional>

#include "infinite.hpp"

namespace gasg21::bindings {

namespace py = pybind11;

/// Whether it is a plain NumPy array with these entries of n, in one row or without rows.
template <class Entry>
bool is_plain_row(const py::handle& given, uword n) {
  if (Py_TYPE(given.ptr()) != py::detail::npy_api::get().PyArray_Type_) return false;
  const auto a = py::reinterpret_borrow<py::array>(given);
  constexpr int plain = py::array::c_style | py::detail::npy_api::NPY_ARRAY_ALIGNED_;
  const bool one = a.ndim() == 1 || (a.ndim() == 2 && a.shape(0) == 1);
  return one && uword(a.shape(a.ndim() - 1)) == n && (a.flags() & plain) == plain &&
         py::isinstance<py::array_t<Entry>>(a);
}

/// A plain (n,) or (1, n) array without infinities, and None or a mask of its form that shows an
/// entry, as a sample that borrows them. Nothing for everything else, which the caller validates.
template <class T>
std::optional<DenseSample<T>> as_plain_row(const py::handle& row, const py::handle& mask, uword n) {
  if (!is_plain_row<T>(row, n)) return {};
  DenseSample<T> sample{static_cast<const T*>(py::reinterpret_borrow<py::array>(row).data())};
  if (!mask.is_none()) {
    if (!is_plain_row<bool>(mask, n)) return {};
    const auto observed = py::reinterpret_borrow<py::array>(mask);
    if (observed.ndim() != py::reinterpret_borrow<py::array>(row).ndim()) return {};
    sample.mask = static_cast<const unsigned char*>(observed.data());
    const auto is_set = [](unsigned char byte) { return byte != 0; };
    if (std::none_of(sample.mask, sample.mask + n, is_set)) return {};
  }
  if (first_infinite(sample.values, sample.mask, n) < n) return {};
  return sample;
}

}  // namespace gasg21::bindings
