// voters.hpp: several runs, of which the better half goes on.
#include <gasg21/union/voters.hpp>
#include <vector>

#include "support.hpp"
#include "union_samples.hpp"

using gasg21::CandidatePool;
using gasg21::DenseView;
using gasg21::NoScaling;
using gasg21::PaperStream;
using gasg21::Parallel;
using gasg21::RaceOptions;
using support::uword;

namespace {

using Stream = PaperStream<float>;

gasg21::Race<Stream> raced(const arma::fmat& X, const RaceOptions& options, unsigned n_threads) {
  gasg21::UnionRunOptions plan;
  plan.seeding = gasg21::Seeding::farthest;
  plan.seed = 5;
  const DenseView<float> data(X);
  const auto rule = gasg21::AdaptiveStep::paper();
  auto race = gasg21::start_voters<Stream>(data, {2, 2, 2}, rule, NoScaling{}, plan, options,
                                           Parallel(n_threads));
  race.finish(data, Parallel(n_threads));
  return race;
}

arma::fmat samples(double noise) {
  return arma::conv_to<arma::fmat>::from(support::union_samples({20, 3, 2, 40, noise, 1}).X);
}

}  // namespace

TEST_CASE("half of the runs are left, with the full number of passes") {
  const arma::fmat X = samples(0.05);
  auto race = raced(X, {6, 5, 2}, 1);
  REQUIRE(race.size() == 3);
  for (uword i = 0; i < race.size(); ++i) CHECK(race.stream(i).counters().seen() == 5 * X.n_cols);
}

TEST_CASE("the best run finds the clusters") {
  const auto made = support::union_samples({20, 3, 2, 40, 0.01, 1});
  const arma::fmat X = arma::conv_to<arma::fmat>::from(made.X);
  auto race = raced(X, {}, 1);
  const auto labels = gasg21::assign_labels(gasg21::SubspaceBank<float>(race.stream(0).bases()),
                                            DenseView<float>(X));
  CHECK(gasg21::agreement_of(labels, made.labels) == doctest::Approx(1));
}

TEST_CASE("the runs do not depend on the number of threads") {
  const arma::fmat X = samples(0.05);
  auto one = raced(X, {6, 4, 2}, 1), three = raced(X, {6, 4, 2}, 3);
  for (uword i = 0; i < one.size(); ++i)
    for (uword k = 0; k < 3; ++k)
      CHECK(support::same_bits(one.stream(i).basis(k), three.stream(i).basis(k)));
}

TEST_CASE("runs can be stopped") {
  const arma::fmat X = samples(0.05);
  int polls = 0;
  const Parallel stopped(1, [&] { return ++polls > 20; });
  gasg21::UnionRunOptions plan;
  CHECK_THROWS_AS(
      gasg21::start_voters<Stream>(DenseView<float>(X), {2, 2, 2}, gasg21::AdaptiveStep::paper(),
                                   NoScaling{}, plan, {}, stopped),
      gasg21::Stopped);
  CHECK(polls <= 22);  // the loop over the runs asks once more
}

TEST_CASE("a pool of candidates gives a basis of each dimension, another to each run") {
  const arma::fmat X = samples(0.05);
  const std::vector<uword> dimensions{3, 1, 2};
  const CandidatePool<float> pool(DenseView<float>(X), {dimensions, 30, 8}, 2, Parallel());
  const auto first = pool.select(dimensions, 1), again = pool.select(dimensions, 1);
  const auto other = pool.select(dimensions, 2);
  bool differ = false;
  for (uword k = 0; k < 3; ++k) {
    CHECK(first[k].n_cols == dimensions[k]);
    CHECK(support::same_bits(first[k], again[k]));
    differ = differ || !support::same_bits(first[k], other[k]);
  }
  CHECK(differ);
}

TEST_CASE("a pool of few samples still has a candidate for each cluster") {
  const arma::fmat X = samples(0.05).eval().head_cols(4);
  const CandidatePool<float> pool(DenseView<float>(X), {{1, 1, 1}, 30, 4}, 2, Parallel());
  CHECK(pool.select({1, 1, 1}, 1).size() == 3);
}
