// support/special_functions.hpp: equal to SciPy's values.
#include <cmath>
#include <gasg21/support/special_functions.hpp>

#include "support.hpp"

using gasg21::beta_cdf;
using gasg21::beta_quantile;
using gasg21::chi_squared_cdf;
using gasg21::chi_squared_quantile;
using gasg21::log_gamma;

namespace {

bool near(double found, double wanted, double relative) {
  return std::abs(found - wanted) <= relative * std::abs(wanted);
}

struct Quantiles {
  double k, median, at_95, at_9999;
};

}  // namespace

TEST_CASE("ln Gamma") {
  CHECK(near(log_gamma(0.001), 6.907178885383853, 1e-14));
  CHECK(near(log_gamma(0.5), 0.5723649429247, 1e-13));
  CHECK(std::abs(log_gamma(1)) < 4 * support::eps<double> * 25.2);  // roundings of ln 14!
  CHECK(near(log_gamma(2.5), 0.2846828704729192, 1e-13));
  CHECK(near(log_gamma(14.9), 24.924132002217277, 1e-14));
  CHECK(near(log_gamma(15), 25.191221182738683, 1e-14));
  CHECK(near(log_gamma(5000), 37582.62631568535, 1e-14));
  CHECK_THROWS_AS(log_gamma(0), std::invalid_argument);
}

TEST_CASE("the Beta law") {
  CHECK(near(beta_cdf(0.3, 0.5, 0.5), 0.36901011956554536, 1e-13));
  CHECK(near(beta_cdf(0.9, 0.5, 2.5), 0.9988855624584926, 1e-13));
  CHECK(near(beta_cdf(0.2, 97.5, 2.5), 3.7573172621325985e-66, 1e-12));
  CHECK(near(beta_cdf(0.97, 97.5, 2.5), 0.30768291423379934, 1e-12));
  CHECK(near(beta_cdf(0.99, 97.5, 2.5), 0.8526162182143623, 1e-12));
  CHECK(near(beta_cdf(0.999, 997.5, 2.5), 0.8494910786215145, 1e-11));
  CHECK(near(beta_cdf(0.5, 3, 4), 0.65625, 1e-14));
  CHECK(near(beta_cdf(0.05, 0.5, 10), 0.6828484245344547, 1e-13));
  CHECK(near(beta_cdf(1e-6, 2, 3), 5.999992000002998e-12, 1e-13));
  CHECK(beta_cdf(-0.1, 2, 3) == 0);
  CHECK(beta_cdf(1.1, 2, 3) == 1);
  CHECK_THROWS_AS(beta_cdf(0.5, 0, 1), std::invalid_argument);
}

TEST_CASE("quantiles of the Beta law") {
  for (const double a : {0.5, 1.0, 3.0, 97.5, 997.5, 5e4})
    for (const double b : {0.5, 1.0, 2.5, 50.0})
      for (const double p : {1e-9, 1e-3, 0.1, 0.5, 0.999}) {
        CAPTURE(a);
        CAPTURE(b);
        CAPTURE(p);
        const double x = beta_quantile(p, a, b), last_place = 4 * support::eps<double> * x;
        CHECK(beta_cdf(x - last_place, a, b) <= p * (1 + 1e-9));
        CHECK(beta_cdf(x + last_place, a, b) >= p * (1 - 1e-9));
      }
  CHECK(near(beta_quantile(0.25, 1, 1), 0.25, 1e-13));  // roundings of ln 14!
  CHECK(near(beta_quantile(0.5, 0.5, 0.5), 0.5, 1e-13));
  CHECK_THROWS_AS(beta_quantile(0.5, 1, 0), std::invalid_argument);
  CHECK_THROWS_AS(beta_quantile(1, 1, 1), std::invalid_argument);
}

TEST_CASE("the chi-squared law") {
  CHECK(near(chi_squared_cdf(0.1, 1), 0.24817036595415076, 1e-13));
  CHECK(near(chi_squared_cdf(5, 1), 0.9746526813225317, 1e-13));
  CHECK(near(chi_squared_cdf(0.5, 2), 0.22119921692859512, 1e-13));
  CHECK(near(chi_squared_cdf(40, 30), 0.8951357188920153, 1e-13));
  CHECK(near(chi_squared_cdf(15, 30), 0.010260427912342602, 1e-13));
  CHECK(near(chi_squared_cdf(1000, 990), 0.5944283717662756, 1e-11));
  CHECK(near(chi_squared_cdf(0.01, 7), 7.569409659693437e-10, 1e-13));
  CHECK(chi_squared_cdf(-1, 3) == 0);
  CHECK_THROWS_AS(chi_squared_cdf(1, 0), std::invalid_argument);
}

TEST_CASE("quantiles of the chi-squared law") {
  const Quantiles known[] = {
      {1, 0.454936423119572, 3.841458820694124, 15.136705226623606},
      {2, 1.386294361119891, 5.991464547107979, 18.420680743952584},
      {3, 2.3659738843753377, 7.814727903251179, 21.107513466160444},
      {7, 6.345811195521515, 14.067140449340169, 29.87750390922517},
      {30, 29.336031516661585, 43.77297182574219, 67.63263025741439},
      {195, 194.33374004343102, 228.57993801830452, 277.126032725124},
      {999, 998.333412482588, 1073.6426506574246, 1173.8503445158544},
      {1000, 999.333412403381, 1074.679448803441, 1174.9334965841604},
      {50000, 49999.3333349136, 50521.282932443144, 51184.6191926681},
  };
  for (const auto& [k, median, at_95, at_9999] : known) {
    CAPTURE(k);
    const double accuracy = 1e-9;
    CHECK(near(chi_squared_quantile(gasg21::level_of_median, k), median, accuracy));
    CHECK(near(chi_squared_quantile(gasg21::level_95, k), at_95, accuracy));
    CHECK(near(chi_squared_quantile(gasg21::level_9999, k), at_9999, accuracy));
  }
  CHECK_THROWS_AS(chi_squared_quantile(gasg21::level_95, 0), std::invalid_argument);
}

TEST_CASE("the value of Wilson and Hilferty is near the quantile, and never negative") {
  CHECK(near(gasg21::chi_squared_at(0, 30), 29.336, 1e-3));
  CHECK(gasg21::chi_squared_at(-5, 1) == 0);
}
