// recovery/block_sums.hpp: the sums of blocks are the sums of the whole, in double precision, for
// one subspace and for several; rounds over blocks lead where a fit in memory leads.
#include <cmath>
#include <gasg21/recover.hpp>
#include <gasg21/recovery/block_sums.hpp>
#include <limits>
#include <vector>

#include "polish_support.hpp"

using gasg21::block_sums;
using gasg21::BlockSums;
using gasg21::DenseView;
using gasg21::Scatter;
using gasg21::StepOutcome;
using gasg21::union_sums;
using support::distance;
using support::Problem;
using support::quiet_nan;
using support::same_bits;
using support::uword;

namespace {

template <class T>
DenseView<T> columns_of(const arma::Mat<T>& X, uword from, uword to) {
  return DenseView<T>(X.colptr(from), X.n_rows, to - from, std::ptrdiff_t(X.n_rows));
}

/// A scatter that tells outliers from inliers.
template <class T>
Scatter some_scatter(const Problem<T>& p, const arma::Mat<T>& U) {
  return gasg21::start_scatter(U, DenseView<T>(p.X));
}

}  // namespace

TEST_CASE_TEMPLATE("the sums of blocks add up to those of the whole", T, double, float) {
  Problem<T> p(60, 500, 4, 0.3, 0.3, 0.01, 3);
  const arma::Mat<T> U = p.near(0.05);
  const Scatter scatter = some_scatter(p, U);
  const BlockSums whole = block_sums(U, scatter, DenseView<T>(p.X));
  BlockSums added(60, 4);
  for (const auto& [from, to] : std::vector<std::pair<uword, uword>>{{0, 1}, {1, 1}, {1, 500}})
    added += block_sums(U, scatter, columns_of(p.X, from, to));
  const double eps = 100 * double(std::numeric_limits<T>::epsilon());
  CHECK(distance(added.coordinates, whole.coordinates) <= eps * arma::abs(whole.coordinates).max());
  CHECK(distance(added.scatter.C, whole.scatter.C) <= eps * arma::abs(whole.scatter.C).max());
  CHECK(added.scatter.weight == doctest::Approx(whole.scatter.weight).epsilon(eps));
  CHECK(added.near == whole.near);
  CHECK(arma::all(added.residuals.counts() == whole.residuals.counts()));
  CHECK(added.usage.counters.used() == 500);
}

TEST_CASE("samples that cannot be used are counted by their reason") {
  Problem<double> p(20, 8, 3, 0, 0, 0.01, 4);
  p.X.col(0).zeros();
  p.X.col(1).fill(quiet_nan<double>);
  p.X.col(2).tail(17).fill(quiet_nan<double>);
  p.X(5, 3) = std::numeric_limits<double>::infinity();
  const BlockSums sums = block_sums(p.truth, Scatter(), DenseView<double>(p.X));
  CHECK(sums.usage.counters[StepOutcome::zero] == 1);
  CHECK(sums.usage.counters[StepOutcome::all_missing] == 1);
  CHECK(sums.usage.counters[StepOutcome::too_few_entries] == 1);
  CHECK(sums.usage.counters[StepOutcome::not_finite] == 1);
  CHECK(sums.usage.counters.used() == 4);
  CHECK(sums.usage.entries_used == 80);
  CHECK(arma::accu(sums.residuals.counts()) == 4);
}

TEST_CASE("the sums of several subspaces are those of their members") {
  Problem<double> a(40, 200, 3, 0, 0.2, 0.01, 5), b(40, 100, 2, 0, 0.2, 0.01, 6);
  const arma::mat X = arma::join_rows(a.X, b.X);
  const std::vector<arma::mat> bases{a.truth, b.truth};
  const auto found = union_sums(bases, {Scatter(), Scatter()}, DenseView<double>(X));
  CHECK(found.sums[0].usage.counters.used() == 200);
  CHECK(found.sums[1].usage.counters.used() == 100);
  CHECK(found.unassigned.counters.seen() == 0);
  const BlockSums own = block_sums(a.truth, Scatter(), DenseView<double>(a.X));
  CHECK(same_bits(found.sums[0].coordinates, own.coordinates));
}
