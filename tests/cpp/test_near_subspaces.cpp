// union/near_subspaces.hpp: samples beside K subspaces.
#include <algorithm>
#include <gasg21/union/near_subspaces.hpp>
#include <limits>
#include <vector>

#include "union_support.hpp"

using gasg21::DenseView;
using gasg21::near_own;
using gasg21::near_subspaces;
using gasg21::SubspaceBank;
using support::uword;

TEST_CASE_TEMPLATE("members are near to their subspace alone, random directions to none", T, float,
                   double) {
  support::Union<T> given(60, {2, 3, 4}, 50, 50, 0.3, 1e-3, 7);
  given.X.col(0).zeros();
  given.X(5, 1) = std::numeric_limits<T>::infinity();
  given.X(arma::span(1, 59), arma::span(2)).fill(support::quiet_nan<T>);
  const DenseView<T> data(given.X);
  const auto found = near_subspaces(given.truth, data);
  for (uword j = 3; j < data.n_cols; ++j) {
    const uword k = given.labels[j];
    for (uword l = 0; l < 3; ++l) CHECK(bool(found.near(l, j)) == (l == k));
    if (k < 3) CHECK(found.nearest(j) == k);
  }
  CHECK(found.n_near(0) == 0);  // zeros
  CHECK(found.is_known(0));
  CHECK_FALSE(found.is_known(1));  // infinite
  CHECK_FALSE(found.is_known(2));  // one entry
  CHECK_FALSE(found.is_near_any(2));
}

TEST_CASE("residuals equal the exact ones") {
  const support::Union<double> given(30, {2, 3}, 40, 10, 0.2, 1e-2, 8);
  const DenseView<double> data(given.X);
  const SubspaceBank<double> bank(given.truth);
  typename SubspaceBank<double>::Scratch scratch(bank);
  const auto found = near_subspaces(given.truth, data);
  for (uword j = 0; j < data.n_cols; ++j) {
    scratch.read(data.sample(j));
    for (uword k = 0; k < 2; ++k)
      CHECK(found.residuals(k, j) ==
            doctest::Approx(bank.exact_residual(k, scratch)).epsilon(1e-6));
  }
}

TEST_CASE("what is near to its own subspace is what is near to the nearest") {
  const support::Union<double> given(60, {2, 3, 4}, 40, 40, 0.3, 1e-3, 9);
  const DenseView<double> data(given.X);
  const auto assigned = gasg21::assign(SubspaceBank<double>(given.truth), data);
  const std::vector<bool> near = near_own(given.truth, assigned, data);
  for (uword j = 0; j < data.n_cols; ++j) CHECK(near[j] == (given.labels[j] < 3));
}
