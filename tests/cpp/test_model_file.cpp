// Model files: a saved stream goes on bit for bit, and nothing else loads.
#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <gasg21/model_file.hpp>
#include <string>

#include "support.hpp"

using namespace gasg21;

namespace {

/// A folder of its own, removed at the end.
struct Folder {
  std::filesystem::path path;
  Folder() {
    static int count = 0;
    path = std::filesystem::temp_directory_path() /
           ("gasg21-model-file-" + std::to_string(std::uintptr_t(this)) + "-" +
            std::to_string(count++));
    std::filesystem::create_directory(path);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path); }
  std::filesystem::path operator/(const char* name) const { return path / name; }
};

/// Some vectors; a share of their entries is missing.
arma::mat vectors(uword n, uword m, double missing, std::uint64_t seed) {
  Random random(seed);
  arma::mat X(n, m);
  for (double& x : X) {
    x = random.normal();
    if (random.uniform() < missing) x = arma::datum::nan;
  }
  return X;
}

template <class Stream, class T>
void feed(Stream& stream, const arma::Mat<T>& X) {
  for (uword j = 0; j < X.n_cols; ++j) stream.update(arma::Col<T>(X.col(j)));
}

saving::Bytes bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::filesystem::path& path, const saving::Bytes& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
}

template <class TheTracker>
void check_resumes(TheTracker tracker, double missing) {
  using T = typename TheTracker::value_type;
  const Folder folder;
  const auto X = arma::conv_to<arma::Mat<T>>::from(vectors(tracker.n_features(), 300, missing, 5));
  feed(tracker, arma::Mat<T>(X.cols(0, 149)));
  save(tracker, folder / "model.gasg21");
  auto again = saving::read_tracker<TheTracker>(saving::get<saving::Struct>(
      saving::get_field(saving::decode(saving::read_file(folder / "model.gasg21")), "tracker"),
      "tracker"));
  feed(tracker, arma::Mat<T>(X.cols(150, 299)));
  feed(again, arma::Mat<T>(X.cols(150, 299)));
  CHECK(saving::encode({{"x", {saving::tracker_fields(tracker.state(), tracker.loss())}}}) ==
        saving::encode({{"x", {saving::tracker_fields(again.state(), again.loss())}}}));
}

}  // namespace

TEST_CASE("a saved tracker goes on bit for bit, whatever it is made of") {
  for (const double missing : {0.0, 0.3, 0.8}) {
    check_resumes(Tracker<double>(30, 3), missing);
    check_resumes(Tracker<float>(30, 3), missing);
    check_resumes(PaperTracker<double>(30, 3, AdaptiveStep::paper(), 7), missing);
    check_resumes(Tracker<double, DiminishingStep, SquaredLoss, NoScaling>(30, 3), missing);
    check_resumes(Tracker<double, MultiLevelStep, L1Loss, NoScaling>(30, 3), missing);
    check_resumes(Tracker<double, GreedyStep, SquaredLoss, NoScaling>(30, 3), missing);
    check_resumes(Tracker<double, ConstantStep, L21Loss, NoScaling>(30, 3), missing);
  }
  check_resumes(Tracker<double>(Lift<double>{arma::vec(30, arma::fill::ones), 2.0}, 3), 0.3);
}

TEST_CASE("a saved union goes on bit for bit") {
  const Folder folder;
  const arma::mat X = vectors(20, 400, 0.2, 3);
  KSubspaces<double> stream({vectors(20, 2, 0, 1), vectors(20, 3, 0, 2)});
  feed(stream, arma::mat(X.cols(0, 199)));
  save(stream, folder / "union.gasg21");
  auto again = load_k_subspaces<double>(folder / "union.gasg21");
  feed(stream, arma::mat(X.cols(200, 399)));
  feed(again, arma::mat(X.cols(200, 399)));
  for (uword k = 0; k < 2; ++k)
    CHECK(arma::all(arma::vectorise(stream.basis(k) == again.basis(k))));
  CHECK(stream.counters().seen() == again.counters().seen());
}

TEST_CASE("a file of another kind is refused") {
  const Folder folder;
  save(Tracker<double>(10, 2), folder / "tracker.gasg21");
  CHECK_NOTHROW(load_tracker<double>(folder / "tracker.gasg21"));
  CHECK_THROWS_AS(load_tracker<float>(folder / "tracker.gasg21"), ModelFormatError);
  CHECK_THROWS_AS(load_k_subspaces<double>(folder / "tracker.gasg21"), ModelFormatError);
  CHECK_THROWS_AS((load_tracker<double, ConstantStep>(folder / "tracker.gasg21")),
                  ModelFormatError);
  CHECK_THROWS_AS(load_tracker<double>(folder / "none"), saving::FileError);
  CHECK_THROWS_AS(load_tracker<double>(folder.path), saving::FileError);
}

TEST_CASE("every flipped bit and every missing byte is noticed") {
  const Folder folder;
  Tracker<double> tracker(6, 1);
  feed(tracker, vectors(6, 3, 0, 1));
  save(tracker, folder / "good.gasg21");
  const saving::Bytes good = bytes_of(folder / "good.gasg21");
  for (std::size_t i = 0; i < good.size(); ++i) {
    saving::Bytes bad = good;
    bad[i] ^= static_cast<unsigned char>(1 << (i % 8));
    CHECK_THROWS_AS(saving::decode(bad), ModelFormatError);
    bad.assign(good.begin(), good.begin() + std::ptrdiff_t(i));
    CHECK_THROWS_AS(saving::decode(bad), ModelFormatError);
  }
  write(folder / "bad.gasg21", saving::Bytes(good.begin(), good.end() - 1));
  CHECK_THROWS_AS(load_tracker<double>(folder / "bad.gasg21"), ModelFormatError);
}

TEST_CASE("what is in a good file is checked, too") {
  Tracker<double> tracker(6, 2);
  const auto fields = [&](auto&& change) {
    auto state = tracker.state();
    change(state);
    return saving::tracker_fields(state, tracker.loss());
  };
  const auto refused = [&](auto&& change) {
    CHECK_THROWS_AS(
        saving::reading([&] { return saving::read_tracker<Tracker<double>>(fields(change)); }),
        ModelFormatError);
  };
  CHECK_NOTHROW(saving::read_tracker<Tracker<double>>(fields([](auto&) {})));
  refused([](auto& s) { s.U *= 2; });
  refused([](auto& s) { s.U.set_size(0, 0); });
  refused([](auto& s) { s.U(0, 0) = arma::datum::nan; });
  refused([](auto& s) { s.previous.w.set_size(3); });
  refused([](auto& s) { s.recent = RecentFits(3); });
}

TEST_CASE("a failed save leaves the old file, and no other") {
  const Folder folder;
  save(Tracker<double>(10, 2), folder / "model.gasg21");
  const saving::Bytes before = bytes_of(folder / "model.gasg21");
  CHECK_THROWS_AS(save(Tracker<double>(10, 2), folder / "absent" / "model.gasg21"),
                  saving::FileError);
  CHECK_THROWS_AS(save(Tracker<double>(10, 2), folder.path), saving::FileError);
  CHECK(bytes_of(folder / "model.gasg21") == before);
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path))
    count += entry.exists();
  CHECK(count == 1);
}
