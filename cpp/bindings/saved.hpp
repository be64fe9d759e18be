// Codecs of types that exist in Python only, and pickling: a pickle holds the bytes of a model file
// with this object alone, so a damaged pickle is noticed.
#pragma once

#include <pybind11/pybind11.h>

#include <gasg21/saving/encoding.hpp>
#include <gasg21/saving/inlier_fields.hpp>
#include <gasg21/saving/rule_fields.hpp>
#include <gasg21/saving/stream_fields.hpp>
#include <gasg21/saving/union_fields.hpp>
#include <memory>
#include <string>
#include <utility>

#include "any_rule.hpp"

namespace gasg21::saving {

template <>
struct Codec<bindings::AnyStep> {
  static Value to(const bindings::AnyStep& any) { return to_value(any.rule); }
  static bindings::AnyStep from(const Value& value, const std::string& name) {
    return {from_value<bindings::Rule>(value, name)};
  }
};

template <>
struct Codec<bindings::AnyMetric> {
  static Value to(const bindings::AnyMetric& any) { return to_value(any.metric); }
  static bindings::AnyMetric from(const Value& value, const std::string& name) {
    return {from_value<bindings::Metric>(value, name)};
  }
};

template <>
struct Codec<bindings::AnyLoss> {
  static Value to(const bindings::AnyLoss& any) { return to_value(any.loss); }
  static bindings::AnyLoss from(const Value& value, const std::string& name) {
    bindings::AnyLoss any;
    any.loss = from_value<decltype(any.loss)>(value, name);
    return any;
  }
};

}  // namespace gasg21::saving

namespace gasg21::bindings {

namespace py = pybind11;

/// The fields of an object in a model file.
template <class C>
saving::Struct fields_of(C& object) {
  if constexpr (std::is_class_v<C> && std::is_copy_constructible_v<C>)
    return std::get<saving::Struct>(saving::to_value(object).held);
  else
    return object.fields();
}

/// The object with these fields. Throws ModelFormatError if the fields do not fit.
template <class C>
std::unique_ptr<C> from_fields(const saving::Struct& fields) {
  return saving::reading([&] {
    if constexpr (std::is_copy_constructible_v<C>)
      return std::make_unique<C>(saving::from_value<C>({fields}, "object"));
    else
      return C::from_fields(fields);
  });
}

inline py::bytes to_bytes(const saving::Struct& root) {
  const saving::Bytes bytes = saving::encode(root);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline saving::Struct from_bytes(const py::bytes& bytes) {
  char* data = nullptr;
  py::ssize_t size = 0;
  if (PyBytes_AsStringAndSize(bytes.ptr(), &data, &size) != 0) throw py::error_already_set();
  return saving::decode(reinterpret_cast<const unsigned char*>(data), std::size_t(size));
}

/// Gives a class `__getstate__`, `_from_state` and `__reduce__`. pybind11's own way of pickling
/// leaves an object without a value to Python's older protocols, which ends the process.
template <class C, class... Options>
void make_picklable(py::class_<C, Options...>& cls) {
  cls.def("__getstate__", [](C& self) { return to_bytes({{"object", {fields_of(self)}}}); })
      .def_static("_from_state",
                  [](const py::bytes& state) {
                    const saving::Struct root = from_bytes(state);
                    return from_fields<C>(
                        saving::get<saving::Struct>(saving::get_field(root, "object"), "object"));
                  })
      .def("__reduce__", [](const py::object& self) {
        return py::make_tuple(
            py::module_::import("gasg21._support.pickling").attr("restore"),
            py::make_tuple(py::type::of(self).attr("__name__"), self.attr("__getstate__")()));
      });
}

}  // namespace gasg21::bindings
