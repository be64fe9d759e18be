// union/spectral.hpp
#include <gasg21/union/spectral.hpp>

#include "support.hpp"

using gasg21::Factored;
using gasg21::Parallel;
using support::gaussian;
using support::Random;
using support::same_bits;
using support::uword;

TEST_CASE("clusters that share no affinity are found") {
  Random random(1);
  for (const uword m : {60u, 90u, 1200u})
    for (const uword K : {1u, 2u, 7u, 20u}) {
      CAPTURE(m);
      CAPTURE(K);
      arma::uvec truth(m);
      arma::mat F(5 * K, m, arma::fill::zeros);
      for (uword j = 0; j < m; ++j) {
        truth[j] = j % K;
        for (uword i = 0; i < 5; ++i) F(5 * truth[j] + i, j) = random.uniform();
      }
      const arma::mat W = F.t() * F;
      arma::fmat dense = arma::conv_to<arma::fmat>::from(W);
      dense.diag().zeros();
      for (const arma::uvec& labels : {gasg21::spectral_labels(Factored{F}, K, 3, 20),
                                       gasg21::spectral_labels(dense, K, 3, 20)}) {
        CHECK(labels.max() == K - 1);
        for (uword j = 0; j + K < m; ++j) CHECK(labels[j] == labels[j + K]);
      }
    }
}
