// From a tree of values to the bytes of a model file, and back. docs/model_file.md describes them
// byte by byte. Nothing is allocated before its size is checked against the bytes that are there.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gasg21/saving/value.hpp"

namespace gasg21::saving {

using Bytes = std::vector<unsigned char>;

inline constexpr std::array<unsigned char, 8> magic{0x89, 'G', 'A', 'S', 'G', '2', '1', '\n'};
inline constexpr std::uint32_t format_version = 1;
inline constexpr std::size_t header_size = 24, checksum_size = 8;
inline constexpr int deepest = 32;                   // nested lists and structs
inline constexpr std::size_t most_values = 1 << 20;  // in one file: bounds the memory of a tree

/// The types of values, as the file numbers them.
enum class Tag : std::uint8_t { none, no, yes, integer, natural, real, text, array, list, fields };

namespace detail {

constexpr std::array<std::uint64_t, 256> make_crc_table() {
  std::array<std::uint64_t, 256> table{};
  for (std::uint64_t i = 0; i < 256; ++i) {
    std::uint64_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xC96C5795D7870F42u : 0);
    table[i] = crc;
  }
  return table;
}
inline constexpr std::array<std::uint64_t, 256> crc_table = make_crc_table();

}  // namespace detail

/// CRC-64/XZ: polynomial 0x42F0E1EBA9EA3693, reflected, all ones at first and at last.
class Crc64 {
 public:
  void add(const unsigned char* bytes, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      crc_ = detail::crc_table[(crc_ ^ bytes[i]) & 0xFF] ^ (crc_ >> 8);
  }
  std::uint64_t value() const { return ~crc_; }

 private:
  std::uint64_t crc_ = ~std::uint64_t(0);
};

inline std::uint64_t crc64(const unsigned char* bytes, std::size_t count) {
  Crc64 crc;
  crc.add(bytes, count);
  return crc.value();
}

namespace detail {

/// Whether this machine stores the lowest byte first, as the file does.
inline bool is_little_endian() {
  const std::uint16_t one = 1;
  unsigned char first;
  std::memcpy(&first, &one, 1);
  return first == 1;
}

/// Reverses each group of `size` bytes, on a machine that stores the highest byte first.
inline void reverse_entries(unsigned char* bytes, std::size_t count, std::size_t size) {
  if (is_little_endian() || size == 1) return;
  for (std::size_t at = 0; at + size <= count; at += size)
    std::reverse(bytes + at, bytes + at + size);
}

class Writer {
 public:
  explicit Writer(Bytes& out) : out_(out) {}

  template <class T>
  void number(T value) {
    const std::size_t at = out_.size();
    out_.resize(at + sizeof(T));
    std::memcpy(out_.data() + at, &value, sizeof(T));
    reverse_entries(out_.data() + at, sizeof(T), sizeof(T));
  }
  void bytes(const void* from, std::size_t count) {
    const auto* first = static_cast<const unsigned char*>(from);
    out_.insert(out_.end(), first, first + count);
  }

  void value(const Value& v) {
    std::visit([this](const auto& held) { write(held); }, v.held);
  }

 private:
  void tag(Tag t) { out_.push_back(static_cast<unsigned char>(t)); }
  void count(std::size_t n) {
    require(n <= 0xFFFFFFFFu, "a model file has room for 2^32 - 1 items, not ", n);
    number(std::uint32_t(n));
  }

  void write(std::monostate) { tag(Tag::none); }
  void write(bool v) { tag(v ? Tag::yes : Tag::no); }
  void write(std::int64_t v) { tag(Tag::integer), number(v); }
  void write(std::uint64_t v) { tag(Tag::natural), number(v); }
  void write(double v) { tag(Tag::real), number(v); }
  void write(const std::string& v) {
    tag(Tag::text);
    count(v.size());
    bytes(v.data(), v.size());
  }
  void write(const Array& v) {
    require(v.shape.size() <= 255, "an array of a model file has at most 255 dimensions");
    tag(Tag::array);
    number(std::uint8_t(v.entry));
    number(std::uint8_t(v.shape.size()));
    for (const std::uint64_t length : v.shape) number(length);
    const std::size_t at = out_.size();
    bytes(v.bytes.data(), v.bytes.size());
    reverse_entries(out_.data() + at, v.bytes.size(), size_of(v.entry));
  }
  void write(const List& v) {
    tag(Tag::list);
    count(v.size());
    for (const Value& each : v) value(each);
  }
  void write(const Struct& v) {
    tag(Tag::fields);
    count(v.size());
    for (const Field& field : v) {
      require(field.name.size() <= 255, "a name of a model file has at most 255 bytes");
      number(std::uint8_t(field.name.size()));
      bytes(field.name.data(), field.name.size());
      value(field.value);
    }
  }

  Bytes& out_;
};

class Reader {
 public:
  Reader(const unsigned char* at, std::size_t size) : at_(at), left_(size) {}

  std::size_t left() const { return left_; }

  template <class T>
  T number() {
    unsigned char raw[sizeof(T)];
    std::memcpy(raw, take(sizeof(T)), sizeof(T));
    reverse_entries(raw, sizeof(T), sizeof(T));
    T value;
    std::memcpy(&value, raw, sizeof(T));
    return value;
  }

  Value value(int depth = 0) {
    demand(depth < deepest, "the values are nested more than ", deepest, " deep");
    demand(++values_ <= most_values, "there are more than ", most_values, " values");
    const auto tag = Tag(number<std::uint8_t>());
    switch (tag) {
      case Tag::none:
        return {};
      case Tag::no:
      case Tag::yes:
        return {tag == Tag::yes};
      case Tag::integer:
        return {number<std::int64_t>()};
      case Tag::natural:
        return {number<std::uint64_t>()};
      case Tag::real:
        return {number<double>()};
      case Tag::text:
        return {text(number<std::uint32_t>())};
      case Tag::array:
        return {array()};
      case Tag::list:
        return {list(depth)};
      case Tag::fields:
        return {fields(depth)};
    }
    throw ModelFormatError("a value has an unknown type");
  }

 private:
  const unsigned char* take(std::size_t count) {
    demand(count <= left_, "the file ends within a value");
    const unsigned char* from = at_;
    at_ += count;
    left_ -= count;
    return from;
  }

  std::string text(std::size_t count) {
    const auto* from = reinterpret_cast<const char*>(take(count));
    return {from, from + count};
  }

  Array array() {
    Array a;
    a.entry = Entry(number<std::uint8_t>());
    demand(a.entry >= Entry::f64 && a.entry <= last_entry, "an array has entries of unknown type");
    const auto n_dimensions = number<std::uint8_t>();
    std::uint64_t room = left_ / size_of(a.entry), size = 1;
    for (int i = 0; i < n_dimensions; ++i) {
      a.shape.push_back(number<std::uint64_t>());
      const std::uint64_t length = a.shape.back();
      demand(length <= room, "an array is larger than the file");
      demand(length == 0 || size <= room / length, "an array is larger than the file");
      size *= length;
    }
    const std::size_t count = size * size_of(a.entry);
    const unsigned char* from = take(count);
    a.bytes.assign(from, from + count);
    reverse_entries(a.bytes.data(), count, size_of(a.entry));
    return a;
  }

  List list(int depth) {
    const std::size_t count = number<std::uint32_t>();
    demand(count <= left_, "the file ends within a list");
    List all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(value(depth + 1));
    return all;
  }

  Struct fields(int depth) {
    const std::size_t count = number<std::uint32_t>();
    demand(count <= left_ / 2, "the file ends within a struct");
    Struct all;
    for (std::size_t i = 0; i < count; ++i) {
      std::string name = text(number<std::uint8_t>());
      all.push_back({std::move(name), value(depth + 1)});
    }
    return all;
  }

  const unsigned char* at_;
  std::size_t left_, values_ = 0;
};

}  // namespace detail

/// The bytes of a file with these fields.
inline Bytes encode(const Struct& root) {
  Bytes out(magic.begin(), magic.end());
  detail::Writer writer(out);
  writer.number(format_version);
  writer.number(std::uint32_t(0));  // reserved
  writer.number(std::uint64_t(0));  // size, known at the end
  writer.value({root});
  Bytes size;
  detail::Writer(size).number(std::uint64_t(out.size() + checksum_size));
  std::copy(size.begin(), size.end(), out.begin() + 16);
  writer.number(crc64(out.data(), out.size()));
  return out;
}

/// Throws ModelFormatError unless these are the first bytes of a model file of `size` bytes.
inline void check_header(const unsigned char* bytes, std::size_t count, std::uint64_t size) {
  demand(count >= header_size && std::equal(magic.begin(), magic.end(), bytes),
         "this is not a model file of gasg21");
  detail::Reader reader(bytes + magic.size(), header_size - magic.size());
  const auto version = reader.number<std::uint32_t>();
  demand(version >= 1 && version <= format_version, "the file has version ", version,
         " of the format; this gasg21 reads version ", format_version);
  demand(reader.number<std::uint32_t>() == 0, "a reserved field of the header is not zero");
  const auto stated = reader.number<std::uint64_t>();
  demand(stated == size, "the file has ", size, " bytes, but should have ", stated);
}

/// The fields of a file. Throws ModelFormatError for anything else than the bytes of `encode`.
inline Struct decode(const unsigned char* bytes, std::size_t size) {
  check_header(bytes, size, size);
  demand(size >= header_size + checksum_size, "the file is too short");
  const std::size_t end = size - checksum_size;
  demand(detail::Reader(bytes + end, checksum_size).number<std::uint64_t>() == crc64(bytes, end),
         "the checksum is wrong: the file was changed or damaged");
  detail::Reader reader(bytes + header_size, end - header_size);
  Value root = reader.value();
  demand(reader.left() == 0, "there are bytes after the last value");
  demand(std::holds_alternative<Struct>(root.held), "the file does not begin with a struct");
  return std::get<Struct>(std::move(root.held));
}
inline Struct decode(const Bytes& bytes) { return decode(bytes.data(), bytes.size()); }

}  // namespace gasg21::saving
