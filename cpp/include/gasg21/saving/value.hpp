// Value: what a model file holds, as a tree of numbers, texts, arrays, lists and structs.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"

namespace gasg21::saving {

/// Types of the entries of an array. The file holds these numbers.
enum class Entry : std::uint8_t { f64 = 1, f32, i64, u64, i32, u32, u8, boolean };
inline constexpr Entry last_entry = Entry::boolean;

/// Bytes of one entry.
inline std::size_t size_of(Entry entry) {
  switch (entry) {
    case Entry::f64:
    case Entry::i64:
    case Entry::u64:
      return 8;
    case Entry::f32:
    case Entry::i32:
    case Entry::u32:
      return 4;
    default:
      return 1;
  }
}

template <class T>
constexpr Entry entry_of() {
  if constexpr (std::is_same_v<T, double>) return Entry::f64;
  if constexpr (std::is_same_v<T, float>) return Entry::f32;
  if constexpr (std::is_integral_v<T> && std::is_unsigned_v<T> && sizeof(T) == 8) return Entry::u64;
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T> && sizeof(T) == 8) return Entry::i64;
}

/// An array in C order, with its entries as this machine has them.
struct Array {
  Entry entry = Entry::f64;
  std::vector<std::uint64_t> shape;
  std::vector<unsigned char> bytes;

  std::size_t size() const { return bytes.size() / size_of(entry); }
};

struct Value;
struct Field;
using List = std::vector<Value>;
using Struct = std::vector<Field>;

struct Value {
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, Array, List,
               Struct>
      held;
};

struct Field {
  std::string name;
  Value value;
};

/// The field of that name, or null.
inline const Value* find(const Struct& fields, const std::string& name) {
  for (const Field& field : fields)
    if (field.name == name) return &field.value;
  return nullptr;
}

/// Throws ModelFormatError unless `ok`. The message is the concatenation of `parts`.
template <class... Parts>
void demand(bool ok, const Parts&... parts) {
  if (ok) return;
  std::ostringstream message;
  (message << ... << parts);
  throw ModelFormatError(message.str());
}

/// The value as a T; `name` is for the message.
template <class T>
const T& get(const Value& value, const std::string& name) {
  const T* held = std::get_if<T>(&value.held);
  demand(held != nullptr, "'", name,
         "' has another type than a model file of this version gives it");
  return *held;
}

inline const Value& get_field(const Struct& fields, const std::string& name) {
  const Value* value = find(fields, name);
  demand(value != nullptr, "the field '", name, "' is missing");
  return *value;
}

}  // namespace gasg21::saving
