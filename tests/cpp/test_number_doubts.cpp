// union/number_doubts.hpp: whether the number of clusters suits the data.
#include <gasg21/union/number_doubts.hpp>
#include <vector>

#include "union_support.hpp"

using gasg21::DenseView;
using gasg21::doubt_number;
using gasg21::held_by_few;
using gasg21::is_clear;
using gasg21::NumberDoubt;
using support::Random;
using support::uword;

namespace {

NumberDoubt doubt(const support::Union<double>& given, const std::vector<arma::mat>& bases) {
  const DenseView<double> data(given.X);
  const auto assigned = gasg21::assign(gasg21::SubspaceBank<double>(bases), data);
  const std::vector<bool> near = gasg21::near_own(bases, assigned, data);
  arma::uvec labels = assigned.labels;
  for (uword j = 0; j < labels.n_elem; ++j)
    if (!near[j]) labels[j] = bases.size();
  return doubt_number(bases, data, labels, 1);
}

/// Subspaces of the given numbers of members, without outliers.
support::Union<double> sized(const std::vector<uword>& sizes, uword n, uword d) {
  support::Union<double> given(n, support::same(sizes.size(), d), 1, 0, 0, 0, 5);
  Random random(6);
  given.X.reset();
  for (uword k = 0; k < sizes.size(); ++k)
    given.X =
        arma::join_rows(given.X, given.truth[k] * support::gaussian<double>(d, sizes[k], random) +
                                     1e-3 * support::gaussian<double>(n, sizes[k], random));
  given.X = given.X.cols(random.permutation(given.X.n_cols));
  return given;
}

/// Subspaces of one space of 6 dimensions: each sample is near to all of them.
support::Union<double> entangled(uword K) {
  support::Union<double> given(40, support::same(K, 4), 20, 0, 0, 0, 4);
  const arma::mat all = gasg21::random_basis<double>(40, 6, given.random);
  for (uword k = 0; k < K; ++k) {
    given.truth[k] = all * gasg21::random_basis<double>(6, 4, given.random);
    given.X.cols(20 * k, 20 * k + 19) =
        given.truth[k] * support::gaussian<double>(4, 20, given.random);
  }
  return given;
}

}  // namespace

TEST_CASE("clusters told apart at sight are clear, with gaps and outliers") {
  const support::Union<double> given(60, {2, 3, 4}, 60, 60, 0.4, 1e-3, 3);
  const DenseView<double> data(given.X);
  CHECK(is_clear(given.truth, data, 1));
  SUBCASE("not with a subspace that has no members") {
    auto bases = given.truth;
    Random random(8);
    bases.push_back(gasg21::random_basis<double>(60, 2, random));
    CHECK_FALSE(is_clear(bases, data, 1));
  }
  SUBCASE("not with one twice") {
    auto bases = given.truth;
    bases.push_back(given.truth[2]);
    CHECK_FALSE(is_clear(bases, data, 1));
  }
}

TEST_CASE("many subspaces that all samples are near to are not clear") {
  const auto given = entangled(30);
  CHECK_FALSE(is_clear(given.truth, DenseView<double>(given.X), 1));
}

TEST_CASE("the right number of clusters is not doubted") {
  const support::Union<double> given(40, {3, 3, 3, 3}, 60, 40, 0.2, 1e-2, 12);
  CHECK(doubt(given, given.truth) == NumberDoubt::none);
}

TEST_CASE("clusters of very different sizes are not doubted") {
  for (const std::vector<uword>& sizes :
       {std::vector<uword>{1000, 1000, 1000, 100}, {400, 400, 40, 40}, {2000, 2000, 2000, 25}}) {
    const auto given = sized(sizes, 50, 4);
    CHECK(doubt(given, given.truth) == NumberDoubt::none);
  }
}

TEST_CASE("a missing cluster is noticed") {
  const support::Union<double> given(40, {3, 3, 3, 3}, 80, 40, 0, 1e-2, 13);
  CHECK(doubt(given, {given.truth[0], given.truth[1], given.truth[2]}) ==
        NumberDoubt::too_few_clusters);
}

TEST_CASE("a cluster too many is noticed: the same twice, or one without members") {
  const support::Union<double> given(40, {3, 3, 3}, 80, 40, 0, 1e-2, 14);
  Random random(2);
  auto bases = given.truth;
  bases.push_back(gasg21::random_basis<double>(40, 3, random));
  CHECK(doubt(given, bases) == NumberDoubt::too_many_clusters);
  bases.back() = given.truth[1];
  CHECK(doubt(given, bases) == NumberDoubt::too_many_clusters);
}

TEST_CASE("nothing is doubted where most samples lie near several subspaces, or none") {
  const auto given = entangled(5);
  CHECK(doubt(given, given.truth) == NumberDoubt::none);
  support::Union<double> far(40, {3, 3}, 50, 0, 0, 0, 16);
  far.X = support::gaussian<double>(40, 100, far.random);
  for (const auto& U : far.truth) far.X -= U * (U.t() * far.X);
  CHECK(doubt(far, far.truth) == NumberDoubt::none);
}

TEST_CASE("a cluster needs two members per dimension, and two more") {
  arma::uvec labels(30, arma::fill::zeros);
  labels.subvec(8, 13).fill(1);
  labels.subvec(14, 21).fill(2);
  labels.tail(8).fill(7);  // no cluster
  CHECK(held_by_few(labels, {3, 3, 3}) == std::vector<bool>{false, true, false});
  CHECK(held_by_few(labels, {4, 2, 3}) == std::vector<bool>{true, false, false});
}
