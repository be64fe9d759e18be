// kernels/sample_sums.hpp: the sums equal their definition, for each number of weights.
#include <gasg21/kernels/sample_sums.hpp>
#include <gasg21/kernels/small_solve.hpp>
#include <gasg21/polish/sample_fits.hpp>

#include "instruction_sets.hpp"
#include "support.hpp"

using gasg21::Random;
using support::uword;

namespace {

/// Weights of m samples; some samples do not count.
template <class T>
struct Samples {
  arma::Mat<T> W;
  arma::vec weight;

  Samples(uword d, uword m, Random& random) : W(d, m), weight(m) {
    random.normals(W.memptr(), W.n_elem);
    for (double& each : weight) each = random.index(4) == 0 ? 0 : random.uniform() + 0.1;
  }
};

}  // namespace

TEST_CASE_TEMPLATE("sums over samples equal their definition", T, double, float) {
  support::for_each_set([&] {
    Random random(3);
    for (uword d = 1; d <= 9; ++d) {
      for (const uword m : {1u, 7u, 8u, 9u, 100u}) {
        CAPTURE(d);
        CAPTURE(m);
        const Samples<T> samples(d, m, random);
        const arma::mat W = arma::conv_to<arma::mat>::from(samples.W);
        arma::mat sum(d, d, arma::fill::zeros);
        for (uword j = 0; j < m; ++j) sum += samples.weight[j] * W.col(j) * W.col(j).t();
        const arma::mat found = gasg21::weighted_gram(samples.W, samples.weight);
        CHECK(arma::abs(found - sum).max() < 1e-12 * double(m));

        arma::mat G = arma::mat(d, d, arma::fill::eye) + sum / double(m), L = G;
        REQUIRE(gasg21::kernels::ldl(L.memptr(), d) > 0);
        arma::vec lengths(m);
        gasg21::Aligned<double> memory(8 * d);
        gasg21::kernels::sample_sum_kernels<T>().lengths(samples.W.memptr(), d, m, L.memptr(),
                                                         lengths.memptr(), memory.data());
        const arma::mat inverse = arma::inv(G);
        for (uword j = 0; j < m; ++j)
          CHECK(lengths[j] ==
                doctest::Approx(arma::as_scalar(W.col(j).t() * inverse * W.col(j))).epsilon(1e-10));
      }
    }
  });
}
