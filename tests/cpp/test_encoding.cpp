// The bytes of a model file: known checksums, all values, and hostile sizes.
#include <doctest/doctest.h>

#include <cstdint>
#include <gasg21/saving/encoding.hpp>
#include <string>

#include "support.hpp"

using namespace gasg21;
using namespace gasg21::saving;

namespace {

/// A file with these bytes in place of its values, with a right header and checksum.
Bytes file_of(const Bytes& body) {
  Bytes out(magic.begin(), magic.end());
  saving::detail::Writer writer(out);
  writer.number(format_version);
  writer.number(std::uint32_t(0));
  writer.number(std::uint64_t(header_size + body.size() + checksum_size));
  writer.bytes(body.data(), body.size());
  writer.number(crc64(out.data(), out.size()));
  return out;
}

}  // namespace

TEST_CASE("the checksum is CRC-64/XZ") {
  const std::string check = "123456789";
  CHECK(crc64(reinterpret_cast<const unsigned char*>(check.data()), check.size()) ==
        0x995DC9BBDF1939FAu);
}

TEST_CASE("the bytes are as the documentation says") {
  const Bytes bytes = encode({{"a", {std::int64_t(-2)}}});
  const Bytes expected{0x89, 'G', 'A', 'S', 'G',  '2',  '1',  '\n', 1,    0,    0,    0,   0, 0,
                       0,    0,   48,  0,   0,    0,    0,    0,    0,    0,    9,    1,   0, 0,
                       0,    1,   'a', 3,   0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
  CHECK(Bytes(bytes.begin(), bytes.end() - 8) == expected);
}

TEST_CASE("all values come back") {
  const Array array{Entry::f32, {2, 3}, Bytes(24, 7)};
  const Struct root{{"none", {}},
                    {"yes", {true}},
                    {"integer", {std::int64_t(-5)}},
                    {"natural", {~std::uint64_t(0)}},
                    {"real", {0.1}},
                    {"text", {std::string("Zürich")}},
                    {"array", {array}},
                    {"list", {List{{1.5}, {false}}}},
                    {"struct", {Struct{{"x", {array}}}}}};
  const Bytes bytes = encode(root);
  CHECK(encode(decode(bytes)) == bytes);
  CHECK(std::get<double>(get_field(decode(bytes), "real").held) == 0.1);
}

TEST_CASE("sizes beyond the file are refused before memory is taken") {
  const unsigned char most = 0xFF;
  const Bytes huge_text{9, 1, 0, 0, 0, 1, 'a', 6, most, most, most, most};
  const Bytes huge_list{9, 1, 0, 0, 0, 1, 'a', 8, most, most, most, most};
  const Bytes huge_struct{9, most, most, most, most};
  Bytes huge_array{9, 1, 0, 0, 0, 1, 'a', 7, 1, 2};
  huge_array.insert(huge_array.end(), 16, most);
  Bytes wrapping{9, 1, 0, 0, 0, 1, 'a', 7, 1, 2};  // 2^32 * 2^32 wraps to 0
  for (int i = 0; i < 2; ++i) wrapping.insert(wrapping.end(), {0, 0, 0, 0, 1, 0, 0, 0});
  for (const Bytes& body : {huge_text, huge_list, huge_struct, huge_array, wrapping})
    CHECK_THROWS_AS(decode(file_of(body)), ModelFormatError);
  Bytes deep;
  for (int i = 0; i < 100; ++i) deep.insert(deep.end(), {8, 1, 0, 0, 0});
  CHECK_THROWS_AS(decode(file_of(deep)), ModelFormatError);
  CHECK_THROWS_AS(decode(file_of({})), ModelFormatError);
  CHECK_THROWS_AS(decode(file_of({0})), ModelFormatError);
  CHECK_THROWS_AS(decode(file_of({9, 0, 0, 0, 0, 0})), ModelFormatError);
  CHECK_THROWS_AS(decode(file_of({99})), ModelFormatError);
  CHECK_NOTHROW(decode(file_of({9, 0, 0, 0, 0})));
}
