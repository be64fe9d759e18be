// libFuzzer on the reader of model files: bytes as a file, and what stands between their header and
// their checksum as the body of a file with a right checksum. So it starts from real files, such as
// those of tests/data, and changes them. What loads must also work. The workflow `attacks` has the
// commands.
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

template <class T>
void load_one(const saving::Struct& fields) {
  try_to([&] {
    saving::reading([&] {
      using Scaled = Tracker<T, AdaptiveStep, L21Loss, CovarianceScaling>;
      auto tracker = saving::read_tracker<Scaled>(fields);
      update(tracker, tracker.n_features());
      return 0;
    });
  });
}

void load_all(const saving::Struct& root) {
  for (const saving::Field& field : root) {
    const auto* fields = std::get_if<saving::Struct>(&field.value.held);
    if (!fields) continue;
    load_one<double>(*fields);
    load_one<float>(*fields);
    try_to([&] {
      saving::reading([&] {
        using Union = KSubspaces<double, AdaptiveStep, L21Loss, CovarianceScaling>;
        auto stream = saving::read_union<Union>(*fields);
        update(stream, stream.n());
        return 0;
      });
    });
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try_to([&] { load_all(saving::decode(data, size)); });
  constexpr std::size_t around = saving::header_size + saving::checksum_size;
  if (size < around) return 0;
  try_to([&] { load_all(saving::decode(file_of(data + saving::header_size, size - around))); });
  return 0;
}
