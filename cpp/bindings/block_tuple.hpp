// The sums of a block as Python sees them: a tuple that `gasg21.blocks.BlockSums` names.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <gasg21/recovery/block_sums.hpp>
#include <vector>

#include "array_view.hpp"

namespace gasg21::bindings {

inline py::array_t<double> to_square(const arma::mat& A) {
  return py::array_t<double>({py::ssize_t(A.n_rows), py::ssize_t(A.n_cols)}, A.memptr());
}

/// A d x d matrix, copied.
inline arma::mat from_square(const py::array& a, uword d) {
  const arma::mat square = copy_matrix<double>(a, "the scatter");
  require(square.n_rows == d && square.n_cols == d, "the scatter must be ", d, " x ", d);
  return square;
}

/// The scatter of a round, from (C, s) or None.
inline Scatter as_scatter(const py::handle& given, uword d) {
  if (given.is_none()) return {};
  require(py::isinstance<py::tuple>(given) && py::len(given) == 2,
          "the scatter must be None or a pair (C, s)");
  const auto pair = py::reinterpret_borrow<py::tuple>(given);
  const Scatter scatter(from_square(as_array(pair[0], "C"), d), pair[1].cast<double>());
  require(scatter.C.is_finite() && scatter.s > 0, "the scatter has s=", scatter.s,
          ", which must be positive, and C, which must be finite");
  return scatter;
}

inline py::tuple to_pair(const Scatter& scatter) {
  return py::make_tuple(to_square(scatter.C), scatter.s);
}

inline py::object to_pair_or_none(const Scatter& scatter) {
  if (scatter.C.empty()) return py::none();
  return to_pair(scatter);
}

/// (C, s) or None for each subspace.
template <class T>
std::vector<Scatter> as_scatters(const py::list& given, const std::vector<arma::Mat<T>>& bases) {
  require(!bases.empty() && given.size() == bases.size(), "there are ", bases.size(),
          " subspaces and ", given.size(), " scatters; there must be one scatter per subspace");
  std::vector<Scatter> scatters;
  for (uword k = 0; k < bases.size(); ++k)
    scatters.push_back(as_scatter(given[k], bases[k].n_cols));
  return scatters;
}

/// How many samples had which outcome, then the entries used.
inline py::array_t<std::uint64_t> to_array(const Usage& usage) {
  py::array_t<std::uint64_t> out(py::ssize_t(n_outcomes + 1));
  for (std::size_t o = 0; o < n_outcomes; ++o)
    out.mutable_data()[o] = usage.counters[StepOutcome(o)];
  out.mutable_data()[n_outcomes] = usage.entries_used;
  return out;
}
inline Usage as_usage(const py::handle& given) {
  const arma::uvec counts = as_order(py::reinterpret_borrow<py::object>(given));
  require(counts.n_elem == n_outcomes + 1, "counts must have ", n_outcomes + 1, " entries");
  Usage usage;
  for (std::size_t o = 0; o < n_outcomes; ++o) usage.counters[StepOutcome(o)] = counts[o];
  usage.entries_used = counts[n_outcomes];
  return usage;
}

/// C, s, weight, rows, information, near, residuals, counts.
inline py::tuple to_tuple(const BlockSums& sums) {
  const arma::mat& rows = sums.coordinates;
  return py::make_tuple(
      to_square(sums.scatter.C), sums.scatter.s, sums.scatter.weight,
      py::array_t<double>({py::ssize_t(rows.n_cols), py::ssize_t(rows.n_rows)}, rows.memptr()),
      to_square(sums.information), sums.near, to_array(sums.residuals.counts()),
      to_array(sums.usage));
}
inline BlockSums as_sums(const py::tuple& given, uword n, uword d) {
  BlockSums sums(n, d);
  sums.scatter.C = from_square(as_array(given[0], "C"), d);
  sums.scatter.s = given[1].cast<double>();
  sums.scatter.weight = given[2].cast<double>();
  const arma::mat rows = copy_matrix<double>(as_array(given[3], "rows"), "rows");
  require(rows.n_rows == sums.coordinates.n_rows && rows.n_cols == n,
          "the row sums do not fit the components");
  sums.coordinates = rows;
  sums.information = from_square(as_array(given[4], "information"), d);
  sums.near = given[5].cast<uword>();
  sums.residuals = LogHistogram(as_order(given[6]));
  sums.usage = as_usage(given[7]);
  return sums;
}

}  // namespace gasg21::bindings
