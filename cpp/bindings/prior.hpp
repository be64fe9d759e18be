// Priors and ranges of missing entries, as Python holds them: tuples that pickle.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <gasg21/fit/completer.hpp>
#include <optional>
#include <tuple>

#include "array_view.hpp"

namespace gasg21::bindings {

using DoubleArray = py::array_t<double, py::array::c_style | py::array::forcecast>;
/// (C, s, noise or None), and (low, high, largest).
using PriorTuple = std::tuple<DoubleArray, double, std::optional<DoubleArray>>;
using RangeTuple = std::tuple<DoubleArray, DoubleArray, double>;

inline arma::vec as_vec(const DoubleArray& a) { return arma::vec(a.data(), uword(a.size())); }

inline py::array_t<double> to_symmetric(const arma::mat& C) {
  py::array_t<double> out({py::ssize_t(C.n_rows), py::ssize_t(C.n_cols)});
  std::copy(C.begin(), C.end(), out.mutable_data());  // symmetric
  return out;
}

inline WeightPrior as_prior(const PriorTuple& given) {
  const auto& [C, s, noise] = given;
  require(C.ndim() == 2, "the scatter must be 2-d");
  return {arma::mat(C.data(), uword(C.shape(0)), uword(C.shape(1))), s,
          noise ? as_vec(*noise) : arma::vec()};
}

inline py::tuple to_tuple(const WeightPrior& prior) {
  const py::object noise =
      prior.noise.empty() ? py::none() : py::object(to_column_array(prior.noise));
  return py::make_tuple(to_symmetric(prior.C), prior.s, noise);
}

inline EntryRange as_range(const RangeTuple& given) {
  return {as_vec(std::get<0>(given)), as_vec(std::get<1>(given)), std::get<2>(given)};
}

inline py::tuple to_tuple(const EntryRange& range) {
  return py::make_tuple(to_column_array(range.low), to_column_array(range.high), range.largest);
}

}  // namespace gasg21::bindings
