// union/second_opinion.hpp: do other representations agree with a run, and what replaces it.
#include <algorithm>
#include <gasg21/union/second_opinion.hpp>
#include <numeric>
#include <vector>

#include "union_samples.hpp"
#include "union_support.hpp"

using gasg21::agreement_of;
using gasg21::ask_second_opinion;
using gasg21::Choice;
using gasg21::DenseView;
using gasg21::largest_angle;
using gasg21::Parallel;
using gasg21::SecondOpinion;
using gasg21::UnionOptions;
using support::same;
using support::uword;

namespace {

std::vector<uword> all_of(const arma::mat& X) {
  std::vector<uword> columns(X.n_cols);
  std::iota(columns.begin(), columns.end(), uword(0));
  return columns;
}

/// A run that has found no cluster: random subspaces, each beside all of them.
std::vector<arma::mat> wrong_subspaces(uword n, uword K, uword d) {
  support::Random random(5);
  std::vector<arma::mat> bases;
  for (uword k = 0; k < K; ++k) bases.push_back(gasg21::random_basis<double>(n, d, random));
  return bases;
}

SecondOpinion about_close_subspaces(const support::UnionSamples& made,
                                    const Parallel& parallel = Parallel()) {
  const uword K = made.bases.size();
  return ask_second_opinion(wrong_subspaces(made.X.n_rows, K, 3), DenseView<double>(made.X),
                            all_of(made.X), UnionOptions{}, parallel);
}

/// A label for each sample from the subspaces of a consensus; K for those that took no part.
arma::uvec labels_of(const gasg21::ConsensusStart& start, const std::vector<uword>& left_out,
                     uword m) {
  const auto assigned =
      gasg21::assign(gasg21::SubspaceBank<double>(start.bases), DenseView<double>(start.points));
  arma::uvec labels(m, arma::fill::value(start.bases.size()));
  uword at = 0;
  for (uword j = 0; j < m; ++j)
    if (!std::binary_search(left_out.begin(), left_out.end(), j)) labels[j] = assigned.labels[at++];
  REQUIRE(at == assigned.labels.n_elem);
  return labels;
}

}  // namespace

TEST_CASE("other representations agree with the true subspaces, which then stand") {
  for (const double missing : {0.0, 0.3}) {
    const support::Union<double> given(60, same(3, 3), 60, 40, missing, 1e-3, 4);
    const auto opinion = ask_second_opinion(given.truth, DenseView<double>(given.X),
                                            all_of(given.X), UnionOptions{});
    REQUIRE(opinion.agreement);
    CHECK(*opinion.agreement == doctest::Approx(1));
    CHECK_FALSE(opinion.consensus);
    CHECK(opinion.left_out.empty());
  }
}

TEST_CASE("a consensus replaces subspaces that other representations contradict") {
  const auto made = support::close_subspaces(3);
  const auto opinion = about_close_subspaces(made);
  REQUIRE(opinion.consensus);
  CHECK(*opinion.agreement > 0.9);  // of the representations
  const arma::mat& points = opinion.consensus->points;
  const arma::uvec labels = labels_of(*opinion.consensus, opinion.left_out, made.X.n_cols);
  const arma::uvec clear = support::clear_members(made);
  CHECK(clear.n_elem > 150);
  CHECK(agreement_of(labels.elem(clear), made.labels.elem(clear)) == 1);
  const arma::rowvec lengths = arma::sqrt(arma::sum(arma::square(points)));
  CHECK(arma::abs(lengths - 1).max() < 1e-12);
  // The whitening leads back to the subspaces of the data.
  for (const arma::mat& U : made.bases) {
    double nearest = 10;
    for (const arma::mat& B : opinion.consensus->bases)
      nearest = std::min(nearest, largest_angle(opinion.consensus->whitening->original(B), U));
    CHECK(nearest < 0.02);
  }
}

TEST_CASE("what took no part in the consensus is named by its column of the data") {
  const auto made = support::close_subspaces(2);
  std::vector<uword> columns;  // every column but some, and the outliers
  for (uword j = 7; j < made.X.n_cols; ++j) columns.push_back(j);
  const auto opinion = ask_second_opinion(wrong_subspaces(40, 2, 3), DenseView<double>(made.X),
                                          columns, UnionOptions{});
  REQUIRE(opinion.consensus);
  CHECK(opinion.left_out.size() + opinion.consensus->points.n_cols == columns.size());
  for (uword j = 120; j < made.X.n_cols; ++j)
    CHECK(std::binary_search(opinion.left_out.begin(), opinion.left_out.end(), j));
  CHECK(opinion.left_out.size() == 40);  // the outliers, and no member
}

TEST_CASE("nothing is asked about fewer than four samples for each dimension") {
  const auto made = support::union_samples({40, 3, 3, 12, 0, 6});
  const auto about = [&](uword m) {
    std::vector<uword> columns(m);
    std::iota(columns.begin(), columns.end(), uword(0));
    return ask_second_opinion(made.bases, DenseView<double>(made.X), columns, UnionOptions{});
  };
  CHECK_FALSE(about(35).agreement);
  CHECK(about(36).agreement);
}

TEST_CASE("there is no consensus where too few entries are observed to whiten the samples") {
  for (const double missing : {0.3, 0.7}) {
    const support::Union<double> given(40, same(3, 3), 80, 0, missing, 1e-3, 7);
    auto half = given.truth;
    half[2] = half[1];  // the run has missed a cluster
    UnionOptions options;
    options.screen = Choice::yes;
    const auto opinion =
        ask_second_opinion(half, DenseView<double>(given.X), all_of(given.X), options);
    REQUIRE(opinion.agreement);
    // Of 40 entries 28 and 12 are observed; 1.5 sum d = 13.5.
    CHECK(bool(opinion.consensus) == (missing < 0.5));
  }
}

TEST_CASE("a consensus in which a cluster has too few members starts nothing") {
  const auto made = support::union_samples({30, 2, 3, 40, 1e-3, 8});
  const std::vector<uword> dimensions = same(2, 3);
  const gasg21::PrincipalCoordinates principal(made.X, dimensions, 0, Parallel());
  gasg21::Participants some{all_of(made.X), made.X};
  gasg21::Consensus consensus;
  consensus.labels.zeros(80);
  const auto start = [&] {
    return gasg21::detail::start_of(consensus, some, principal, dimensions, {}, Parallel());
  };
  consensus.labels.head(3).ones();
  CHECK_FALSE(start());
  consensus.labels.head(4).ones();
  CHECK(start());
}

TEST_CASE("the number of threads changes no bit") {
  const auto made = support::close_subspaces(2);
  const auto one = about_close_subspaces(made), three = about_close_subspaces(made, Parallel(3));
  REQUIRE(one.consensus);
  REQUIRE(three.consensus);
  CHECK(*one.agreement == *three.agreement);
  CHECK(one.left_out == three.left_out);
  CHECK(support::same_bits(one.consensus->points, three.consensus->points));
  for (uword k = 0; k < 2; ++k)
    CHECK(support::same_bits(one.consensus->bases[k], three.consensus->bases[k]));
}

TEST_CASE("a stop throws Stopped") {
  const auto made = support::close_subspaces(2);
  for (const int last : {1, 20, 100}) {
    int polls = 0;
    const Parallel stopped(2, [&] { return ++polls >= last; });
    CHECK_THROWS_AS(about_close_subspaces(made, stopped), gasg21::Stopped);
  }
}
