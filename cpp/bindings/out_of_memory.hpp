// What pybind11 leaves open when memory ends: it registers a new object where nothing catches,
// frees an object twice, and does not look whether Python had memory for it. Here each of these
// becomes a MemoryError.
#pragma once

#include <pybind11/pybind11.h>

#include <exception>
#include <new>
#include <type_traits>

namespace gasg21::bindings {

namespace py = pybind11;

namespace guards {

/// Leaves the exception that is being handled to Python.
inline void set_error() noexcept {
  try {
    throw;
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "unknown error");
  }
}

/// tp_alloc for pybind11, which uses what it gets.
inline PyObject* allocate(PyTypeObject* type, Py_ssize_t count) {
  PyObject* self = PyType_GenericAlloc(type, count);
  if (!self) throw py::error_already_set();
  return self;
}

/// tp_new for Python.
inline PyObject* make_empty(PyTypeObject* type, PyObject* /*args*/, PyObject* /*kwargs*/) {
  try {
    py::detail::all_type_info(type);  // takes memory for a class that is new to pybind11
    PyObject* self = allocate(type, 0);
    reinterpret_cast<py::detail::instance*>(self)->allocate_layout();
    return self;
  } catch (...) {
    set_error();
    return nullptr;
  }
}

/// Gives a C++ object to the Python object that will own it.
template <class C>
struct Registration {
  using Step = void (*)(py::detail::instance*, const void*);
  inline static Step by_pybind11 = nullptr;

  /// If the object cannot be registered, it goes back to the caller, who holds it, or is deleted.
  static void run(py::detail::instance* self, const void* holder) {
    try {
      by_pybind11(self, holder);
    } catch (...) {
      auto slot = self->get_value_and_holder(py::detail::get_type_info(typeid(C)));
      if (!holder && self->owned) delete slot.template value_ptr<C>();
      slot.value_ptr() = nullptr;
      throw;
    }
  }
};

/// If memory ends while a number is returned, pybind11 says that it cannot convert it (TypeError)
/// because of a MemoryError. Leaves only the latter.
inline void prefer_memory_error() noexcept {
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) return;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  PyObject* cause = value ? PyException_GetCause(value) : nullptr;
  const bool no_memory = cause && PyErr_GivenExceptionMatches(cause, PyExc_MemoryError);
  Py_XDECREF(cause);
  if (!no_memory) return PyErr_Restore(type, value, trace);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  PyErr_NoMemory();
}

using Call = PyObject* (*)(PyObject*, PyObject* const*, size_t, PyObject*);  // of pybind11 3
using OldCall = PyCFunctionWithKeywords;                                     // of pybind11 2

/// The function of pybind11 that calls all functions of the module.
template <class Signature>
inline Signature call_by_pybind11 = nullptr;

template <class... Args>
PyObject* guarded_call(Args... args) {
  try {
    PyObject* result = call_by_pybind11<PyObject* (*)(Args...)>(args...);
    if (!result) prefer_memory_error();
    return result;
  } catch (...) {  // pybind11 catches what the function throws, and not what it throws itself
    set_error();
    return nullptr;
  }
}

template <class... Args>
void guard(PyMethodDef& method, PyObject* (* /*signature*/)(Args...)) {
  using Signature = PyObject* (*)(Args...);
  const auto now = reinterpret_cast<Signature>(reinterpret_cast<void (*)()>(method.ml_meth));
  if (now == &guarded_call<Args...>) return;
  Signature& known = call_by_pybind11<Signature>;
  if (known && known != now) return;
  known = now;
  method.ml_meth =
      reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&guarded_call<Args...>));
}

inline void guard_function(const py::handle& function) {
  const py::handle plain = py::detail::get_function(function);
  if (!plain || !PyCFunction_Check(plain.ptr())) return;
  PyMethodDef& method = *reinterpret_cast<PyCFunctionObject*>(plain.ptr())->m_ml;
  if (method.ml_flags == (METH_FASTCALL | METH_KEYWORDS))
    guard(method, Call{});
  else if (method.ml_flags == (METH_VARARGS | METH_KEYWORDS))
    guard(method, OldCall{});
}

}  // namespace guards

/// A class of the module.
template <class C>
py::class_<C> guarded_class(py::module_& m, const char* name) {
  py::class_<C> made(m, name);
  py::detail::type_info* info = py::detail::get_type_info(typeid(C));
  guards::Registration<C>::by_pybind11 = info->init_instance;
  info->init_instance = &guards::Registration<C>::run;
  info->type->tp_alloc = &guards::allocate;
  info->type->tp_new = &guards::make_empty;
  return made;
}

/// Guards every function of the module and every method and property of its classes. To be called
/// when all are bound.
inline void guard_functions(const py::handle& scope) {
  for (const auto& [name, member] : py::dict(scope.attr("__dict__"))) {
    if (py::isinstance<py::type>(member) && member.attr("__module__").equal(scope.attr("__name__")))
      guard_functions(member);
    else if (Py_IS_TYPE(member.ptr(), &PyProperty_Type))
      guards::guard_function(member.attr("fget"));
    else if (Py_IS_TYPE(member.ptr(), &PyStaticMethod_Type))
      guards::guard_function(member.attr("__func__"));
    else
      guards::guard_function(member);
  }
}

}  // namespace gasg21::bindings
