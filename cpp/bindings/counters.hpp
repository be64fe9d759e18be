// The counters of a stream as Python sees them.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <gasg21/tracker.hpp>

namespace gasg21::bindings {

namespace py = pybind11;

inline py::dict to_dict(const Counters& c) {
  return py::dict(py::arg("n_seen") = c.seen(), py::arg("n_used") = c.used(),
                  py::arg("n_zero") = c[StepOutcome::zero],
                  py::arg("n_all_missing") = c[StepOutcome::all_missing],
                  py::arg("n_too_few") = c[StepOutcome::too_few_entries],
                  py::arg("n_nonfinite") = c[StepOutcome::not_finite],
                  py::arg("n_rank_deficient") = c[StepOutcome::rank_deficient],
                  py::arg("n_orthogonal") = c[StepOutcome::orthogonal]);
}
inline py::dict to_dict(const Counters& c, std::uint64_t entries_used) {
  py::dict counters = to_dict(c);
  counters["entries_used"] = entries_used;
  return counters;
}

}  // namespace gasg21::bindings
