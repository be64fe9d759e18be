// stream/follower.hpp: a tracker in its natural order, in storms, after changes.
#include <cmath>
#include <gasg21/tracker.hpp>
#include <vector>

#include "support.hpp"

using gasg21::AdaptiveStep;
using gasg21::Following;
using gasg21::largest_angle;
using gasg21::PaperTracker;
using gasg21::random_basis;
using gasg21::StreamStatus;
using gasg21::Tracker;
using support::gaussian;
using support::uword;

namespace {

struct Source {
  arma::mat U;
  double outliers;
  support::Random random;

  arma::vec next() {
    if (random.uniform() < outliers)
      return gaussian<double>(U.n_rows, random) * std::sqrt(double(U.n_cols) / double(U.n_rows));
    return U * gaussian<double>(U.n_cols, random);
  }
};

Source source(uword n, uword d, double outliers, std::uint64_t seed) {
  support::Random random(seed);
  return {random_basis<double>(n, d, random), outliers, random};
}

template <class Any>
void feed(Any& tracker, Source& from, int count) {
  for (int i = 0; i < count; ++i) tracker.update(from.next());
}

}  // namespace

TEST_CASE("a storm of outliers does not drive a converged stream away") {
  for (const double storm : {0.8, 0.95}) {
    Source from = source(20, 3, 0.2, 1);
    Tracker<double> tracker(20, 3, AdaptiveStep{}, 2);
    feed(tracker, from, 3000);
    from.outliers = storm;
    feed(tracker, from, 30'000);
    CHECK(largest_angle(tracker.basis(), from.U) < 1e-6);
    CHECK(tracker.status() == StreamStatus::tracking);
  }
}

TEST_CASE("a change is reported, and the new subspace found") {
  Source from = source(50, 4, 0.3, 3);
  Tracker<double> tracker(50, 4, AdaptiveStep{}, 4);
  feed(tracker, from, 3000);
  CHECK(tracker.changes().empty());
  from.U = random_basis<double>(50, 4, from.random);
  bool reported = false;
  for (int i = 0; i < 1000; ++i) reported |= tracker.update(from.next()).changed;
  CHECK(reported);
  REQUIRE(tracker.changes().size() == 1);
  CHECK(tracker.changes()[0] > 3000);
  CHECK(tracker.changes()[0] <= 3200);
  CHECK(largest_angle(tracker.basis(), from.U) < 1e-3);
  CHECK(tracker.status() == StreamStatus::tracking);
}

TEST_CASE("a subspace that comes back after a time of outliers alone is taken up again") {
  Source from = source(50, 4, 0.3, 5);
  Tracker<double> tracker(50, 4, AdaptiveStep{}, 6);
  feed(tracker, from, 4000);
  from.outliers = 1;
  feed(tracker, from, 2000);
  CHECK(tracker.changes().size() == 1);
  CHECK(tracker.status() != StreamStatus::tracking);
  CHECK(largest_angle(tracker.basis(), from.U) < 1e-6);  // what it believes, until it finds more
  from.outliers = 0.3;
  feed(tracker, from, 50);
  CHECK(largest_angle(tracker.basis(), from.U) < 1e-6);
  CHECK(tracker.status() == StreamStatus::tracking);
}

TEST_CASE("each vector many times in a row: the stream converges by replay, and not without") {
  // Without replay the end of a single stream depends on the last bits: its step is far too long.
  arma::vec with(21), without(21);
  for (uword seed = 0; seed < with.n_elem; ++seed)
    for (const uword replay : {uword(64), uword(0)}) {
      Source from = source(60, 4, 0.2, 100 + seed);
      Tracker<double> tracker(60, 4, AdaptiveStep{}, 200 + seed);
      Following following;
      following.replay = replay;
      tracker.follow(following);
      for (int i = 0; i < 1000; ++i) {
        const arma::vec x = from.next();
        for (int again = 0; again < 25; ++again) tracker.update(x);
      }
      (replay > 0 ? with : without)[seed] = largest_angle(tracker.basis(), from.U);
    }
  CHECK(with.max() < 1e-6);
  CHECK(arma::median(without) > 1e-3);
}

TEST_CASE("the paper's algorithm is watched, and not changed by it") {
  Source from = source(50, 4, 0.3, 9);
  PaperTracker<double> watched(50, 4, AdaptiveStep::paper(), 10),
      plain(50, 4, AdaptiveStep::paper(), 10);
  plain.follow(Following::none());
  for (int i = 0; i < 3000; ++i) {
    if (i == 2000) from.U = random_basis<double>(50, 4, from.random);
    const arma::vec x = from.next();
    watched.update(x);
    plain.update(x);
  }
  CHECK(arma::approx_equal(watched.basis(), plain.basis(), "absdiff", 0));
  CHECK(watched.changes().size() == 1);
  CHECK(plain.changes().empty());
}

TEST_CASE_TEMPLATE("a stream resumed at any moment is the same, bit for bit", T, float, double) {
  for (const int cut : {3, 100, 2100, 2500, 3120, 3300}) {  // in replay, outside it, with a backup
    Source from = source(40, 3, 0.3, 11);
    Tracker<T> tracker(40, 3, AdaptiveStep{}, 12);
    std::vector<arma::Col<T>> later;
    for (int i = 0; i < 4000; ++i) {
      if (i == 3000) from.U = random_basis<double>(40, 3, from.random);
      const arma::Col<T> x = arma::conv_to<arma::Col<T>>::from(from.next());
      if (i < cut)
        tracker.update(x);
      else
        later.push_back(x);
    }
    Tracker<T> resumed(tracker.state());
    for (const auto& x : later) {
      tracker.update(x);
      resumed.update(x);
    }
    CHECK(arma::approx_equal(tracker.basis(), resumed.basis(), "absdiff", 0));
    CHECK(tracker.changes() == resumed.changes());
    CHECK(tracker.status() == resumed.status());
  }
}

TEST_CASE("samples of a fit fill the reservoir: the natural order does not reopen the step") {
  Source from = source(60, 4, 0.2, 13);
  arma::mat X(60, 500);
  for (uword j = 0; j < X.n_cols; ++j) X.col(j) = from.next();
  Tracker<double> tracker(from.U, AdaptiveStep{}.at_level(20), 14);
  tracker.follow_after_fit(Following{}, gasg21::DenseView<double>(X), true);
  CHECK(tracker.is_replaying());
  const arma::vec x = from.next();
  for (int i = 0; i < 100; ++i) tracker.update(x);
  CHECK(tracker.rule().level() >= 18);
}
