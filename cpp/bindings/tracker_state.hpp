// A tracker's state as a tuple that pickles, and back.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <gasg21/tracker.hpp>

#include "any_rule.hpp"
#include "array_view.hpp"
#include "lift.hpp"

namespace gasg21::bindings {

template <class T>
using AnyState = TrackerState<T, AnyStep, AnyMetric>;

inline py::list pack(const Counters& counters) {
  py::list counts;
  for (std::size_t o = 0; o < n_outcomes; ++o) counts.append(counters[StepOutcome(o)]);
  return counts;
}

inline Counters unpack_counters(const py::handle& h) {
  const auto counts = h.cast<py::list>();
  require(counts.size() == n_outcomes, "this pickle holds other counters");
  Counters counters;
  for (std::size_t o = 0; o < n_outcomes; ++o)
    counters[StepOutcome(o)] = counts[o].cast<std::uint64_t>();
  return counters;
}

template <class T>
py::tuple pack(const BasisLayout<T>& layout) {
  const RowMajorState<T>& rows = layout.by_rows;
  return py::make_tuple(layout.streak, rows.steps, to_column_array(arma::Col<T>(layout.Ue)),
                        to_components(rows.rows), to_components(rows.A),
                        to_components(rows.inverse));
}

template <class T>
BasisLayout<T> unpack_layout(const py::handle& h, uword n, uword d) {
  const auto t = h.cast<py::tuple>();
  require(t.size() == 6, "this pickle holds another layout of the basis");
  const auto matrix = [&](std::size_t i) {
    return copy_basis<T>(t[i].cast<py::array>(), "layout");
  };
  const T* Ue = as_vector<T>(t[2].cast<py::array>(), d, "layout");
  BasisLayout<T> layout{{}, t[0].cast<std::int64_t>(), std::vector<T>(Ue, Ue + d)};
  if (t[3].cast<py::array>().size() == 0) return layout;
  layout.by_rows = {matrix(3), matrix(4), matrix(5), t[1].cast<uword>()};
  const RowMajorState<T>& rows = layout.by_rows;
  require(rows.rows.n_rows == d && rows.rows.n_cols == n && rows.A.n_rows == d &&
              rows.A.n_cols == d && rows.inverse.n_rows == d && rows.inverse.n_cols == d,
          "the layout does not fit a ", n, " x ", d, " basis");
  return layout;
}

inline py::tuple pack(const RecentFits& recent) {
  return py::make_tuple(to_column_array(arma::vec(recent.values())), recent.next());
}

inline RecentFits unpack_recent(const py::handle& h, uword d) {
  const auto t = h.cast<py::tuple>();
  require(t.size() == 2, "this pickle holds other recent fits");
  const auto a = t[0].cast<py::array>();
  const double* values = as_vector<double>(a, uword(a.size()), "recent fits");
  return RecentFits::resumed(d, std::vector<double>(values, values + a.size()), t[1].cast<uword>());
}

template <class T>
py::tuple pack(const AnyState<T>& s) {
  return py::make_tuple(to_components(s.U), s.rule.rule, to_column_array(s.previous.e),
                        to_column_array(s.previous.w), s.previous.weight, s.random.state(),
                        pack(s.counters), s.entries_used, s.steps_since_check, s.metric.metric,
                        pack<T>(s.layout), pack(s.recent), pack(s.lift));
}

template <class T>
AnyState<T> unpack(const py::tuple& t) {
  require(t.size() == 13, "this pickle holds another version of a tracker's state");
  arma::Mat<T> U = copy_basis<T>(t[0].cast<py::array>(), "U");
  const auto column = [](const py::handle& h, uword count) {
    return arma::Col<T>(as_vector<T>(h.cast<py::array>(), count, "previous gradient"), count);
  };
  const uword n = U.n_rows, d = U.n_cols;
  AnyState<T> s{std::move(U),
                AnyStep{t[1].cast<decltype(AnyStep::rule)>()},
                AnyMetric{t[9].cast<decltype(AnyMetric::metric)>()},
                {column(t[2], n), column(t[3], d), t[4].cast<double>()},
                Random(t[5].cast<Random::State>()),
                unpack_counters(t[6]),
                t[7].cast<std::uint64_t>(),
                t[8].cast<std::uint64_t>(),
                unpack_layout<T>(t[10], n, d),
                unpack_recent(t[11], d),
                unpack_lift<T>(t[12])};
  return s;
}

/// The counters as Python sees them.
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
