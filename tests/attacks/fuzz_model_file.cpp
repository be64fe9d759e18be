// libFuzzer on the reader of model files: bytes that are no file, and bytes as the body of a file
// with a right checksum. What loads must also work.
//
//   clang++ -std=c++17 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
//     -DARMA_64BIT_WORD -DARMA_DONT_USE_WRAPPER -Icpp/include tests/attacks/fuzz_model_file.cpp
#include <cstddef>
#include <cstdint>
#include <gasg21/model_file.hpp>

using namespace gasg21;

namespace {

template <class Load>
void try_to(Load&& load) {
  try {
    load();
  } catch (const ModelFormatError&) {
  } catch (const NumericalError&) {  // of an update
  } catch (const std::bad_alloc&) {
  }
}

saving::Bytes file_of(const std::uint8_t* body, std::size_t size) {
  saving::Bytes out(saving::magic.begin(), saving::magic.end());
  saving::detail::Writer writer(out);
  writer.number(saving::format_version);
  writer.number(std::uint32_t(0));
  writer.number(std::uint64_t(saving::header_size + size + saving::checksum_size));
  writer.bytes(body, size);
  writer.number(saving::crc64(out.data(), out.size()));
  return out;
}

template <class Stream>
void update(Stream& stream, uword n) {
  arma::Col<typename Stream::value_type> x(n);
  for (uword i = 0; i < n; ++i) x[i] = typename Stream::value_type(i % 7) - 3;
  for (int i = 0; i < 3; ++i) stream.update(x);
}

void load_all(const saving::Struct& root) {
  for (const saving::Field& field : root) {
    const auto* fields = std::get_if<saving::Struct>(&field.value.held);
    if (!fields) continue;
    try_to([&] {
      saving::reading([&] {
        auto tracker = saving::read_tracker<Tracker<double>>(*fields);
        update(tracker, tracker.n_features());
        return 0;
      });
    });
    try_to([&] {
      saving::reading([&] {
        auto stream = saving::read_union<KSubspaces<float>>(*fields);
        update(stream, stream.n());
        return 0;
      });
    });
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try_to([&] { load_all(saving::decode(data, size)); });
  try_to([&] {
    const saving::Bytes file = file_of(data, size);
    load_all(saving::decode(file));
  });
  return 0;
}
