// Model files: a stream is saved, and goes on later, bit for bit, here or in Python. The files are
// the same as in Python (`save`, `gasg21.load`); docs/model_file.md describes them.
#pragma once

#include "gasg21/k_subspaces.hpp"
#include "gasg21/saving/encoding.hpp"
#include "gasg21/saving/file.hpp"
#include "gasg21/saving/streams.hpp"
#include "gasg21/saving/union_fields.hpp"
#include "gasg21/tracker.hpp"
#include "gasg21/union/union.hpp"

namespace gasg21 {

/// Saves a tracker. The file is there whole or not at all: what had the name before stays until the
/// new file is on the disk. Throws saving::FileError if it cannot be written.
template <class T, class StepRule, class Loss, class Metric>
void save(const Tracker<T, StepRule, Loss, Metric>& tracker, const saving::Path& path) {
  saving::write_file(
      path,
      saving::encode({{"tracker", {saving::tracker_fields(tracker.state(), tracker.loss())}}}));
}

/// The tracker of a file, which goes on where it was. Throws ModelFormatError if the file is not a
/// model, or holds another kind of tracker.
template <class T = double, class StepRule = AdaptiveStep, class Loss = L21Loss,
          class Metric = CovarianceScaling>
Tracker<T, StepRule, Loss, Metric> load_tracker(const saving::Path& path) {
  const saving::Struct root = saving::decode(saving::read_file(path));
  return saving::reading([&] {
    const auto& fields = saving::get<saving::Struct>(saving::get_field(root, "tracker"), "tracker");
    return saving::read_tracker<Tracker<T, StepRule, Loss, Metric>>(fields);
  });
}

/// Saves the stream of a union of subspaces.
template <class T, class StepRule, class Loss, class Metric>
void save(const KSubspaces<T, StepRule, Loss, Metric>& stream, const saving::Path& path) {
  using Union = KSubspaces<T, StepRule, Loss, Metric>;
  saving::write_file(path,
                     saving::encode({{"stream", {saving::union_fields<Union>(stream.state())}}}));
}

/// The stream of a union of subspaces.
template <class T = double, class StepRule = AdaptiveStep, class Loss = L21Loss,
          class Metric = CovarianceScaling>
KSubspaces<T, StepRule, Loss, Metric> load_k_subspaces(const saving::Path& path) {
  const saving::Struct root = saving::decode(saving::read_file(path));
  return saving::reading([&] {
    const auto& fields = saving::get<saving::Struct>(saving::get_field(root, "stream"), "stream");
    return saving::read_union<KSubspaces<T, StepRule, Loss, Metric>>(fields);
  });
}

/// Saves a fitted union with its stream, if it has one. `load_union` and `load_k_subspaces` read
/// both from the same file.
template <class T>
void save(const Union<T>& fitted, const saving::Path& path) {
  saving::write_file(path, saving::encode({{"union", saving::to_value(fitted)}}));
}
template <class T, class StepRule, class Loss, class Metric>
void save(const Union<T>& fitted, const KSubspaces<T, StepRule, Loss, Metric>& stream,
          const saving::Path& path) {
  using Stream = KSubspaces<T, StepRule, Loss, Metric>;
  saving::write_file(path,
                     saving::encode({{"union", saving::to_value(fitted)},
                                     {"stream", {saving::union_fields<Stream>(stream.state())}}}));
}

/// The fitted union of a file.
template <class T = double>
Union<T> load_union(const saving::Path& path) {
  const saving::Struct root = saving::decode(saving::read_file(path));
  return saving::reading(
      [&] { return saving::from_value<Union<T>>(saving::get_field(root, "union"), "union"); });
}

}  // namespace gasg21
