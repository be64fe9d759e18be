// support/log_histogram.hpp: quantiles from counts, to within the width of a bin.
#include <algorithm>
#include <cmath>
#include <gasg21/support/log_histogram.hpp>
#include <stdexcept>
#include <vector>

#include "support.hpp"

using gasg21::LogHistogram;
using support::Random;
using support::uword;

TEST_CASE("quantiles are those of the sorted numbers, to one percent") {
  Random random(1);
  LogHistogram histogram;
  std::vector<double> numbers;
  for (int i = 0; i < 20000; ++i) {
    numbers.push_back(std::exp(-12 * random.uniform()));  // five orders of magnitude
    histogram.add(numbers.back());
  }
  std::sort(numbers.begin(), numbers.end());
  for (const double share : {0.01, 0.2, 0.5, 0.9, 0.999}) {
    const double exact = numbers[std::size_t(share * 20000)];
    CHECK(std::abs(histogram.quantile(share) / exact - 1) < 0.01);
  }
}

TEST_CASE("the counts of two parts add up to those of the whole") {
  Random random(2);
  LogHistogram whole, first, second;
  for (int i = 0; i < 1000; ++i) {
    const double x = random.uniform();
    whole.add(x);
    (i % 3 ? first : second).add(x);
  }
  first += second;
  CHECK(arma::all(first.counts() == whole.counts()));
}

TEST_CASE("zeros, tiny numbers, one and NaN have a place or none") {
  LogHistogram histogram;
  CHECK(std::isnan(histogram.quantile(0.5)));
  histogram.add(std::nan(""));
  CHECK(arma::accu(histogram.counts()) == 0);
  histogram.add(0);
  histogram.add(1e-300);
  CHECK(histogram.quantile(1) <= 1e-17);
  LogHistogram ones;
  ones.add(1);
  ones.add(1 + 1e-12);
  CHECK(arma::accu(ones.counts()) == 2);
  CHECK(ones.quantile(1) == doctest::Approx(1).epsilon(0.01));
}

TEST_CASE("counts of another number of bins are refused") {
  CHECK_THROWS_AS(LogHistogram(arma::uvec{1}), std::invalid_argument);
  CHECK_NOTHROW(LogHistogram(LogHistogram().counts()));
}
