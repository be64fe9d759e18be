// recovery/sampling.hpp: the samples that a large fit begins with. The statistic comes from fixed
// seeds; its bound is the 99.9 % quantile of the distribution named beside it.
#include <algorithm>
#include <gasg21/recovery/sampling.hpp>
#include <vector>

#include "support.hpp"

using gasg21::random_columns;
using gasg21::stages_between;
using support::uword;

TEST_CASE("random columns rise, and there are as many as asked for") {
  for (const uword count : {0u, 1u, 500u, 999u, 1000u, 1001u}) {
    CAPTURE(count);
    const std::vector<uword> columns = random_columns(1000, count, 3);
    REQUIRE(columns.size() == std::min<uword>(count, 1000));
    for (uword k = 1; k < columns.size(); ++k) REQUIRE(columns[k - 1] < columns[k]);
    if (!columns.empty()) CHECK(columns.back() < 1000);
    CHECK(columns == random_columns(1000, count, 3));
  }
  CHECK(random_columns(1000, 500, 3) != random_columns(1000, 500, 4));
}

TEST_CASE("every column is equally likely") {
  constexpr uword m = 40, count = 10, draws = 8000;
  std::vector<double> taken(m);
  for (uword seed = 0; seed < draws; ++seed)
    for (const uword j : random_columns(m, count, seed)) ++taken[j];
  const double expected = double(draws * count) / double(m);
  const double share = double(count) / double(m);
  double sum = 0;
  for (const double n : taken) sum += (n - expected) * (n - expected) / (expected * (1 - share));
  CHECK(sum * double(m - 1) / double(m) < 72.1);  // chi-squared, 39 degrees of freedom
}

TEST_CASE("the polish looks at some more samples before it looks at all") {
  CHECK(stages_between(20'000, 100'000).empty());
  CHECK(stages_between(20'000, 1'000'000) == std::vector<uword>{100'000});
  CHECK(stages_between(20'000, 10'000'000) == std::vector<uword>{100'000, 500'000});
}

TEST_CASE("a second sample of blocks is drawn if the first does not suffice") {
  using gasg21::second_sample;
  // 200 x 5 unknowns, 40 entries each, 100 observed per sample: 20 000 / 50 suffice.
  CHECK(second_sample(200, 5, 100, 5000, true, 1'000'000) == 0);
  CHECK(second_sample(200, 5, 2, 5000, true, 1'000'000) == 20'000);
  CHECK(second_sample(200, 5, 2, 5000, true, 15'000) == 15'000);        // there are no more
  CHECK(second_sample(200, 5, 2, 5000, true, 9'000) == 0);              // too few more to matter
  CHECK(second_sample(200, 5, 100, 5000, false, 1'000'000) == 20'000);  // the fit has failed
}
