// recovery/stream.hpp: the loops update with the vectors they are given, in order, and stop when
// they should. For one subspace and for K.
#include <cmath>
#include <gasg21/recovery/stream.hpp>
#include <type_traits>
#include <vector>

#include "support.hpp"
#include "union_support.hpp"

using gasg21::AdaptiveStep;
using gasg21::ConstantStep;
using gasg21::DenseView;
using gasg21::KSubspaces;
using gasg21::largest_angle;
using gasg21::PaperTracker;
using gasg21::PassRecord;
using gasg21::Status;
using gasg21::StepOutcome;
using gasg21::StepReport;
using gasg21::stream_pass;
using gasg21::stream_passes;
using gasg21::StreamOptions;
using gasg21::Tracker;
using gasg21::Unobserved;
using support::complaint;
using support::contains;
using support::gaussian;
using support::keep_going;
using support::quiet_nan;
using support::Random;
using support::same_bits;
using support::uword;

namespace {

/// 600 samples of a 3-dimensional subspace of R^30, a third of them outliers, a fifth missing.
template <class T>
struct Problem {
  arma::Mat<T> truth, X;

  explicit Problem(std::uint64_t seed) : X(30, 600) {
    support::Stream<T> stream(30, 3, 1.0 / 3, 0.2, seed);
    truth = stream.truth;
    for (uword j = 0; j < 600; ++j) X.col(j) = stream.next();
  }
  DenseView<T> view() const { return DenseView<T>(X); }
};

/// The paper's tracker with the paper's rule.
template <class T = double>
PaperTracker<T> paper(std::uint64_t seed = 0) {
  return PaperTracker<T>(30, 3, AdaptiveStep::paper(), seed);
}

/// Stops after so many vectors.
struct StopAfter : Unobserved {
  uword left;
  explicit StopAfter(uword vectors) : left(vectors) {}
  bool step(const StepReport& /*report*/) { return --left == 0; }
  bool operator()(const StepReport& report) { return step(report); }
};

/// How a stream of several passes went.
struct Streamed {
  Status status = Status::interrupted;
  std::vector<PassRecord> history;
};

template <class Stream, class Data>
Streamed streamed(Stream& stream, const Data& data, const StreamOptions& options = {}) {
  Streamed result;
  Unobserved nobody;
  result.status = stream_passes(stream, data, options, nobody, [&](const PassRecord& record) {
    result.history.push_back(record);
  });
  return result;
}

}  // namespace

TEST_CASE("run updates with the columns of the order, one after the other") {
  const Problem<double> p(1);
  const arma::uvec order = {5, 300, 5, 599, 0};
  Tracker<> by_run(30, 3), by_hand(30, 3);
  std::vector<double> seen, expected;
  CHECK_FALSE(gasg21::run(by_run, p.view(), order, [&](const StepReport& report) {
    seen.push_back(report.residual);
    return false;
  }));
  for (const uword j : order) expected.push_back(by_hand.update(arma::vec(p.X.col(j))).residual);
  CHECK(same_bits(by_run.basis(), by_hand.basis()));
  CHECK(seen == expected);
  CHECK(by_run.counters().seen() == 5);
  CHECK(by_run.counters().used() == 5);
  // Another order is another stream.
  Tracker<> backwards(30, 3);
  gasg21::run(backwards, p.view(), arma::reverse(order), keep_going);
  CHECK_FALSE(same_bits(backwards.basis(), by_hand.basis()));
}

TEST_CASE("the observer sees each vector, and run stops after the vector it chooses") {
  const Problem<double> p(2);
  const arma::uvec all = arma::regspace<arma::uvec>(0, 599);
  Tracker<> stopped(30, 3), prefix(30, 3);
  CHECK(gasg21::run(stopped, p.view(), all, StopAfter(17)));
  CHECK(stopped.counters().seen() == 17);
  gasg21::run(prefix, p.view(), all.head(17).eval(), keep_going);
  CHECK(same_bits(stopped.basis(), prefix.basis()));
  // A stopped tracker is usable: the two parts are the whole.
  Tracker<> whole(30, 3);
  uword seen = 0;
  gasg21::run(whole, p.view(), all, [&](const StepReport&) { return ++seen == 0; });
  CHECK(seen == 600);
  CHECK_FALSE(gasg21::run(stopped, p.view(), all.tail(583).eval(), keep_going));
  CHECK(same_bits(stopped.basis(), whole.basis()));
}

TEST_CASE("the median residual of a pass leaves out vectors that could not be fitted") {
  arma::mat X(30, 5, arma::fill::zeros);
  X.col(1).fill(quiet_nan<double>);
  Random random(3);
  X.col(2) = gaussian<double>(30, random);
  Tracker<double, ConstantStep> tracker(30, 3, ConstantStep(1e-12));
  X.col(3) = tracker.basis().col(0);
  X.col(4) = X.col(3) + X.col(2) / 100;
  Unobserved nobody;
  const PassRecord record = stream_pass(tracker, DenseView<double>(X), nobody);
  CHECK(record.n_iter == 3);  // one in the subspace, two taken
  CHECK(tracker.counters().seen() == 5);
  // The three residuals are about 0, 0.05 and 0.95. The last is not near the subspace.
  CHECK(record.median_residual > 0.02);
  CHECK(record.median_residual < 0.1);
  CHECK(record.near_residual == doctest::Approx(record.median_residual / 2).epsilon(1e-6));
}

TEST_CASE("without a residual below 0.5 the near residual is 1") {
  Random random(4);
  const arma::mat X = gaussian<double>(30, 20, random);
  Tracker<double, ConstantStep> tracker(30, 3, ConstantStep(1e-12));
  Unobserved nobody;
  CHECK(stream_pass(tracker, DenseView<double>(X), nobody).near_residual == 1);
}

TEST_CASE("data of another dimension, or columns that do not exist, are refused") {
  const Problem<double> p(4);
  Tracker<> small(29, 3), tracker(30, 3);
  CHECK(contains(complaint([&] { gasg21::run(small, p.view(), {0}, keep_going); }),
                 "30 rows, but n = 29"));
  CHECK(contains(complaint([&] { streamed(small, p.view()); }), "30 rows, but n = 29"));
  CHECK(contains(complaint([&] { gasg21::run(tracker, p.view(), {0, 600}, keep_going); }), "600"));
  CHECK(tracker.state().counters.seen() == 0);  // checked before the first step
  CHECK_FALSE(gasg21::run(tracker, p.view(), arma::uvec{}, keep_going));
  CHECK(tracker.state().counters.seen() == 0);
}

TEST_CASE("a pass visits every column once, and records how far the subspace moved") {
  Problem<double> p(5);
  Tracker<> tracker(30, 3, AdaptiveStep{}, 9);
  Tracker<> replay(tracker.state());
  const arma::mat before = tracker.basis();
  Unobserved nobody;
  const auto record = stream_pass(tracker, p.view(), nobody);
  CHECK(tracker.counters().seen() == 600);
  CHECK(record.stage == gasg21::Stage::stream);
  CHECK(record.n_iter == tracker.counters().used());
  CHECK(record.largest_move() == largest_angle(before, tracker.basis()));
  CHECK(record.step_size == tracker.state().rule.eta());
  CHECK(record.level == tracker.state().rule.level());
  CHECK(record.members.empty());
  // The order comes from the tracker's own generator, so a saved tracker repeats it.
  std::vector<double> residuals;
  gasg21::run(replay, p.view(), replay.random().permutation(600), [&](const StepReport& report) {
    residuals.push_back(report.residual);
    return false;
  });
  CHECK(same_bits(replay.basis(), tracker.basis()));
  CHECK(record.median_residual == gasg21::median(residuals));
}

TEST_CASE("a pass over K subspaces counts the members of each") {
  support::Union<double> problem(30, {2, 3}, 100, 0, 0, 0, 6);
  KSubspaces<double> k(problem.truth);
  const auto before = k.bases();
  Unobserved nobody;
  const auto record = stream_pass(k, DenseView<double>(problem.X), nobody);
  CHECK(arma::all(record.members == arma::uvec{100, 100}));
  CHECK(record.n_iter == 200);
  const arma::vec moved = gasg21::angles_between(before, k.bases());
  REQUIRE(record.moved.n_elem == 2);
  for (uword c = 0; c < 2; ++c) {
    CHECK(record.moved[c] == moved[c]);
    CHECK(moved[c] == largest_angle(before[c], k.basis(c)));
  }
  CHECK(record.largest_move() == moved.max());
}

TEST_CASE_TEMPLATE("the passes converge to the subspace", Any, PaperTracker<double>,
                   PaperTracker<float>, Tracker<double>, Tracker<float>) {
  using T = typename Any::value_type;
  const Problem<T> p(6);
  const bool scaled = std::is_same_v<Any, Tracker<T>>;
  const auto rule = gasg21::AdaptiveStepOptions::defaults(scaled, false);
  Any tracker(30, 3, AdaptiveStep(rule), 1);
  StreamOptions options;
  options.tol = std::is_same_v<T, double> ? 1e-8 : 1e-4;
  options.max_passes = 50;
  const auto result = streamed(tracker, p.view(), options);
  CHECK(result.status == Status::converged);
  CHECK(result.history.size() < 50);
  // Every pass but the last moved by more than tol.
  for (std::size_t i = 0; i < result.history.size(); ++i)
    CHECK((result.history[i].largest_move() <= options.tol) == (i + 1 == result.history.size()));
  CHECK(double(largest_angle(tracker.basis(), p.truth)) <= 2 * options.tol);
}

TEST_CASE("the same seed gives the same stream, another seed another") {
  const Problem<double> p(7);
  auto a = paper(1), b = paper(1), c = paper(2);
  for (auto* tracker : {&a, &b, &c}) streamed(*tracker, p.view());
  CHECK(same_bits(a.basis(), b.basis()));
  CHECK_FALSE(same_bits(a.basis(), c.basis()));
}

TEST_CASE("all passes run if tol is zero, and none if max_passes is") {
  const Problem<double> p(8);
  auto tracker = paper();
  StreamOptions options;
  options.max_passes = 40;
  options.tol = 0;
  const auto result = streamed(tracker, p.view(), options);
  CHECK(result.status == Status::max_passes);
  CHECK(result.history.size() == 40);
  options.max_passes = 0;
  CHECK(streamed(tracker, p.view(), options).history.empty());
}

TEST_CASE("a stream that is stopped throws Stopped, and the tracker is between two vectors") {
  const Problem<double> p(9);
  auto tracker = paper(), replay = paper();
  StopAfter observer(1300);
  std::vector<PassRecord> history;
  CHECK_THROWS_AS(stream_passes(tracker, p.view(), {}, observer,
                                [&](const PassRecord& record) { history.push_back(record); }),
                  gasg21::Stopped);
  CHECK(history.size() == 2);  // two whole passes; 100 vectors of the third have no record
  CHECK(tracker.state().counters.seen() == 1300);
  for (const uword count : {600u, 600u, 100u}) {
    const arma::uvec order = replay.random().permutation(600);
    gasg21::run(replay, p.view(), order.head(count).eval(), keep_going);
  }
  CHECK(same_bits(tracker.basis(), replay.basis()));
}

TEST_CASE("data without a sample that can be used is an error") {
  arma::mat X(30, 50);
  X.fill(quiet_nan<double>);
  Tracker<> tracker(30, 3);
  const auto message = complaint([&] { streamed(tracker, DenseView<double>(X)); });
  CHECK(contains(message, "no sample of X could be used: 50 seen, 50 all_missing"));
  CHECK(tracker.state().counters[StepOutcome::all_missing] == 50);
}

TEST_CASE("a stream has stalled if the residuals fell by less than a tenth in two passes") {
  using gasg21::has_stalled;
  CHECK_FALSE(has_stalled({}));
  CHECK_FALSE(has_stalled({0.1, 0.1}));
  CHECK(has_stalled({0.1, 0.1, 0.1}));
  CHECK(has_stalled({0.1, 0.2, 0.0901}));
  CHECK_FALSE(has_stalled({0.1, 0.2, 0.0899}));
  CHECK_FALSE(has_stalled({0.1, 0.1, 0.1, 0.08}));  // compared with two passes before
  CHECK(has_stalled({0.3, 0.1, 0.1, 0.095}));
}

TEST_CASE("under noise the passes end at the noise floor, from stall_after on") {
  Problem<double> p(11);
  Random random(12);
  p.X += 0.01 * gaussian<double>(30, 600, random);
  for (const uword stall_after : {4u, 9u}) {
    Tracker<> tracker(30, 3, AdaptiveStep(gasg21::AdaptiveStepOptions::defaults(true, false)), 1);
    const auto result = streamed(tracker, p.view(), {20, 1e-12, stall_after});
    CHECK(result.status == Status::noise_floor);
    CHECK(result.history.size() >= stall_after);
    CHECK(result.history.size() < 20);
  }
  Tracker<> never(30, 3, AdaptiveStep(gasg21::AdaptiveStepOptions::defaults(true, false)), 1);
  CHECK(streamed(never, p.view(), {20, 1e-12, 0}).status == Status::max_passes);
}

TEST_CASE("sparse columns and dense columns with NaN give the same bits") {
  const Problem<double> p(10);
  std::vector<double> values;
  std::vector<std::int32_t> rows, offsets = {0};
  for (uword j = 0; j < 600; ++j) {
    for (uword i = 0; i < 30; ++i) {
      if (std::isnan(p.X(i, j))) continue;
      values.push_back(p.X(i, j));
      rows.push_back(std::int32_t(i));
    }
    offsets.push_back(std::int32_t(rows.size()));
  }
  const gasg21::SparseView<double, std::int32_t> sparse{values.data(), rows.data(), offsets.data(),
                                                        30, 600};
  Tracker<> a(30, 3), b(30, 3);
  Unobserved nobody;
  stream_pass(a, p.view(), nobody);
  stream_pass(b, sparse, nobody);
  CHECK(same_bits(a.basis(), b.basis()));
}
