// How a struct becomes fields of a model file: `Fields<S>` has one line per field. To save a
// further member, add a line: `v(name, member)`, or `v.later(name, member)` if files without it
// must still load, in which case the member keeps its default.
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "gasg21/saving/codec.hpp"

namespace gasg21::saving {

/// Writes the members that it is shown.
struct WriteFields {
  Struct& fields;

  template <class Member>
  void operator()(const char* name, const Member& member) {
    fields.push_back({name, to_value(member)});
  }
  template <class Member>
  void later(const char* name, const Member& member) {
    (*this)(name, member);
  }
};

/// Sets the members that it is shown.
struct ReadFields {
  const Struct& fields;

  template <class Member>
  void operator()(const char* name, Member& member) {
    member = from_value<Member>(get_field(fields, name), name);
  }
  template <class Member>
  void later(const char* name, Member& member) {
    if (find(fields, name)) (*this)(name, member);
  }
};

/// `visit(v, s)` shows the members of s to v.
template <class S>
struct Fields;

/// A struct with `Fields`.
template <class S>
struct Codec<S, std::void_t<decltype(&Fields<S>::template visit<WriteFields, const S>)>> {
  static Value to(const S& s) {
    Struct fields;
    Fields<S>::visit(WriteFields{fields}, s);
    return {std::move(fields)};
  }
  static S from(const Value& value, const std::string& name) {
    if constexpr (std::is_default_constructible_v<S>) {
      S s;
      Fields<S>::visit(ReadFields{get<Struct>(value, name)}, s);
      return s;
    } else {
      S s = Fields<S>::empty();
      Fields<S>::visit(ReadFields{get<Struct>(value, name)}, s);
      return s;
    }
  }
};

}  // namespace gasg21::saving
