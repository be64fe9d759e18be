// recovery/union_rounds.hpp: rounds over blocks find K subspaces, as the polish in memory does.
#include <gasg21/polish/k_polisher.hpp>
#include <gasg21/recovery/union_rounds.hpp>

#include "union_support.hpp"

using gasg21::DenseView;
using gasg21::Parallel;
using gasg21::Scatter;
using gasg21::Status;
using gasg21::UnionRounds;
using gasg21::UnionSums;
using support::gaussian;
using support::same;
using support::same_bits;
using support::Union;
using support::uword;

namespace {

template <class T>
std::vector<arma::Mat<T>> near(Union<T>& problem, double by) {
  std::vector<arma::Mat<T>> bases;
  for (const auto& U : problem.truth) {
    bases.push_back(U + T(by) * gaussian<T>(U.n_rows, U.n_cols, problem.random));
    REQUIRE(gasg21::orthonormalize(bases.back()));
  }
  return bases;
}

/// The sums of all samples for the subspaces of the next round.
template <class T>
UnionSums sums_of(const UnionRounds<T>& rounds, const arma::Mat<T>& X) {
  std::vector<arma::Mat<T>> bases;
  std::vector<Scatter> scatters;
  for (uword k = 0; k < rounds.size(); ++k) {
    bases.push_back(rounds[k].basis());
    scatters.push_back(rounds[k].scatter());
  }
  return union_sums(bases, scatters, DenseView<T>(X));
}

template <class T>
std::vector<arma::Mat<T>> bases_of(const UnionRounds<T>& rounds) {
  std::vector<arma::Mat<T>> bases;
  for (uword k = 0; k < rounds.size(); ++k) bases.push_back(rounds[k].basis());
  return bases;
}

}  // namespace

TEST_CASE_TEMPLATE("rounds over blocks find the subspaces of the polish in memory", T, double,
                   float) {
  Union<T> problem(50, same(3, 3), 80, 200, 0.3, 0.02, 1);
  const auto start = near(problem, 0.1);
  UnionRounds<T> rounds(start, std::vector<Scatter>(3), 1e-4);
  gasg21::KPolisher<T> memory(start);
  uword count = 0;
  for (; !rounds.settled() && count < 30; ++count) rounds.end(sums_of(rounds, problem.X), 440);
  for (int i = 0; i < 10; ++i)
    memory.round(DenseView<T>(problem.X), gasg21::KPolishOptions{}, Parallel());
  CHECK(rounds.settled());
  CHECK(rounds.status() == Status::noise_floor);
  CHECK(rounds.history().size() == count);
  for (uword k = 0; k < 3; ++k) {
    const double error = memory.clusters()[k].estimated_angle;
    CHECK(double(gasg21::largest_angle(rounds[k].basis(), memory.bases()[k])) <= 0.3 * error);
    CHECK(rounds.estimated_angles()[k] == doctest::Approx(error).epsilon(0.1));
    CHECK(rounds.history().back().members[k] == memory.clusters()[k].members);
  }
}

TEST_CASE("a subspace with too few members stays, and does not keep the others from settling") {
  Union<double> problem(40, same(2, 2), 60, 0, 0, 0.01, 2);
  auto start = near(problem, 0.02);
  start.push_back(gasg21::random_basis<double>(40, 2, problem.random));
  UnionRounds<double> rounds(start, std::vector<Scatter>(3), 1e-6);
  CHECK(rounds.status() == Status::max_passes);
  for (int i = 0; i < 12 && !rounds.settled(); ++i)
    rounds.end(sums_of(rounds, problem.X), problem.X.n_cols);
  CHECK(rounds.settled());
  CHECK(same_bits(rounds[2].basis(), start[2]));
  CHECK(rounds.history().back().members[2] <= 2);
  CHECK(rounds.estimated_angles()[2] == arma::datum::pi / 2);
  CHECK(rounds.status() == Status::undetermined);  // one of three is not known
}

TEST_CASE("labels from elsewhere decide whose members are summed") {
  Union<double> problem(30, same(2, 2), 40, 10, 0, 0.01, 3);
  const std::vector<Scatter> unknown(2);
  const DenseView<double> data(problem.X);
  arma::uvec labels = problem.labels;
  const UnionSums found = member_sums(problem.truth, unknown, data, labels);
  for (uword k = 0; k < 2; ++k) {
    const arma::mat own = problem.X.cols(arma::find(labels == k));
    const auto expected = block_sums(problem.truth[k], Scatter(), DenseView<double>(own));
    CHECK(same_bits(found.sums[k].coordinates, expected.coordinates));
  }
  CHECK(found.unassigned.counters.used() == 10);
  CHECK(same_bits(arma::conv_to<arma::mat>::from(found.labels),
                  arma::conv_to<arma::mat>::from(labels)));
  CHECK_THROWS_AS(member_sums(problem.truth, {Scatter()}, data, labels), std::invalid_argument);
  labels.shed_row(0);
  CHECK_THROWS_AS(member_sums(problem.truth, unknown, data, labels), std::invalid_argument);
}
