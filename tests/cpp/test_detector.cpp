// stream/detector.hpp: what residuals say about a stream.
#include <cmath>
#include <gasg21/stream/detector.hpp>
#include <vector>

#include "support.hpp"

using gasg21::Detector;
using gasg21::DetectorState;
using gasg21::StreamStatus;

namespace {

constexpr double null = 0.9;

/// Shows the detector `count` residuals: of inliers near `typical`, and of a share of outliers.
/// Returns the number of changes that it announced.
int show(Detector& detector, int count, double typical, double outliers, support::Random& random) {
  int changes = 0;
  for (int i = 0; i < count; ++i) {
    const bool outlier = random.uniform() < outliers;
    const double residual = outlier ? 0.97 : typical * std::exp(0.3 * random.normal());
    changes += detector.see(residual, null);
  }
  return changes;
}

}  // namespace

TEST_CASE("a stream starts, and tracks once its residuals no longer fall") {
  support::Random random(1);
  Detector detector;
  CHECK(detector.status() == StreamStatus::starting);
  for (int i = 0; i < 100; ++i) detector.see(std::exp(-0.05 * i), null);  // still falls
  CHECK(detector.status() == StreamStatus::starting);
  CHECK(show(detector, 500, std::exp(-5.0), 0.5, random) == 0);
  CHECK(detector.status() == StreamStatus::tracking);
}

TEST_CASE("a change is announced once, a hundred vectors after it") {
  support::Random random(2);
  Detector detector;
  show(detector, 2000, 0.01, 0.2, random);
  CHECK(detector.status() == StreamStatus::tracking);
  int after = 0;
  while (!detector.see(0.97, null)) ++after;
  CHECK(after >= 90);
  CHECK(after <= 110);
  CHECK(detector.status() == StreamStatus::changed);
  CHECK(detector.changes() == std::vector<std::uint64_t>{2001 + std::uint64_t(after)});
  CHECK(show(detector, 1000, 0.02, 0.2, random) == 0);
  CHECK(detector.status() == StreamStatus::tracking);
}

TEST_CASE("storms of outliers are not changes, also not when they begin") {
  support::Random random(3);
  for (const double storm : {0.5, 0.8, 0.9}) {
    Detector detector;
    int changes = show(detector, 2000, 0.01, 0.2, random);
    for (int i = 0; i < 20; ++i) {
      changes += show(detector, 3000, 0.01, storm, random);
      CHECK(detector.status() == StreamStatus::tracking);
      changes += show(detector, 1000, 0.01, 0.2, random);
    }
    CHECK(changes == 0);
  }
}

TEST_CASE("misses are soon no chance: the stream is lost before a change is announced") {
  support::Random random(4);
  Detector detector;
  show(detector, 2000, 0.01, 0.2, random);
  for (int i = 0; i < 20; ++i) detector.see(0.97, null);
  CHECK(detector.status() == StreamStatus::lost);
  show(detector, 200, 0.01, 0.2, random);
  CHECK(detector.status() == StreamStatus::tracking);
}

TEST_CASE("vectors that are near, but not as near as before, mean a part of it has changed") {
  support::Random random(5);
  Detector detector;
  show(detector, 2000, 0.001, 0.2, random);
  for (int i = 0; i < 200; ++i) CHECK_FALSE(detector.see(i % 7 == 0 ? 0.05 : 0.4, null));
  CHECK(detector.status() == StreamStatus::lost);
}

TEST_CASE("without a subspace a stream is lost after three thousand vectors") {
  Detector detector;
  for (int i = 0; i < 3000; ++i) detector.see(0.97, null);
  CHECK(detector.status() == StreamStatus::starting);
  detector.see(0.97, null);
  CHECK(detector.status() == StreamStatus::lost);
}

TEST_CASE("repeated outliers count as little as their repetitions tell") {
  support::Random random(6);
  Detector detector;
  int changes = 0;
  for (int i = 0; i < 4000; ++i) {
    const double residual = random.uniform() < 0.2 ? 0.97 : 0.01;
    for (int again = 0; again < 25; ++again) changes += detector.see(residual, null);
  }
  CHECK(changes == 0);
}

TEST_CASE("a fit leaves a stream that tracks") {
  Detector detector = Detector::after_fit(std::vector<double>(200, std::log(0.01)));
  CHECK(detector.status() == StreamStatus::tracking);
  CHECK(detector.fitness().typical == doctest::Approx(std::log(0.01)));
  CHECK(Detector::after_fit({-1, -2}).status() == StreamStatus::starting);
}

TEST_CASE("a detector resumes from its state, and refuses another one") {
  support::Random random(7), same(7);
  Detector detector;
  show(detector, 1000, 0.01, 0.3, random);
  Detector again(detector.state());
  const auto a = random, b = random;
  support::Random first(a), second(b);
  show(detector, 500, 0.3, 0.9, first);
  show(again, 500, 0.3, 0.9, second);
  CHECK(detector.state().surprise == again.state().surprise);
  CHECK(detector.state().fitness.typical == again.state().fitness.typical);
  DetectorState broken;
  broken.gone = arma::datum::nan;
  CHECK_THROWS_AS(Detector{broken}, std::invalid_argument);
}
