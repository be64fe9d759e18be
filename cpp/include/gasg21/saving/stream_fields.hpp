// The fields of what a stream needs to go on.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "gasg21/saving/fields.hpp"
#include "gasg21/saving/inlier_fields.hpp"
#include "gasg21/tracker.hpp"

namespace gasg21::saving {

template <class T, class StepRule, class Metric>
struct Fields<TrackerState<T, StepRule, Metric>> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("U", s.U);
    v("rule", s.rule);
    v("metric", s.metric);
    v("previous", s.previous);
    v("random", s.random);
    v("counters", s.counters);
    v("entries_used", s.entries_used);
    v("steps_since_check", s.steps_since_check);
    v("layout", s.layout);
    v("recent", s.recent);
    v("lift", s.lift);
    v("following", s.following);
  }
};

template <class T, class StepRule, class Metric>
struct Fields<FollowerState<T, StepRule, Metric>> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("options", s.options);
    v("detector", s.detector);
    v("reservoir", s.reservoir);
    v("near", s.near);
    v("backup", s.backup);
  }
};

template <>
struct Fields<Following> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("replay", s.replay);
    v("restart", s.restart);
    v("watch", s.watch);
    v("null_level", s.null_level);
  }
};

template <>
struct Fields<Fitness> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("typical", s.typical);
    v("evidence", s.evidence);
  }
};

template <class T, class StepRule, class Metric>
struct Fields<Backup<T, StepRule, Metric>> {
  static Backup<T, StepRule, Metric> empty() {
    return {arma::Mat<T>(), StepRule(), Metric(), Fitness{}, RecentFits(0)};
  }
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("U", s.U);
    v("rule", s.rule);
    v("metric", s.metric);
    v("fitness", s.fitness);
    v("recent", s.recent);
  }
};

template <>
struct Fields<DetectorState> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("fitness", s.fitness);
    v("trend", s.trend);
    v("near_fit", s.near_fit);
    v("n_near", s.n_near);
    v("gone", s.gone);
    v("returns", s.returns);
    v("misses", s.misses);
    v("surprise", s.surprise);
    v("settled", s.settled);
    v("changed", s.changed);
    v("seen", s.seen);
    v("searching", s.searching);
    v("n_changes", s.n_changes);
    v("changes", s.changes);
  }
};

template <class T>
struct Fields<ReservoirState<T>> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("n", s.n);
    v("capacity", s.capacity);
    v("kept", s.kept);
    v("previous", s.previous);
    v("arrived", s.arrived);
    v("likeness", s.likeness);
    v("compared", s.compared);
    v("primed", s.primed);
    v("drawing", s.drawing);
    v("until_test", s.until_test);
    v("random", s.random);
  }
};

/// A class that is made of its state.
template <class C, class State>
struct StateCodec {
  static Value to(const C& c) { return to_value(c.state()); }
  static C from(const Value& value, const std::string& name) {
    return C(from_value<State>(value, name));
  }
};
template <>
struct Codec<Detector> : StateCodec<Detector, DetectorState> {};
template <class T>
struct Codec<Reservoir<T>> : StateCodec<Reservoir<T>, ReservoirState<T>> {};

template <class T>
struct Fields<RankOneGradient<T>> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("e", s.e);
    v("w", s.w);
    v("weight", s.weight);
  }
};

template <class T>
struct Fields<BasisLayout<T>> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("by_rows", s.by_rows);
    v("streak", s.streak);
    v("Ue", s.Ue);
  }
};

template <class T>
struct Fields<RowMajorState<T>> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("rows", s.rows);
    v("A", s.A);
    v("inverse", s.inverse);
    v("steps", s.steps);
  }
};

template <class T>
struct Fields<Lift<T>> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("centre", s.centre);
    v("constant", s.constant);
  }
};

template <>
struct Fields<Counters> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    for (std::size_t o = 0; o < n_outcomes; ++o) {
      auto count = std::as_const(s)[StepOutcome(o)];
      v(to_string(StepOutcome(o)), count);
      if constexpr (!std::is_const_v<S>) s[StepOutcome(o)] = count;
    }
  }
};

template <>
struct Codec<Random> {
  static Value to(const Random& random) { return to_value(random.state()); }
  static Random from(const Value& value, const std::string& name) {
    return Random(from_value<Random::State>(value, name));
  }
};

template <>
struct Codec<RecentFits> {
  static Value to(const RecentFits& recent) {
    Struct fields;
    WriteFields v{fields};
    v("d", recent.d());
    v("values", recent.values());
    v("next", recent.next());
    return {std::move(fields)};
  }
  static RecentFits from(const Value& value, const std::string& name) {
    ReadFields v{get<Struct>(value, name)};
    uword d = 0, next = 0;
    std::vector<double> values;
    v("d", d);
    v("values", values);
    v("next", next);
    demand(d <= values.size() || values.empty(), "the recent fits have ", d, " weights each");
    return RecentFits::resumed(d, std::move(values), next);
  }
};

}  // namespace gasg21::saving
