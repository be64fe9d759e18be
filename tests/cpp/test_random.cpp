// support/random.hpp: the draws equal the published ones and have the right distributions. Each
// statistic comes from a fixed seed; its bound is the 99.9 % quantile of the distribution named
// beside it.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <gasg21/support/random.hpp>
#include <map>
#include <vector>

#include "support.hpp"

using gasg21::Random;
using gasg21::uword;

namespace {

/// Sum of (observed - expected)^2 / expected over equally likely cells.
template <class Counts>
double chi_square(const Counts& counts, double expected) {
  double sum = 0;
  for (const double count : counts) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

}  // namespace

TEST_CASE("the generator is xoshiro256**") {
  // From the reference recurrence of Blackman and Vigna, state {1, 2, 3, 4}.
  const std::uint64_t expected[] = {
      11520u,
      0u,
      1509978240u,
      1215971899390074240u,
      1216172134540287360u,
      607988272756665600u,
      16172922978634559625u,
      8476171486693032832u,
      10595114339597558777u,
      2904607092377533576u,
  };
  Random random(Random::State{1, 2, 3, 4});
  for (const std::uint64_t value : expected) CHECK(random.next() == value);
}

TEST_CASE("splitmix64 makes the state from the seed") {
  // The first four outputs of the reference splitmix64 for 1234567.
  CHECK(Random(1234567).state() == Random::State{6457827717110365317u, 3203168211198807973u,
                                                 9817491932198370423u, 4593380528125082431u});
}

TEST_CASE("the same seed gives the same draws, another seed gives other draws") {
  Random a(5), b(5), c(6);
  int different = 0;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t draw = a.next();
    CHECK(b.next() == draw);
    different += c.next() != draw;
  }
  CHECK(different == 100);
}

TEST_CASE("a generator resumes from its state, after any kind of draw") {
  Random a(5);
  a.normal();
  a.index(10);
  a.permutation(9);
  Random b(a.state());
  for (int i = 0; i < 10; ++i) {
    CHECK(a.normal() == b.normal());
    CHECK(a.uniform() == b.uniform());
  }
}

TEST_CASE("the all-zero state is refused, because the generator would return only zeros") {
  CHECK_THROWS_AS(Random(Random::State{0, 0, 0, 0}), std::invalid_argument);
  CHECK_NOTHROW(Random(Random::State{0, 0, 0, 1}));
}

TEST_CASE("uniform fills [0, 1) evenly") {
  Random random(1);
  std::vector<double> counts(20);
  for (int i = 0; i < 20000; ++i) {
    const double u = random.uniform();
    REQUIRE(u >= 0.0);
    REQUIRE(u < 1.0);
    ++counts[std::size_t(u * 20)];
  }
  CHECK(chi_square(counts, 1000) < 43.8);  // 19 degrees of freedom
}

TEST_CASE("index is uniform for small bounds") {
  for (const std::uint64_t bound : {2u, 3u, 7u, 16u}) {
    CAPTURE(bound);
    Random random(bound);
    std::vector<double> counts(bound);
    for (std::uint64_t i = 0; i < 2000 * bound; ++i) {
      const std::uint64_t draw = random.index(bound);
      REQUIRE(draw < bound);
      ++counts[draw];
    }
    CHECK(chi_square(counts, 2000) < 37.7);  // 15 degrees of freedom for the largest
  }
  CHECK(Random(3).index(1) == 0);
}

TEST_CASE("index is unbiased where the plain remainder is most biased") {
  // Modulo 3 * 2^62, a plain 64-bit draw would be in the lowest third twice as often.
  const std::uint64_t third = std::uint64_t(1) << 62;
  Random random(11);
  std::vector<double> counts(3);
  for (int i = 0; i < 6000; ++i) ++counts[random.index(3 * third) / third];
  CHECK(chi_square(counts, 2000) < 13.8);  // 2 degrees of freedom
}

TEST_CASE("index is the remainder of a draw") {
  Random bounds(9);
  for (int time = 0; time < 100'000; ++time) {
    Random draws(std::uint64_t(time) + 1);
    const std::uint64_t draw = Random(draws.state()).next();
    // Below 2^40, where the remainder is uniform but for 2^-24, so that no draw is repeated.
    const std::uint64_t bound = (bounds.next() >> (24 + bounds.next() % 40)) + 1;
    if (draw < bound) continue;
    CHECK(draws.index(bound) == draw % bound);
  }
}

TEST_CASE("a permutation contains every number once") {
  Random random(2);
  for (const uword count : {0u, 1u, 2u, 17u, 1000u}) {
    const arma::uvec order = arma::sort(random.permutation(count));
    REQUIRE(order.n_elem == count);
    for (uword i = 0; i < count; ++i) REQUIRE(order[i] == i);
  }
}

TEST_CASE("all orders of four numbers are equally likely") {
  Random random(4);
  std::map<std::vector<uword>, double> seen;
  for (int i = 0; i < 24000; ++i)
    ++seen[arma::conv_to<std::vector<uword>>::from(random.permutation(4))];
  REQUIRE(seen.size() == 24);
  std::vector<double> counts;
  for (const auto& entry : seen) counts.push_back(entry.second);
  CHECK(chi_square(counts, 1000) < 49.7);  // 23 degrees of freedom
}

TEST_CASE("every number is equally likely at every position") {
  Random random(8);
  const uword count = 6;
  std::vector<double> counts(count * count);
  for (int i = 0; i < 12000; ++i) {
    const arma::uvec order = random.permutation(count);
    for (uword p = 0; p < count; ++p) ++counts[p * count + order[p]];
  }
  CHECK(chi_square(counts, 2000) < 52.6);  // 25 degrees of freedom
}

TEST_CASE("normals equals repeated draws of normal, and leaves the same state") {
  for (const gasg21::uword count : {0u, 1u, 7u, 127u, 128u, 129u, 1000u}) {
    CAPTURE(count);
    Random one(count + 5), all(count + 5);
    std::vector<double> drawn(count);
    all.normals(drawn.data(), count);
    for (const double z : drawn)  // a compiler may fuse a * a + b * b in one of them
      REQUIRE(z == doctest::Approx(one.normal()).epsilon(1e-13));
    CHECK(all.state() == one.state());
  }
}

TEST_CASE("normal draws have the moments and the tails of the normal distribution") {
  Random random(3);
  const int draws = 200000;
  double sum = 0, squares = 0, cubes = 0, fourths = 0, beyond_2 = 0, beyond_3 = 0;
  for (int i = 0; i < draws; ++i) {
    const double z = random.normal();
    sum += z;
    squares += z * z;
    cubes += z * z * z;
    fourths += z * z * z * z;
    beyond_2 += std::abs(z) > 2;
    beyond_3 += std::abs(z) > 3;
  }
  // 3.3 standard errors: the variances of z, z^2, z^3, z^4 are 1, 2, 15, 96.
  const double error = 3.3 / std::sqrt(double(draws));
  CHECK(std::abs(sum / draws) < error);
  CHECK(std::abs(squares / draws - 1) < std::sqrt(2.0) * error);
  CHECK(std::abs(cubes / draws) < std::sqrt(15.0) * error);
  CHECK(std::abs(fourths / draws - 3) < std::sqrt(96.0) * error);
  CHECK(std::abs(beyond_2 / draws - 0.0455) < std::sqrt(0.0455) * error);
  CHECK(std::abs(beyond_3 / draws - 0.0027) < std::sqrt(0.0027) * error);
}
