// ensemble.hpp: several runs on the data itself, joined.
#include <gasg21/union/ensemble.hpp>
#include <vector>

#include "support.hpp"
#include "union_samples.hpp"

using gasg21::DenseView;
using gasg21::Parallel;
using support::uword;

namespace {

gasg21::JoinedRuns<double> joined(const arma::mat& X, const std::vector<bool>& near,
                                  unsigned n_threads = 1) {
  gasg21::UnionRunOptions plan;
  plan.seed = 3;
  return gasg21::join_runs<gasg21::PaperStream<double>>(
      DenseView<double>(X), {3, 3, 3}, gasg21::AdaptiveStep::paper(), gasg21::NoScaling{}, plan, 8,
      [&](const std::vector<arma::mat>&) { return near; }, Parallel(n_threads));
}

support::UnionSamples with_gaps(double share) {
  auto made = support::union_samples({30, 3, 3, 60, 0.02, 1});
  support::Random random(2);
  for (double& x : made.X)
    if (random.uniform() < share) x = arma::datum::nan;
  return made;
}

}  // namespace

TEST_CASE("joined runs find the clusters among missing entries") {
  const auto made = with_gaps(0.3);
  const auto found = joined(made.X, std::vector<bool>(180, true));
  CHECK(found.best.size() == 3);
  REQUIRE(found.joined.n_elem == 180);
  CHECK(gasg21::agreement_of(found.labels, made.labels) == doctest::Approx(1));
}

TEST_CASE("only near and determined samples are joined") {
  auto made = with_gaps(0.1);
  made.X.col(7).tail(28).fill(arma::datum::nan);  // two entries determine nothing
  std::vector<bool> near(180, true);
  near[3] = false;
  const auto found = joined(made.X, near);
  CHECK(found.joined.n_elem == 178);
  CHECK_FALSE(arma::any(found.joined == 3));
  CHECK_FALSE(arma::any(found.joined == 7));
}

TEST_CASE("too few samples are not joined") {
  const auto made = with_gaps(0);
  const auto found = joined(made.X, std::vector<bool>(180, false));
  CHECK(found.joined.empty());
  CHECK(found.best.size() == 3);
}

TEST_CASE("joined runs do not depend on the number of threads") {
  const auto made = with_gaps(0.3);
  const std::vector<bool> near(180, true);
  const auto one = joined(made.X, near), three = joined(made.X, near, 3);
  CHECK(arma::all(one.labels == three.labels));
  for (uword k = 0; k < 3; ++k) CHECK(support::same_bits(one.best[k], three.best[k]));
}
