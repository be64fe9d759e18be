// A tracker's state as a tuple that pickles, and back.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <gasg21/tracker.hpp>
#include <vector>

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

inline py::tuple pack(const Following& f) {
  return py::make_tuple(f.replay, f.restart, f.watch, f.null_level);
}

inline Following unpack_following(const py::handle& h) {
  const auto t = h.cast<py::tuple>();
  require(t.size() == 4, "this pickle holds another way to follow a stream");
  return {t[0].cast<uword>(), t[1].cast<bool>(), t[2].cast<bool>(), t[3].cast<double>()};
}

inline py::tuple pack(const Fitness& fitness) {
  return py::make_tuple(fitness.typical, fitness.evidence);
}

inline Fitness unpack_fitness(const py::handle& h) {
  const auto t = h.cast<py::tuple>();
  require(t.size() == 2, "this pickle holds another detector");
  return {t[0].cast<double>(), t[1].cast<double>()};
}

inline py::tuple pack(const Detector& detector) {
  const DetectorState& s = detector.state();
  return py::make_tuple(pack(s.fitness), s.trend, s.near_fit, s.n_near, s.gone, s.returns, s.misses,
                        s.surprise, s.settled, s.changed, s.seen, s.searching, s.n_changes,
                        s.changes);
}

inline Detector unpack_detector(const py::handle& h) {
  const auto t = h.cast<py::tuple>();
  require(t.size() == 14, "this pickle holds another detector");
  const auto real = [&](int i) { return t[i].cast<double>(); };
  const auto whole = [&](int i) { return t[i].cast<std::uint64_t>(); };
  return Detector(DetectorState{unpack_fitness(t[0]), real(1), real(2), real(3), real(4), real(5),
                                real(6), real(7), t[8].cast<bool>(), t[9].cast<bool>(), whole(10),
                                whole(11), whole(12), t[13].cast<std::vector<std::uint64_t>>()});
}

template <class T>
py::tuple pack(const Reservoir<T>& reservoir) {
  const ReservoirState<T>& s = reservoir.state();
  return py::make_tuple(s.n, s.capacity, to_column_array(arma::Col<T>(s.kept)),
                        to_column_array(arma::Col<T>(s.previous)), s.arrived, s.likeness,
                        s.compared, s.primed, s.drawing, s.until_test, s.random.state());
}

template <class T>
Reservoir<T> unpack_reservoir(const py::handle& h) {
  const auto t = h.cast<py::tuple>();
  require(t.size() == 11, "this pickle holds another reservoir");
  const auto values = [&](int i) {
    const auto a = t[i].cast<py::array>();
    const T* first = as_vector<T>(a, uword(a.size()), "reservoir");
    return std::vector<T>(first, first + a.size());
  };
  const auto real = [&](int i) { return t[i].cast<double>(); };
  const auto whole = [&](int i) { return t[i].cast<std::uint64_t>(); };
  const auto flag = [&](int i) { return t[i].cast<bool>(); };
  return Reservoir<T>(ReservoirState<T>{t[0].cast<uword>(), t[1].cast<uword>(), values(2),
                                        values(3), whole(4), real(5), real(6), flag(7), flag(8),
                                        whole(9), Random(t[10].cast<Random::State>())});
}

template <class T>
using AnyFollowerState = FollowerState<T, AnyStep, AnyMetric>;

template <class T>
py::tuple pack(const AnyFollowerState<T>& s) {
  py::object backup = py::none();
  if (s.backup)
    backup =
        py::make_tuple(to_components(s.backup->U), s.backup->rule.rule, s.backup->metric.metric,
                       pack(s.backup->fitness), pack(s.backup->recent));
  return py::make_tuple(pack(s.options), pack(s.detector), pack(s.reservoir), s.near, backup);
}

template <class T>
AnyFollowerState<T> unpack_follower(const py::handle& h) {
  const auto t = h.cast<py::tuple>();
  require(t.size() == 5, "this pickle holds another way to follow a stream");
  AnyFollowerState<T> s{unpack_following(t[0]),
                        unpack_detector(t[1]),
                        unpack_reservoir<T>(t[2]),
                        t[3].cast<bool>(),
                        {}};
  if (t[4].is_none()) return s;
  const auto backup = t[4].cast<py::tuple>();
  require(backup.size() == 5, "this pickle holds another backup of a stream");
  arma::Mat<T> U = copy_basis<T>(backup[0].cast<py::array>(), "backup");
  const uword d = U.n_cols;
  s.backup = {std::move(U), AnyStep{backup[1].cast<decltype(AnyStep::rule)>()},
              AnyMetric{backup[2].cast<decltype(AnyMetric::metric)>()}, unpack_fitness(backup[3]),
              unpack_recent(backup[4], d)};
  return s;
}

template <class T>
py::tuple pack(const AnyState<T>& s) {
  return py::make_tuple(to_components(s.U), s.rule.rule, to_column_array(s.previous.e),
                        to_column_array(s.previous.w), s.previous.weight, s.random.state(),
                        pack(s.counters), s.entries_used, s.steps_since_check, s.metric.metric,
                        pack<T>(s.layout), pack(s.recent), pack(s.lift), pack<T>(s.following));
}

template <class T>
AnyState<T> unpack(const py::tuple& t) {
  require(t.size() == 14, "this pickle holds another version of a tracker's state");
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
                unpack_lift<T>(t[12]),
                unpack_follower<T>(t[13])};
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
