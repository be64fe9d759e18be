// recovery/tangent_information.hpp: what samples know about the moves of a subspace.
#include <gasg21/recovery/tangent_information.hpp>
#include <vector>

#include "support.hpp"

using gasg21::LeastInformed;
using gasg21::TangentInformation;
using support::gaussian;
using support::Random;
using support::uword;

namespace {

const uword n = 20, d = 3;

/// Samples of unit weight that observe the rows for which `observes(sample, row)` holds.
template <class Observes>
TangentInformation informed(const arma::mat& U, uword m, Random& random, Observes observes) {
  TangentInformation information(U, arma::mat(d, d, arma::fill::eye));
  for (uword j = 0; j < m; ++j) {
    std::vector<uword> rows;
    for (uword i = 0; i < n; ++i)
      if (observes(j, i)) rows.push_back(i);
    information.add(rows, gaussian<double>(d, random), 1e-4);
  }
  return information;
}

std::vector<uword> range(uword from, uword to) {
  std::vector<uword> all;
  for (uword i = from; i < to; ++i) all.push_back(i);
  return all;
}

}  // namespace

TEST_CASE("complete samples know every direction about alike") {
  Random random(1);
  const arma::mat U = gasg21::random_basis<double>(n, d, random);
  const auto information = informed(U, 400, random, [](uword, uword) { return true; });
  CHECK(information.hardly_observed().empty());
  const LeastInformed least = information.least_informed(1);
  CHECK(least.information > 0.7);  // 1 up to the chance of 400 weights
  CHECK(least.information < 1.0);
  // Along the unit vector z the move is z / sqrt(400), the noise sqrt(1e-4 / 17).
  const double expected = 1e-2 / std::sqrt(17.0 * 400 * least.information);
  CHECK(least.angle == doctest::Approx(expected).epsilon(1e-6));
}

TEST_CASE("nothing is known about blocks that share fewer than d features") {
  Random random(2);
  const arma::mat U = gasg21::random_basis<double>(n, d, random);
  for (const uword shared : {0, 1, 2, 3, 4}) {
    const auto information = informed(
        U, 300, random, [&](uword j, uword i) { return j % 2 ? i < 10 + shared : i >= 10; });
    const LeastInformed least = information.least_informed(1);
    CAPTURE(shared);
    CHECK((least.information < 1e-4) == (shared < d));
    if (shared >= d) continue;
    const auto blocks = information.blocks(least.direction);
    REQUIRE(blocks.size() == 2);
    CHECK(std::min(blocks[0], blocks[1]) == range(0, 10 + shared));
    CHECK(std::max(blocks[0], blocks[1]) == range(10, n));
  }
}

TEST_CASE("a feature needs more than d samples, with weights of full rank") {
  Random random(3);
  const arma::mat U = gasg21::random_basis<double>(n, d, random);
  const auto information =
      informed(U, 100, random, [](uword j, uword i) { return i != 7 || j < d; });
  CHECK(information.hardly_observed() == std::vector<uword>{7});
  TangentInformation flat(U, arma::mat(d, d, arma::fill::eye));
  for (uword j = 0; j < 100; ++j) {
    arma::vec w = gaussian<double>(d, random);
    w[0] = 0;
    flat.add(range(0, n), w, 0);
  }
  CHECK(flat.hardly_observed() == range(0, n));
}

TEST_CASE("it can be stopped") {
  Random random(4);
  const arma::mat U = gasg21::random_basis<double>(n, d, random);
  const auto information = informed(U, 50, random, [](uword, uword) { return true; });
  CHECK_THROWS_AS(information.least_informed(1, [] { return true; }), gasg21::Stopped);
}
