// run.hpp: the loops see the vectors they are given, in order, and stop when they should.
#include <gasg21/run.hpp>
#include <gasg21/tracker.hpp>

#include "support.hpp"

using gasg21::AdaptiveStep;
using gasg21::DenseView;
using gasg21::FitOptions;
using gasg21::FitStatus;
using gasg21::largest_angle;
using gasg21::RunSummary;
using gasg21::StepOutcome;
using gasg21::StepReport;
using gasg21::Tracker;
using support::complaint;
using support::contains;
using support::gaussian;
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

/// Stops after so many vectors.
struct StopAfter {
  uword left;
  bool operator()(const StepReport&) { return --left == 0; }
};

}  // namespace

TEST_CASE("run updates with the columns named, in the order named") {
  const Problem<double> p(1);
  const arma::uvec order = {5, 300, 5, 599, 0};
  Tracker<> by_run(30, 3), by_hand(30, 3);
  const RunSummary summary = gasg21::run(by_run, p.view(), order);
  double residuals = 0;
  for (const uword j : order) residuals += by_hand.update(arma::vec(p.X.col(j))).residual;
  CHECK(same_bits(by_run.basis(), by_hand.basis()));
  CHECK(summary.n_seen == 5);
  CHECK(summary.n_used == 5);
  CHECK(summary.residual_sum == residuals);
  CHECK(summary.mean_residual() == residuals / 5);
  CHECK_FALSE(summary.stopped);
  // Another order is another stream.
  Tracker<> backwards(30, 3);
  gasg21::run(backwards, p.view(), arma::reverse(order));
  CHECK_FALSE(same_bits(backwards.basis(), by_hand.basis()));
}

TEST_CASE("the observer sees each vector and stops the run after the one it says") {
  const Problem<double> p(2);
  const arma::uvec all = arma::regspace<arma::uvec>(0, 599);
  Tracker<> stopped(30, 3), prefix(30, 3);
  const RunSummary summary = gasg21::run(stopped, p.view(), all, StopAfter{17});
  CHECK(summary.stopped);
  CHECK(summary.n_seen == 17);
  gasg21::run(prefix, p.view(), all.head(17).eval());
  CHECK(same_bits(stopped.basis(), prefix.basis()));
  // A stop leaves the tracker usable: the two halves are the whole.
  Tracker<> whole(30, 3);
  uword seen = 0;
  gasg21::run(whole, p.view(), all, [&](const StepReport&) { return ++seen == 0; });
  CHECK(seen == 600);
  gasg21::run(stopped, p.view(), all.tail(583).eval());
  CHECK(same_bits(stopped.basis(), whole.basis()));
}

TEST_CASE("the sums leave out what could not be used") {
  arma::mat X(30, 4, arma::fill::zeros);
  X.col(1).fill(quiet_nan<double>);
  Random random(3);
  X.col(2) = gaussian<double>(30, random);
  Tracker<> tracker(30, 3);
  X.col(3) = tracker.basis().col(0);
  const RunSummary summary = gasg21::run(tracker, DenseView<double>(X), {3, 0, 1, 2});
  CHECK(summary.n_seen == 4);
  CHECK(summary.n_used == 2);  // one in the subspace, one taken
  CHECK(tracker.state().counters.used() == 2);
  CHECK(summary.residual_sum < 1.0);
  CHECK(summary.residual_sum > 0.5);
}

TEST_CASE("data of another dimension, or columns that are not there, are refused") {
  const Problem<double> p(4);
  Tracker<> small(29, 3), tracker(30, 3);
  CHECK(contains(complaint([&] { gasg21::run(small, p.view(), {0}); }), "30 rows, but n = 29"));
  CHECK(contains(complaint([&] { gasg21::fit(small, p.view()); }), "30 rows, but n = 29"));
  CHECK(contains(complaint([&] { gasg21::run(tracker, p.view(), {0, 600}); }), "600"));
  CHECK(tracker.state().counters.seen() == 0);  // checked before the first step
  CHECK(gasg21::run(tracker, p.view(), arma::uvec{}).n_seen == 0);
}

TEST_CASE("a pass sees every column once, and says how far it went") {
  Problem<double> p(5);
  Tracker<> tracker(30, 3, AdaptiveStep{}, 9);
  Tracker<> replay(tracker.state());
  const arma::mat before = tracker.basis();
  const auto record = gasg21::run_pass(tracker, p.view());
  CHECK(record.summary.n_seen == 600);
  CHECK(record.moved == largest_angle(before, tracker.basis()));
  CHECK(record.eta == tracker.state().rule.eta());
  CHECK(record.level == tracker.state().rule.level());
  // The order comes from the tracker's own generator, so that a saved tracker repeats it.
  gasg21::run(replay, p.view(), replay.random().permutation(600));
  CHECK(same_bits(replay.basis(), tracker.basis()));
}

TEST_CASE_TEMPLATE("fit converges to the subspace and says so", T, double, float) {
  const Problem<T> p(6);
  Tracker<T> tracker(30, 3, AdaptiveStep{}, 1);
  FitOptions options;
  options.tol = std::is_same_v<T, double> ? 1e-8 : 1e-4;
  options.max_passes = 50;
  const auto result = gasg21::fit(tracker, p.view(), options);
  CHECK(result.status == FitStatus::converged);
  CHECK(result.history.size() < 50);
  // Every pass but the last moved by more than tol.
  for (std::size_t i = 0; i < result.history.size(); ++i)
    CHECK((result.history[i].moved <= options.tol) == (i + 1 == result.history.size()));
  CHECK(double(largest_angle(tracker.basis(), p.truth)) <= 2 * options.tol);
}

TEST_CASE("the same seed gives the same fit, another seed another path") {
  const Problem<double> p(7);
  Tracker<> a(30, 3, AdaptiveStep{}, 1), b(30, 3, AdaptiveStep{}, 1), c(30, 3, AdaptiveStep{}, 2);
  gasg21::fit(a, p.view());
  gasg21::fit(b, p.view());
  gasg21::fit(c, p.view());
  CHECK(same_bits(a.basis(), b.basis()));
  CHECK_FALSE(same_bits(a.basis(), c.basis()));
}

TEST_CASE("fit runs all its passes when tol is zero, and none when there are none to run") {
  const Problem<double> p(8);
  Tracker<> tracker(30, 3);
  FitOptions options;
  options.max_passes = 40;
  options.tol = 0;
  const auto result = gasg21::fit(tracker, p.view(), options);
  CHECK(result.status == FitStatus::max_passes);
  CHECK(result.history.size() == 40);
  options.max_passes = 0;
  CHECK(gasg21::fit(tracker, p.view(), options).history.empty());
}

TEST_CASE("a fit cut short says that it was interrupted") {
  const Problem<double> p(9);
  Tracker<> tracker(30, 3);
  StopAfter observer{1300};
  const auto result = gasg21::fit(tracker, p.view(), {}, observer);
  CHECK(result.status == FitStatus::interrupted);
  REQUIRE(result.history.size() == 3);  // two whole passes and 100 vectors of the third
  CHECK(result.history[2].summary.n_seen == 100);
  CHECK(result.history[2].summary.stopped);
  CHECK(tracker.state().counters.seen() == 1300);
}

TEST_CASE("data that say nothing do not converge") {
  arma::mat X(30, 50);
  X.fill(quiet_nan<double>);
  Tracker<> tracker(30, 3);
  const auto result = gasg21::fit(tracker, DenseView<double>(X));
  CHECK(result.status == FitStatus::max_passes);
  CHECK(result.history.size() == FitOptions{}.max_passes);
  CHECK(tracker.state().counters[StepOutcome::all_missing] == 50 * FitOptions{}.max_passes);
}

TEST_CASE("sparse columns and dense columns with gaps give the same run") {
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
  gasg21::run_pass(a, p.view());
  gasg21::run_pass(b, sparse);
  CHECK(same_bits(a.basis(), b.basis()));
}
