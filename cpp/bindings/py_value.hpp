// Values of a model file as Python sees them: None, bool, int, float, str, arrays, lists, dicts,
// and the objects of this module.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <gasg21/saving/union_fields.hpp>
#include <gasg21/saving/value.hpp>
#include <gasg21/union/union.hpp>
#include <string>
#include <utility>
#include <vector>

#include "any_rule.hpp"
#include "py_k_subspaces.hpp"
#include "py_subspace.hpp"
#include "py_tracker.hpp"
#include "saved.hpp"

namespace gasg21::bindings {

/// The classes whose objects a file can hold. Their structs have a field "type" with that name.
template <class... Cs>
struct Classes {};
using SavedClasses =
    Classes<PyTracker<double>, PyTracker<float>, PyKSubspaces<double>, PyKSubspaces<float>,
            PySubspace<double>, PySubspace<float>, Union<double>, Union<float>>;

namespace detail {

inline py::dtype dtype_of(saving::Entry entry) {
  using saving::Entry;
  switch (entry) {
    case Entry::f64:
      return py::dtype::of<double>();
    case Entry::f32:
      return py::dtype::of<float>();
    case Entry::i64:
      return py::dtype::of<std::int64_t>();
    case Entry::u64:
      return py::dtype::of<std::uint64_t>();
    case Entry::i32:
      return py::dtype::of<std::int32_t>();
    case Entry::u32:
      return py::dtype::of<std::uint32_t>();
    case Entry::u8:
      return py::dtype::of<std::uint8_t>();
    default:
      return py::dtype::of<bool>();
  }
}

inline saving::Array to_array_value(const py::array& given) {
  using saving::Entry;
  // A copy in C order, whatever the layout.
  const auto a = py::array::ensure(given, py::array::c_style);
  if (!a) throw py::error_already_set();
  saving::Array out;
  bool found = false;
  for (auto entry = Entry::f64; entry <= saving::last_entry && !found;
       entry = Entry(int(entry) + 1)) {
    found = a.dtype().is(dtype_of(entry)) || a.dtype().equal(dtype_of(entry));
    if (found) out.entry = entry;
  }
  require(found, "a model file cannot hold an array of dtype ",
          std::string(py::str(given.dtype())));
  for (py::ssize_t i = 0; i < a.ndim(); ++i) out.shape.push_back(std::uint64_t(a.shape(i)));
  const auto* bytes = static_cast<const unsigned char*>(a.data());
  out.bytes.assign(bytes, bytes + a.nbytes());
  return out;
}

inline py::array from_array_value(const saving::Array& a) {
  std::vector<py::ssize_t> shape(a.shape.begin(), a.shape.end());
  py::array out(dtype_of(a.entry), std::move(shape));
  if (!a.bytes.empty()) std::memcpy(out.mutable_data(), a.bytes.data(), a.bytes.size());
  return out;
}

/// Integers from -2^63 to 2^64 - 1.
inline saving::Value to_integer_value(const py::handle& h) {
  int overflow = 0;
  const long long v = PyLong_AsLongLongAndOverflow(h.ptr(), &overflow);
  if (v == -1 && PyErr_Occurred()) throw py::error_already_set();
  if (overflow == 0) return {std::int64_t(v)};
  const unsigned long long u = overflow > 0 ? PyLong_AsUnsignedLongLong(h.ptr()) : 0;
  if (overflow < 0 || PyErr_Occurred()) {
    PyErr_Clear();
    require(false, "a model file cannot hold the integer ", std::string(py::str(h)));
  }
  return {std::uint64_t(u)};
}

template <class C>
bool to_struct_if(const py::handle& h, saving::Value& out) {
  if (!py::isinstance<C>(h)) return false;
  out.held = fields_of(h.cast<C&>());
  return true;
}

template <class... Cs>
bool to_struct_of_any(Classes<Cs...> /*all*/, const py::handle& h, saving::Value& out) {
  return (to_struct_if<Cs>(h, out) || ...);
}

template <class C>
bool to_object_if(const std::string& type, const saving::Struct& fields, py::object& out) {
  if (type != std::string(py::str(py::type::of<C>().attr("__name__")))) return false;
  out = py::cast(from_fields<C>(fields));
  return true;
}

/// The object of this module that the fields describe, or nothing.
template <class... Cs>
py::object to_object_of_any(Classes<Cs...> /*all*/, const saving::Struct& fields) {
  py::object out;
  const saving::Value* type = saving::find(fields, "type");
  if (type && std::holds_alternative<std::string>(type->held))
    (void)(to_object_if<Cs>(std::get<std::string>(type->held), fields, out) || ...);
  return out;
}

}  // namespace detail

inline saving::Value to_value_from_python(const py::handle& h, int depth = 0) {
  require(depth < saving::deepest - 2, "a model file cannot hold so many nested lists");
  if (h.is_none()) return {};
  if (py::isinstance<py::bool_>(h)) return {h.cast<bool>()};
  if (py::isinstance<py::int_>(h)) return detail::to_integer_value(h);
  if (py::isinstance<py::float_>(h)) return {h.cast<double>()};
  if (py::isinstance<py::str>(h)) return {h.cast<std::string>()};
  if (py::isinstance<py::array>(h))
    return {detail::to_array_value(py::reinterpret_borrow<py::array>(h))};
  if (py::isinstance<py::list>(h) || py::isinstance<py::tuple>(h)) {
    saving::List all;
    for (const auto& each : py::reinterpret_borrow<py::sequence>(h))
      all.push_back(to_value_from_python(each, depth + 1));
    return {std::move(all)};
  }
  if (py::isinstance<py::dict>(h)) {
    saving::Struct fields;
    for (const auto& [name, value] : py::reinterpret_borrow<py::dict>(h)) {
      require(py::isinstance<py::str>(name), "the names of a model file are texts");
      fields.push_back({name.cast<std::string>(), to_value_from_python(value, depth + 1)});
    }
    return {std::move(fields)};
  }
  saving::Value out;
  const bool found = detail::to_struct_of_any(SavedClasses{}, h, out);
  require(found, "a model file cannot hold a ",
          std::string(py::str(py::type::of(h).attr("__name__"))));
  return out;
}

/// With `objects`, structs that describe objects of this module become such objects.
inline py::object to_python(const saving::Value& value, bool objects) {
  struct Visitor {
    bool objects;
    py::object operator()(std::monostate) const { return py::none(); }
    py::object operator()(bool v) const { return py::bool_(v); }
    py::object operator()(std::int64_t v) const { return py::int_(v); }
    py::object operator()(std::uint64_t v) const { return py::int_(v); }
    py::object operator()(double v) const { return py::float_(v); }
    py::object operator()(const std::string& v) const {
      PyObject* text = PyUnicode_DecodeUTF8(v.data(), py::ssize_t(v.size()), "strict");
      if (!text) PyErr_Clear();
      saving::demand(text != nullptr, "a text is not UTF-8");
      return py::reinterpret_steal<py::object>(text);
    }
    py::object operator()(const saving::Array& v) const { return detail::from_array_value(v); }
    py::object operator()(const saving::List& v) const {
      py::list all;
      for (const saving::Value& each : v) all.append(to_python(each, objects));
      return std::move(all);
    }
    py::object operator()(const saving::Struct& v) const {
      if (objects)
        if (py::object object = detail::to_object_of_any(SavedClasses{}, v)) return object;
      py::dict all;
      for (const saving::Field& field : v)
        all[(*this)(field.name)] = to_python(field.value, objects);
      return std::move(all);
    }
  };
  return std::visit(Visitor{objects}, value.held);
}

}  // namespace gasg21::bindings
