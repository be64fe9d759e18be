// A fitted union as a value of a model file: its subspaces, its coordinates and its split.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gasg21/saving/fields.hpp"
#include "gasg21/saving/stream_fields.hpp"
#include "gasg21/saving/streams.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/union/union.hpp"

namespace gasg21::saving {

template <>
struct Fields<OneSubspace> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("basis", s.basis);
    v("estimated_angle", s.estimated_angle);
    v("bound", s.bound);
  }
};

template <>
struct Fields<Screening> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("overall", s.overall);
  }
};

template <>
struct Fields<Whitening> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("directions", s.directions);
    v("spread", s.spread);
    v("screening", s.screening);
  }
};

template <>
struct Fields<ResidualSplit> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("cut", s.cut);
  }
};

template <class T>
struct Fields<UnionCoordinates<T>> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("lift", s.lift);
    v("whitening", s.whitening);
  }
};

template <class T>
struct Codec<Union<T>> {
  static Value to(const Union<T>& fitted) {
    Struct fields;
    WriteFields v{fields};
    v("type", with_bits<T>("Union"));
    v("subspaces", fitted.subspaces());
    v("bases", fitted.bases());
    v("coordinates", fitted.coordinates());
    v("split", fitted.split());
    return {std::move(fields)};
  }
  /// Throws std::invalid_argument if the parts do not belong together.
  static Union<T> from(const Value& value, const std::string& name) {
    const auto& fields = get<Struct>(value, name);
    demand_type<T>(fields, "Union");
    ReadFields v{fields};
    std::vector<arma::Mat<T>> subspaces, bases;
    UnionCoordinates<T> coordinates;
    ResidualSplit split;
    v("subspaces", subspaces);
    v("bases", bases);
    v("coordinates", coordinates);
    v("split", split);
    return {std::move(subspaces), std::move(bases), std::move(coordinates), split};
  }
};

}  // namespace gasg21::saving
