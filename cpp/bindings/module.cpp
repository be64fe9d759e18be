// The compiled module: a table of contents.
#include "module.hpp"

#include <pybind11/pybind11.h>

#include <gasg21/kernels/dispatch.hpp>
#include <gasg21/saving/file.hpp>
#include <gasg21/support/error.hpp>
#include <gasg21/version.hpp>

#include "turn_lock.hpp"

namespace py = pybind11;

namespace {

/// A file that cannot be written or read is an OSError with the number of the system and the path.
void translate_file_error(std::exception_ptr error) {
  try {
    if (error) std::rethrow_exception(error);
  } catch (const gasg21::saving::FileError& e) {
    const auto args = py::make_tuple(e.code().value(), e.code().message(), e.path().string());
    PyErr_SetObject(PyExc_OSError, args.ptr());  // Python chooses the subclass
  }
}

/// Whether the module is safe on this interpreter without the GIL. Readers copy a deque to which
/// others append: free-threaded Python does that in one go since 3.14.4.
py::mod_gil_not_used if_safe_without_gil() {
#ifdef Py_GIL_DISABLED
  return Py_Version >= 0x030E0400 ? py::mod_gil_not_used() : py::mod_gil_used();
#else
  return py::mod_gil_not_used();  // says nothing to an interpreter that cannot do without
#endif
}

}  // namespace

PYBIND11_MODULE(_core, m, if_safe_without_gil()) {
  m.doc() = "The C++ core of gasg21. Private: use the gasg21 package.";
  m.attr("__version__") = GASG21_VERSION;
  // Bad arguments are a ValueError, failed computations an ArithmeticError.
  py::register_exception<std::invalid_argument>(m, "InvalidInputError", PyExc_ValueError);
  py::register_exception<gasg21::NumericalError>(m, "NumericalError", PyExc_ArithmeticError);
  py::register_exception<gasg21::ModelFormatError>(m, "ModelFormatError", PyExc_ValueError);
  py::register_exception_translator(translate_file_error);
  gasg21::bindings::TurnLock::guard_forks();
  gasg21::instruction_set();  // chosen now: a fork must not come in between
  gasg21::bindings::bind_dispatch(m);
  gasg21::bindings::bind_geometry(m);
  gasg21::bindings::bind_step_size(m);
  gasg21::bindings::bind_tracker(m);
  gasg21::bindings::bind_subspace(m);
  gasg21::bindings::bind_recover(m);
  gasg21::bindings::bind_union(m);
  gasg21::bindings::bind_k_subspaces(m);
  gasg21::bindings::bind_recover_union(m);
  gasg21::bindings::bind_seeding(m);
  gasg21::bindings::bind_projector(m);
  gasg21::bindings::bind_completion(m);
  gasg21::bindings::bind_block_fit(m);
  gasg21::bindings::bind_blocks(m);
  gasg21::bindings::bind_rounds(m);
  gasg21::bindings::bind_infinite(m);
  gasg21::bindings::bind_model_file(m);
}
