// support/median.hpp: the median of the values that are not NaN.
#include <algorithm>
#include <cmath>
#include <gasg21/support/median.hpp>
#include <limits>
#include <vector>

#include "support.hpp"

using gasg21::median;
using support::quiet_nan;

TEST_CASE_TEMPLATE("the median is the middle value, or the mean of the two middle values", T,
                   double, float) {
  CHECK(median(std::vector<T>{3}) == 3);
  CHECK(median(std::vector<T>{3, 1, 2}) == 2);
  CHECK(median(std::vector<T>{4, 1, 3, 2}) == T(2.5));
  CHECK(median(std::vector<T>{7, 7, 7, 1}) == 7);
}

TEST_CASE("the median equals that of the sorted values") {
  support::Random random(1);
  for (std::size_t n = 1; n < 60; ++n) {
    std::vector<double> values(n);
    for (double& v : values) v = std::floor(20 * random.uniform());  // with ties
    const double found = median(values);
    std::sort(values.begin(), values.end());
    CHECK(found == (values[(n - 1) / 2] + values[n / 2]) / 2);
  }
}

TEST_CASE("NaN values are left out, and the median of no value is NaN") {
  const double nan = quiet_nan<double>, inf = std::numeric_limits<double>::infinity();
  CHECK(median<double>({nan, 5, nan, 1, 3}) == 3);
  CHECK(median<double>({nan, 5, 1}) == 3);
  CHECK(std::isnan(median<double>({})));
  CHECK(std::isnan(median<double>({nan, nan})));
  CHECK(median<double>({inf, -inf, 2}) == 2);
}
