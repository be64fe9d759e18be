// Streams as values of a model file: a Tracker, and K subspaces.
#pragma once

#include <string>
#include <utility>

#include "gasg21/k_subspaces.hpp"
#include "gasg21/saving/rule_fields.hpp"
#include "gasg21/saving/stream_fields.hpp"
#include "gasg21/tracker.hpp"

namespace gasg21::saving {

/// Name of a stream with its precision, as in the file.
template <class T>
std::string with_bits(const char* name) {
  return name + std::to_string(8 * sizeof(T));
}

template <class T>
void demand_type(const Struct& fields, const char* name) {
  const auto type = from_value<std::string>(get_field(fields, "type"), "type");
  demand(type == with_bits<T>(name), "the file holds a ", type, ", not a ", with_bits<T>(name));
}

/// A state, and the loss that belongs to it.
template <class State, class Loss, class T = typename decltype(State::U)::elem_type>
Struct tracker_fields(const State& state, const Loss& loss) {
  Struct fields;
  WriteFields v{fields};
  v("type", with_bits<T>("Tracker"));
  v("loss", loss);
  v("state", state);
  return fields;
}

template <class TheTracker>
TheTracker read_tracker(const Struct& fields) {
  demand_type<typename TheTracker::value_type>(fields, "Tracker");
  using Loss = std::decay_t<decltype(std::declval<const TheTracker&>().loss())>;
  const auto loss = from_value<Loss>(get_field(fields, "loss"), "loss");
  return TheTracker(from_value<typename TheTracker::State>(get_field(fields, "state"), "state"),
                    loss);
}

template <class State, class V>
void visit_union(V&& v, State& s) {
  v("trackers", s.trackers);
  v("random", s.random);
  v("skipped", s.skipped);
  v("followed", s.followed);
  v("changes", s.changes);
}

template <class TheUnion>
Struct union_fields(const typename TheUnion::State& state) {
  Struct fields;
  WriteFields v{fields};
  v("type", with_bits<typename TheUnion::value_type>("KSubspaces"));
  visit_union(v, state);
  return fields;
}

template <class TheUnion>
TheUnion read_union(const Struct& fields) {
  demand_type<typename TheUnion::value_type>(fields, "KSubspaces");
  typename TheUnion::State state;
  visit_union(ReadFields{fields}, state);
  demand(!state.trackers.empty(), "there are no subspaces");
  return TheUnion(state);
}

}  // namespace gasg21::saving
