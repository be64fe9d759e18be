// Model files: a saved stream goes on bit for bit, and nothing else loads.
#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <gasg21/model_file.hpp>
#include <gasg21/seeding/choose_lift.hpp>
#include <gasg21/union/fit_screening.hpp>
#include <memory>
#include <numeric>
#include <string>

#include "folder.hpp"
#include "support.hpp"

using namespace gasg21;
using support::Folder;

namespace {

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

namespace {

/// Whitened samples of two flats: all that a union can hold.
template <class T>
Union<T> union_of_everything(const arma::Mat<T>& X) {
  const auto lift = std::make_shared<const Lift<T>>(choose_lift<T>(DenseView<T>(X)));
  const DenseView<T> view(X);
  std::vector<uword> all(X.n_cols);
  std::iota(all.begin(), all.end(), uword(0));
  const arma::mat high = dense_samples(lifted(view, *lift), all);
  const auto whitening = std::make_shared<const Whitening>(fit_whitening(high, {2, 3}, 1));
  const UnionCoordinates<T> coordinates{lift, whitening};
  Random random(3);
  const uword r = whitening->n_coordinates();
  const std::vector<arma::Mat<T>> bases{random_basis<T>(r, 2, random),
                                        random_basis<T>(r, 3, random)};
  return {{coordinates.original(bases[0]), coordinates.original(bases[1])},
          bases,
          coordinates,
          ResidualSplit{0.7}};
}

}  // namespace

TEST_CASE_TEMPLATE("a saved union is the same, with its lift, whitening and split", T, double,
                   float) {
  const Folder folder;
  const auto X = arma::conv_to<arma::Mat<T>>::from(vectors(20, 200, 0.1, 3));
  const DenseView<T> view(X);
  const Union<T> fitted = union_of_everything(X);
  KSubspaces<T> stream(fitted.bases());
  save(fitted, stream, folder / "union.gasg21");
  const Union<T> again = load_union<T>(folder / "union.gasg21");
  CHECK(saving::encode({{"x", saving::to_value(again)}}) ==
        saving::encode({{"x", saving::to_value(fitted)}}));
  const Assignment<T> assigned = fitted.assign(view);
  CHECK(arma::all(again.labels(view) == assigned.labels));
  CHECK(support::same_bits(again.residuals(view), fitted.residuals(view)));
  CHECK(arma::all(again.reject(view, assigned) == fitted.reject(view, assigned)));
  CHECK(support::same_bits(again.complete(X), fitted.complete(X)));
  CHECK(again.score(view) == fitted.score(view));
  CHECK(load_k_subspaces<T>(folder / "union.gasg21").size() == 2);
  const Union<T> plain(std::vector<arma::Mat<T>>{random_basis<T>(9, 2, stream.random())});
  save(plain, folder / "plain.gasg21");
  CHECK(support::same_bits(load_union<T>(folder / "plain.gasg21").bases()[0], plain.bases()[0]));
  CHECK_THROWS_AS(load_k_subspaces<T>(folder / "plain.gasg21"), ModelFormatError);
}

TEST_CASE("parts of a union that do not belong together are refused") {
  const Union<double> fitted = union_of_everything(vectors(20, 200, 0.1, 3));
  const auto refused = [&](auto&& change) {
    auto whitening = *fitted.coordinates().whitening;
    auto lift = *fitted.coordinates().lift;
    auto bases = fitted.bases();
    change(bases, lift, whitening);
    saving::Struct fields;
    saving::WriteFields v{fields};
    v("type", std::string("Union64"));
    v("subspaces", fitted.subspaces());
    v("bases", bases);
    v("coordinates", UnionCoordinates<double>{std::make_shared<const Lift<double>>(lift),
                                              std::make_shared<const Whitening>(whitening)});
    v("split", fitted.split());
    const auto read = [&] { (void)saving::from_value<Union<double>>({fields}, "union"); };
    CHECK_THROWS_AS(saving::reading(read), ModelFormatError);
  };
  refused([](auto& bases, auto&, auto&) { bases.pop_back(); });
  refused([](auto& bases, auto&, auto&) { bases[1] *= 2; });
  refused([](auto& bases, auto&, auto&) { bases[1].shed_row(0); });
  refused([](auto&, auto& lift, auto&) { lift.centre.shed_row(0); });
  refused([](auto&, auto& lift, auto&) { lift.constant = arma::datum::nan; });
  refused([](auto&, auto&, auto& whitening) { whitening.spread[0] = -1; });
  refused([](auto&, auto&, auto& whitening) { whitening.spread.shed_row(0); });
  refused([](auto&, auto&, auto& whitening) { whitening.directions.shed_row(0); });
  refused([](auto&, auto&, auto& whitening) { whitening.screening->overall.basis.shed_row(0); });
}

TEST_CASE("a file of another kind is refused") {
  const Folder folder;
  save(Tracker<double>(10, 2), folder / "tracker.gasg21");
  CHECK_NOTHROW(load_tracker<double>(folder / "tracker.gasg21"));
  CHECK_THROWS_AS(load_tracker<float>(folder / "tracker.gasg21"), ModelFormatError);
  CHECK_THROWS_AS(load_k_subspaces<double>(folder / "tracker.gasg21"), ModelFormatError);
  CHECK_THROWS_AS(load_union<double>(folder / "tracker.gasg21"), ModelFormatError);
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
