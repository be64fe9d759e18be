// union/model_order.hpp: the number of clusters and their dimensions.
#include <algorithm>
#include <cmath>
#include <gasg21/union/model_order.hpp>
#include <optional>
#include <vector>

#include "union_samples.hpp"
#include "union_support.hpp"

using gasg21::choose_n_clusters;
using gasg21::choose_order;
using gasg21::DenseView;
using gasg21::drop_ratios;
using gasg21::Parallel;
using gasg21::Selection;
using gasg21::SelectionRule;
using support::Random;
using support::same;
using support::uword;

namespace {

uword at_largest(const std::vector<double>& ratios) {
  return 1 + uword(std::max_element(ratios.begin(), ratios.end()) - ratios.begin());
}

}  // namespace

TEST_CASE_TEMPLATE("the cost falls least after the last cluster", T, float, double) {
  for (const auto& [K, d] : {std::pair<uword, uword>{2, 4}, {5, 2}}) {
    const support::Union<T> given(50, same(K, d), 80, 80, 0.1, 0.02, K);
    const DenseView<T> data(given.X);
    CHECK(at_largest(drop_ratios<T>(data, d, 0)) == K);
    const Selection chosen = choose_n_clusters<T>(data, d, 0);
    CHECK(chosen.n_clusters == K);
    CHECK(chosen.n_components == same(K, d));
    CHECK(chosen.rule == SelectionRule::drop);
    CHECK_FALSE(chosen.is_indistinct());
  }
}

TEST_CASE("number and dimension are found together, or the dimension for a given number") {
  const support::Union<double> given(30, same(3, 3), 70, 60, 0, 0.02, 6);
  const DenseView<double> data(given.X);
  const Selection both = choose_order<double>(data, std::nullopt, 0);
  CHECK(both.n_components == same(3, 3));
  CHECK(both.drop_ratios.size() == 10);  // the dimensions that were tried
  const Selection one = choose_order<double>(data, 3, 0, Parallel(2));
  CHECK(one.n_components == same(3, 3));
  CHECK(one.rule == SelectionRule::given);
  CHECK(one.drop_ratios == both.drop_ratios);
}

TEST_CASE("clusters inside one subspace are found by the agreement of representations") {
  for (const uword K : {2, 3}) {
    const arma::mat X = support::close_subspaces(K).X;
    const Selection chosen = choose_n_clusters<double>(DenseView<double>(X), 3, 0);
    CHECK(at_largest(chosen.drop_ratios.at(3)) == 1);
    CHECK(chosen.rule == SelectionRule::agreement);
    CHECK(chosen.n_clusters == K);
    CHECK(chosen.agreement.at(K) > 0.95);
    CHECK(chosen.gain.size() == chosen.agreement.size());
  }
}

TEST_CASE("one subspace with noise and outliers is one") {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const support::Union<double> given(40, {3}, 90, 30, 0.2, 0.01, seed);
    const Selection chosen = choose_n_clusters<double>(DenseView<double>(given.X), 3, seed);
    CHECK(chosen.n_clusters == 1);
    CHECK(chosen.agreement.empty());
    CHECK_FALSE(chosen.is_indistinct());
  }
}

TEST_CASE("an answer of 1 that the representations contradict is indistinct") {
  Selection chosen;
  chosen.agreement = {{2, 0.7}, {3, 0.5}};
  chosen.gain = {{2, 0.1}, {3, 0.1}};
  CHECK_FALSE(gasg21::detail::number_by_agreement(chosen));
  CHECK(chosen.is_indistinct());
  chosen.agreement = {{2, 0.96}, {3, 0.97}, {4, 0.99}};
  chosen.gain = {{2, 0.1}, {3, 0.4}, {4, 0.1}};
  CHECK(gasg21::detail::number_by_agreement(chosen) == 3);
  chosen.agreement[2] = chosen.agreement[3] = 0.85;
  chosen.agreement[4] = 0.86;
  CHECK(gasg21::detail::number_by_agreement(chosen) == 4);
}
