// Which instruction set the kernels use, for tests and benchmarks.
#include <pybind11/pybind11.h>

#include <array>
#include <gasg21/kernels/dispatch.hpp>
#include <gasg21/support/error.hpp>
#include <string>
#include <utility>

#include "module.hpp"

namespace gasg21::bindings {

namespace {

namespace py = pybind11;

constexpr std::array<std::pair<const char*, InstructionSet>, 3> sets{
    {{"baseline", InstructionSet::baseline},
     {"avx2", InstructionSet::avx2},
     {"avx512", InstructionSet::avx512}}};

std::string name_in_use() {
  for (const auto& [name, set] : sets)
    if (set == instruction_set()) return name;
  return "";
}

/// Those that this machine has.
std::string names() {
  std::string all;
  for (const auto& [name, set] : sets)
    if (detail::has(set)) all += (all.empty() ? "'" : ", '") + std::string(name) + "'";
  return all;
}

void use(const std::string& wanted) {
  for (const auto& [name, set] : sets)
    if (wanted == name && use_instruction_set(set)) return;
  require(false, "instruction set '", wanted, "' must be one that this machine has: ", names());
}

}  // namespace

void bind_dispatch(py::module_& m) {
  m.def("instruction_set", &name_in_use, "What the kernels use: 'baseline', 'avx2' or 'avx512'.");
  m.def("use_instruction_set", &use, py::arg("name"),
        "Use another one from now on, everywhere in the process: for tests and benchmarks.");
}

}  // namespace gasg21::bindings
