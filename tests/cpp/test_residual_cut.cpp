// inliers/residual_cut.hpp: the cut passes a normal law and stops at a gap.
#include <cmath>
#include <gasg21/inliers/residual_cut.hpp>
#include <gasg21/support/random.hpp>
#include <vector>

#include "support.hpp"

using gasg21::cut_of_all;
using gasg21::cut_of_cleaned;
using gasg21::find_cut;
using support::uword;

namespace {

/// `inliers` normal values about 0, then `outliers` about `at` with a tenth of their spread.
std::vector<double> two_humps(uword inliers, uword outliers, double at, std::uint64_t seed) {
  support::Random random(seed);
  std::vector<double> values;
  for (uword j = 0; j < inliers; ++j) values.push_back(random.normal());
  for (uword j = 0; j < outliers; ++j) values.push_back(at + 0.1 * random.normal());
  return values;
}

}  // namespace

TEST_CASE("the cut of a normal law lies where the rule says") {
  const auto values = two_humps(4000, 0, 0, 1);
  const auto found = find_cut(values, cut_of_cleaned, true);
  CHECK(std::abs(found.centre) < 0.1);
  CHECK(std::abs(found.cut - 3.09) < 0.3);
  CHECK(std::abs(find_cut(values, cut_of_all, true).cut - 2.33) < 0.3);
}

TEST_CASE("a gap ends the inliers, up to as many outliers as inliers") {
  for (const uword outliers : {20u, 100u, 400u}) {
    CAPTURE(outliers);
    const auto found = find_cut(two_humps(400, outliers, 8, 2), cut_of_all, true);
    CHECK(std::abs(found.centre) < 0.15);
    CHECK(found.cut > 2);
    CHECK(found.cut < 7.5);
  }
}

TEST_CASE("the larger part is never above a gap") {
  const auto found = find_cut(two_humps(390, 410, 8, 4), cut_of_all, true);
  CHECK(found.cut > 8);
}

TEST_CASE("few samples need a wider gap") {
  CHECK(cut_of_all.least_gap(50) == 1);
  CHECK(cut_of_all.least_gap(160) == 0.75);
  CHECK(cut_of_all.least_gap(1000) == 0.5);
  CHECK(cut_of_cleaned.least_gap(1000) == 1);
}

TEST_CASE("the cut grows with a long tail, unless it may split") {
  const auto values = two_humps(400, 180, 8, 3);
  CHECK(find_cut(values, cut_of_all, false).cut > find_cut(values, cut_of_all, true).cut + 1);
}

TEST_CASE("an exponential tail has no gap") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    support::Random random(seed);
    std::vector<double> values;
    for (int j = 0; j < 500; ++j) values.push_back(-std::log(1 - random.uniform()));
    std::sort(values.begin(), values.end());
    CHECK(gasg21::detail::count_below_gap(values, cut_of_all.gap) == values.size());
  }
}

TEST_CASE("few and equal values") {
  CHECK(find_cut({2}, cut_of_all, true).cut == 2);
  const auto same = find_cut({2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, cut_of_all, true);
  CHECK(same.centre == 2);
  CHECK(same.cut == 2);
}
