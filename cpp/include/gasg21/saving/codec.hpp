// Codec<T>: a T as a value of a model file, and back. Types with fields: saving/fields.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "gasg21/saving/value.hpp"
#include "gasg21/support/config.hpp"

namespace gasg21::saving {

/// `to(t)` gives the value, `from(value, name)` the T; it throws ModelFormatError, or
/// std::invalid_argument, if the value is not one.
template <class T, class = void>
struct Codec;

template <class T>
Value to_value(const T& t) {
  return Codec<T>::to(t);
}
template <class T>
T from_value(const Value& value, const std::string& name) {
  return Codec<T>::from(value, name);
}

template <>
struct Codec<bool> {
  static Value to(bool v) { return {v}; }
  static bool from(const Value& value, const std::string& name) { return get<bool>(value, name); }
};

template <class T>
struct Codec<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>>> {
  using Held = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
  static Value to(T v) { return {Held(v)}; }
  static T from(const Value& value, const std::string& name) {
    const Held held = get<Held>(value, name);
    demand(Held(T(held)) == held, "'", name, "' is too large");
    return T(held);
  }
};

template <class T>
struct Codec<T, std::enable_if_t<std::is_floating_point_v<T>>> {
  static Value to(T v) { return {double(v)}; }
  static T from(const Value& value, const std::string& name) { return T(get<double>(value, name)); }
};

template <>
struct Codec<std::string> {
  static Value to(const std::string& v) { return {v}; }
  static std::string from(const Value& value, const std::string& name) {
    return get<std::string>(value, name);
  }
};

namespace detail {

template <class T>
Array to_array(const T* from, std::vector<std::uint64_t> shape, std::size_t count) {
  Array a{entry_of<T>(), std::move(shape), {}};
  const auto* bytes = reinterpret_cast<const unsigned char*>(from);
  a.bytes.assign(bytes, bytes + count * sizeof(T));
  return a;
}

template <class T>
const Array& get_array(const Value& value, std::size_t n_dimensions, const std::string& name) {
  const Array& a = get<Array>(value, name);
  demand(a.entry == entry_of<T>() && a.shape.size() == n_dimensions, "'", name, "' must be a ",
         n_dimensions, "-d array of ", sizeof(T), "-byte numbers");
  return a;
}

template <class T>
void copy_to(T* to, const Array& a) {
  if (!a.bytes.empty()) std::memcpy(to, a.bytes.data(), a.bytes.size());
}

}  // namespace detail

/// An n x m matrix is an (m, n) array, as in Python: the memory is the same.
template <class T>
struct Codec<arma::Mat<T>> {
  static Value to(const arma::Mat<T>& A) {
    return {detail::to_array(A.memptr(), {A.n_cols, A.n_rows}, A.n_elem)};
  }
  static arma::Mat<T> from(const Value& value, const std::string& name) {
    const Array& a = detail::get_array<T>(value, 2, name);
    arma::Mat<T> A(a.shape[1], a.shape[0]);
    detail::copy_to(A.memptr(), a);
    return A;
  }
};

template <class T>
struct Codec<arma::Col<T>> {
  static Value to(const arma::Col<T>& v) {
    return {detail::to_array(v.memptr(), {v.n_elem}, v.n_elem)};
  }
  static arma::Col<T> from(const Value& value, const std::string& name) {
    const Array& a = detail::get_array<T>(value, 1, name);
    arma::Col<T> v(a.shape[0]);
    detail::copy_to(v.memptr(), a);
    return v;
  }
};

/// A vector of numbers is an array, any other vector a list.
template <class T>
struct Codec<std::vector<T>> {
  static Value to(const std::vector<T>& v) {
    if constexpr (std::is_arithmetic_v<T>) {
      return {detail::to_array(v.data(), {v.size()}, v.size())};
    } else {
      List all;
      for (const T& each : v) all.push_back(to_value(each));
      return {std::move(all)};
    }
  }
  static std::vector<T> from(const Value& value, const std::string& name) {
    if constexpr (std::is_arithmetic_v<T>) {
      const Array& a = detail::get_array<T>(value, 1, name);
      std::vector<T> v(a.size());
      detail::copy_to(v.data(), a);
      return v;
    } else {
      std::vector<T> all;
      for (const Value& each : get<List>(value, name)) all.push_back(from_value<T>(each, name));
      return all;
    }
  }
};

template <class T, std::size_t N>
struct Codec<std::array<T, N>> {
  static Value to(const std::array<T, N>& v) { return {detail::to_array(v.data(), {N}, N)}; }
  static std::array<T, N> from(const Value& value, const std::string& name) {
    const Array& a = detail::get_array<T>(value, 1, name);
    demand(a.size() == N, "'", name, "' must have ", N, " entries");
    std::array<T, N> v;
    detail::copy_to(v.data(), a);
    return v;
  }
};

/// None, or what it points to.
template <class T>
struct Codec<std::shared_ptr<const T>> {
  static Value to(const std::shared_ptr<const T>& v) { return v ? to_value(*v) : Value{}; }
  static std::shared_ptr<const T> from(const Value& value, const std::string& name) {
    if (std::holds_alternative<std::monostate>(value.held)) return nullptr;
    return std::make_shared<const T>(from_value<T>(value, name));
  }
};

template <class T>
struct Codec<std::optional<T>> {
  static Value to(const std::optional<T>& v) { return v ? to_value(*v) : Value{}; }
  static std::optional<T> from(const Value& value, const std::string& name) {
    if (std::holds_alternative<std::monostate>(value.held)) return {};
    return from_value<T>(value, name);
  }
};

/// One of several types whose codecs have a `type`: the field of that name tells which.
template <class... Ts>
struct Codec<std::variant<Ts...>> {
  using Any = std::variant<Ts...>;
  static Value to(const Any& v) {
    return std::visit([](const auto& held) { return to_value(held); }, v);
  }
  static Any from(const Value& value, const std::string& name) {
    const auto type = from_value<std::string>(get_field(get<Struct>(value, name), "type"), "type");
    Any found;
    const bool known =
        ((type == Codec<Ts>::type && ((found = from_value<Ts>(value, name)), true)) || ...);
    demand(known, "'", name, "' has the unknown type '", type, "'");
    return found;
  }
};

/// Runs `read`. What a constructor refuses in a file is the fault of the file.
template <class Read>
auto reading(Read&& read) {
  try {
    return read();
  } catch (const std::logic_error& error) {  // std::invalid_argument, and Armadillo's errors
    throw ModelFormatError(error.what());
  } catch (const NumericalError& error) {
    throw ModelFormatError(error.what());
  }
}

}  // namespace gasg21::saving
