// Loads a tracker, updates it with the vectors of a file, and saves it: go_on MODEL ROWS AFTER.
#include <fstream>
#include <gasg21/model_file.hpp>
#include <iterator>
#include <vector>

namespace {

template <class T>
void go_on(char** names) {
  auto tracker = gasg21::load_tracker<T>(names[1]);
  std::ifstream file(names[2], std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  const T* rows = reinterpret_cast<const T*>(bytes.data());
  const auto n = tracker.n_features();
  for (gasg21::uword i = 0; (i + 1) * n * sizeof(T) <= bytes.size(); ++i)
    tracker.update(gasg21::DenseSample<T>{rows + i * n});
  gasg21::save(tracker, names[3]);
}

}  // namespace

int main(int, char** names) {
  try {
    go_on<double>(names);
  } catch (const gasg21::ModelFormatError&) {
    go_on<float>(names);
  }
}
