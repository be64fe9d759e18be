// Model files for Python: trees of values to bytes and back, and files that are there whole or not
// at all.
#include <pybind11/pybind11.h>
#include <pybind11/stl/filesystem.h>

#include <gasg21/saving/encoding.hpp>
#include <gasg21/saving/file.hpp>

#include "module.hpp"
#include "py_value.hpp"

namespace gasg21::bindings {

namespace {

py::bytes encode_tree(const py::dict& tree) {
  const saving::Value root = to_value_from_python(tree);
  return to_bytes(std::get<saving::Struct>(root.held));
}

py::object decode_tree(const py::bytes& bytes, bool objects) {
  return to_python({from_bytes(bytes)}, objects);
}

void write_bytes(const saving::Path& path, const py::bytes& bytes) {
  char* data = nullptr;
  py::ssize_t size = 0;
  if (PyBytes_AsStringAndSize(bytes.ptr(), &data, &size) != 0) throw py::error_already_set();
  const auto* first = reinterpret_cast<const unsigned char*>(data);
  const py::gil_scoped_release nogil;
  saving::write_file(path, saving::Bytes(first, first + size));
}

py::bytes read_bytes(const saving::Path& path) {
  saving::Bytes bytes;
  {
    const py::gil_scoped_release nogil;
    bytes = saving::read_file(path);
  }
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

void bind_model_file(py::module_& m) {
  m.def("encode", &encode_tree, py::arg("tree"),
        "The bytes of a model file: a dict of None, bool, int, float, str, arrays, lists, dicts, "
        "trackers, unions and subspaces.");
  m.def("decode", &decode_tree, py::arg("data"), py::arg("objects") = true,
        "The dict behind these bytes; with objects=False all of it as plain values.");
  m.def("write_file", &write_bytes, py::arg("path"), py::arg("data"),
        "Writes a file whole or not at all: a temporary file, synced and renamed.");
  m.def("read_file", &read_bytes, py::arg("path"), "The bytes of a model file.");
}

}  // namespace gasg21::bindings
