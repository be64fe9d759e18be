// union/participants.hpp: the samples that take part in a consensus.
#include <cmath>
#include <gasg21/union/fit_screening.hpp>
#include <gasg21/union/participants.hpp>
#include <vector>

#include "union_support.hpp"

using gasg21::Participants;
using gasg21::participants;
using gasg21::Screening;
using support::uword;

TEST_CASE("members take part, complete, with and without a screening") {
  const std::vector<uword> dimensions{2, 3};
  support::Union<double> given(40, dimensions, 60, 40, 0.3, 0, 8);
  given.X.col(0).zeros();
  given.X.col(1).fill(support::quiet_nan<double>);
  const Screening screening = gasg21::fit_screening(given.X, dimensions, 1);
  for (const Screening* by : {static_cast<const Screening*>(nullptr), &screening}) {
    const Participants found = participants(given.X, given.truth, by);
    REQUIRE(found.X.n_cols == found.size());
    std::vector<uword> expected;
    for (uword j = 2; j < given.X.n_cols; ++j)
      if (given.labels[j] < 2) expected.push_back(j);
    CHECK(found.columns == expected);
    for (uword c = 0; c < found.size(); ++c) {
      const uword j = found.columns[c];
      const arma::mat& U = given.truth[given.labels[j]];
      const arma::vec x = found.X.col(c);
      CHECK(arma::norm(x - U * (U.t() * x)) < 1e-6 * arma::norm(x));
      for (uword i = 0; i < 40; ++i)
        if (!std::isnan(given.X(i, j))) CHECK(x[i] == given.X(i, j));
    }
  }
}

TEST_CASE("some of them can be dropped") {
  Participants found{{2, 5, 7}, arma::mat{{1, 2, 3}, {4, 5, 6}}};
  found.keep({true, false, true});
  CHECK(found.columns == std::vector<uword>{2, 7});
  CHECK(support::same_bits(found.X, arma::mat{{1, 3}, {4, 6}}));
  found.keep({false, false});
  CHECK(found.size() == 0);
}

TEST_CASE("samples without a label are not filled in") {
  const support::Union<double> given(20, {2, 2}, 10, 0, 0.2, 0, 9);
  arma::uvec labels = given.labels;
  labels[3] = 2;
  const arma::mat filled = gasg21::filled_from_own(given.X, labels, given.truth);
  for (uword j = 0; j < 20; ++j) {
    const bool has_gap = given.X.col(j).has_nan();
    CHECK(filled.col(j).has_nan() == (j == 3 && has_gap));
  }
  REQUIRE(given.X.col(3).has_nan());
}
