// The records of a fit as Python sees them.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <gasg21/recovery/report.hpp>
#include <vector>

#include "array_view.hpp"

namespace gasg21::bindings {

/// One pass. Numbers for one subspace, arrays for K.
inline py::dict to_dict(const PassRecord& record, std::size_t number) {
  const bool in_stream = record.stage == Stage::stream, many = !record.members.empty();
  const auto each = [many](const arma::vec& v) -> py::object {
    if (many) return to_column_array(v);
    return py::float_(v[0]);
  };
  py::dict d;
  d["pass"] = number;
  d["stage"] = in_stream ? "stream" : "polish";
  d["n_samples"] = record.n_samples;
  d["moved"] = each(record.moved);
  if (in_stream || !many) d["median_residual"] = record.median_residual;
  if (in_stream) d["near_residual"] = record.near_residual;
  if (many) d["members"] = to_labels(record.members, arma::uword(-1));
  if (in_stream) d["n_iter"] = record.n_iter;
  if (in_stream && !many) {
    d["level"] = record.level;
    d["step_size"] = record.step_size;
  }
  if (!in_stream) d["estimated_angle"] = each(record.estimated_angle);
  return d;
}

/// One dict per pass.
inline py::list to_list(const std::vector<PassRecord>& history) {
  py::list all;
  for (const PassRecord& record : history) all.append(to_dict(record, all.size() + 1));
  return all;
}

}  // namespace gasg21::bindings
