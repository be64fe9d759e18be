// Model files: a stream is saved, and goes on later, bit for bit, here or in Python. The files are
// those of `save` and `gasg21.load` in Python; docs/model_file.md describes them.
#pragma once

#include "gasg21/k_subspaces.hpp"
#include "gasg21/saving/encoding.hpp"
#include "gasg21/saving/file.hpp"
#include "gasg21/saving/streams.hpp"
#include "gasg21/tracker.hpp"

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

/// Saves a union of subspaces.
template <class T, class StepRule, class Loss, class Metric>
void save(const KSubspaces<T, StepRule, Loss, Metric>& stream, const saving::Path& path) {
  using Union = KSubspaces<T, StepRule, Loss, Metric>;
  saving::write_file(path,
                     saving::encode({{"stream", {saving::union_fields<Union>(stream.state())}}}));
}

/// The union of subspaces of a file.
template <class T = double, class StepRule = AdaptiveStep, class Loss = L21Loss,
          class Metric = CovarianceScaling>
KSubspaces<T, StepRule, Loss, Metric> load_k_subspaces(const saving::Path& path) {
  const saving::Struct root = saving::decode(saving::read_file(path));
  return saving::reading([&] {
    const auto& fields = saving::get<saving::Struct>(saving::get_field(root, "stream"), "stream");
    return saving::read_union<KSubspaces<T, StepRule, Loss, Metric>>(fields);
  });
}

}  // namespace gasg21
