// co_association.hpp: the affinity of samples by several runs.
#include <gasg21/union/co_association.hpp>
#include <vector>

#include "support.hpp"

using gasg21::CoAssociation;
using gasg21::DenseView;
using gasg21::Parallel;
using support::uword;

TEST_CASE("residuals of unit-norm samples, NaN where a sample determines none") {
  support::Random random(1);
  const std::vector<arma::mat> bases{gasg21::random_basis<double>(8, 2, random),
                                     gasg21::random_basis<double>(8, 3, random)};
  arma::mat X = support::gaussian<double>(8, 5, random);
  X.col(4).tail(6).fill(arma::datum::nan);
  const arma::fmat r = gasg21::residuals_to(bases, DenseView<double>(X), Parallel());
  for (uword j = 0; j < 4; ++j)
    for (uword k = 0; k < 2; ++k) {
      const arma::vec x = arma::normalise(X.col(j));
      CHECK(double(r(k, j)) ==
            doctest::Approx(arma::norm(x - bases[k] * (bases[k].t() * x))).epsilon(1e-6));
    }
  CHECK(std::isnan(r(1, 4)));
}

TEST_CASE("a run of five per cent more residual counts 1/e") {
  const auto weights = gasg21::run_weights({2.0, 2.1, 2.0});
  CHECK(weights[0] == 1);
  CHECK(weights[1] == doctest::Approx(std::exp(-1)));
  CHECK(weights[2] == 1);
}

TEST_CASE("samples of one cluster are close in all runs, others in none") {
  const arma::fmat clear{{0.01F, 0.01F, 0.9F, 0.9F}, {0.9F, 0.9F, 0.01F, 0.01F}};
  CoAssociation together;
  together.add(clear, 1.0);
  together.add(arma::flipud(clear), 0.5);
  const arma::mat& F = together.affinity().factor;
  REQUIRE(F.n_rows == 4);
  const arma::mat affinity = F.t() * F;
  CHECK(affinity(0, 1) == doctest::Approx(1.5));
  CHECK(affinity(0, 2) < 1e-10);
}

TEST_CASE("a residual that is not determined belongs to no cluster") {
  CoAssociation together;
  const arma::fvec residuals{0.1F, arma::Datum<float>::nan};
  together.add(residuals, 1.0);
  const arma::mat F = together.affinity().factor;
  CHECK(F(0, 0) == doctest::Approx(1));
  CHECK(F(1, 0) == 0);
}
