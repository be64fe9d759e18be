// stream/null_law.hpp: how near random directions come to a subspace, and how much they agree.
#include <algorithm>
#include <cmath>
#include <gasg21/stream/null_law.hpp>
#include <vector>

#include "support.hpp"

using gasg21::NullLaw;
using support::uword;

TEST_CASE("random directions come nearer with the probability of the level") {
  support::Random random(3);
  for (const auto& [n, d] : {std::pair<uword, uword>{20, 3}, {50, 5}}) {
    NullLaw law(n, d, 0.1);
    int nearer = 0;
    constexpr int draws = 20'000;
    for (int i = 0; i < draws; ++i) {
      double inside = 0, all = 0;
      for (uword k = 0; k < n; ++k) {
        const double x = random.normal();
        all += x * x;
        if (k < d) inside += x * x;  // the subspace of the first d axes
      }
      nearer += std::sqrt(1 - inside / all) < law.at(n).residual;
    }
    // Four standard deviations of a binomial share.
    CHECK(std::abs(nearer / double(draws) - 0.1) < 4 * std::sqrt(0.09 / draws));
  }
}

TEST_CASE("chance is the deviation of the agreement of random gradients") {
  support::Random random(4);
  constexpr uword n = 30, d = 4;
  NullLaw law(n, d, 1e-3);
  double sum = 0;
  constexpr int draws = 20'000;
  for (int i = 0; i < draws; ++i) {
    const auto cosine = [&](uword size) {
      const arma::vec a = support::gaussian<double>(size, random),
                      b = support::gaussian<double>(size, random);
      return arma::norm_dot(a, b);
    };
    const double agreement = cosine(n - d) * cosine(d);
    sum += agreement * agreement;
  }
  CHECK(std::sqrt(sum / draws) == doctest::Approx(law.at(n).chance).epsilon(0.03));
}

TEST_CASE("fewer observed entries bring random directions nearer") {
  NullLaw law(100, 5, 1e-3);
  CHECK(law.at(10).residual < law.at(50).residual);
  CHECK(law.at(50).residual < law.at(100).residual);
  CHECK(law.at(100).residual < 1);
}
