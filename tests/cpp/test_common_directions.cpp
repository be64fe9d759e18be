// recovery/common_directions.hpp: residuals with common directions are told from isotropic ones.
#include <gasg21/data/views.hpp>
#include <gasg21/recovery/common_directions.hpp>

#include "polish_support.hpp"

using gasg21::CommonDirections;
using gasg21::DenseView;
using gasg21::may_have_common;
using gasg21::Random;
using support::gaussian;
using support::Problem;
using support::quiet_nan;
using support::uword;

namespace {

constexpr CommonDirections wanted{0.2, 0.9};

template <class T>
bool may(const Problem<T>& p, double observed, double least = 1e-6) {
  return may_have_common(wanted, p.truth, DenseView<T>(p.X), observed, least, Random(1));
}

/// Replaces about a quarter of the samples by some on another subspace.
template <class T>
void add_other(Problem<T>& p, T size) {
  const arma::Mat<T> other = gasg21::random_basis<T>(p.X.n_rows, p.truth.n_cols, p.random);
  for (uword j = 0; j < p.X.n_cols; ++j)
    if (p.random.uniform() < 0.25)
      p.X.col(j) = p.truth * gaussian<T>(p.truth.n_cols, p.random) +
                   size * other * gaussian<T>(p.truth.n_cols, p.random);
}

template <class T>
void hide(Problem<T>& p, double share) {
  for (T& entry : p.X)
    if (p.random.uniform() < share) entry = quiet_nan<T>;
}

}  // namespace

TEST_CASE_TEMPLATE("isotropic residuals have nothing in common", T, double, float) {
  for (const double outliers : {0.0, 0.6})
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
      CAPTURE(outliers);
      CAPTURE(seed);
      CHECK_FALSE(may(Problem<T>(300, 200, 4, outliers, 0, 0.01, seed), 1));
      CHECK_FALSE(may(Problem<T>(300, 200, 4, outliers, 0.3, 0.01, seed), 0.7));
    }
}

TEST_CASE_TEMPLATE("the residuals of a quarter of the samples have", T, double, float) {
  for (const uword d : {1u, 4u, 10u})
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
      CAPTURE(d);
      CAPTURE(seed);
      Problem<T> p(300, 600, d, 0, 0, 0.01, seed);
      add_other(p, T(1));
      CHECK(may(p, 1));
      hide(p, 0.3);
      CHECK(may(p, 0.7));
    }
}

TEST_CASE("rounding errors have nothing in common") {
  Problem<double> p(300, 400, 4, 0, 0, 0, 2);
  add_other(p, 1e-9);
  CHECK(may(p, 1, 1e-12));
  CHECK_FALSE(may(p, 1, 1e-7));
}

TEST_CASE("a period of the data hides nothing") {
  Problem<double> p(300, 600, 4, 0, 0, 0.01, 3);
  const arma::mat other = gasg21::random_basis<double>(300, 4, p.random);
  for (uword j = 0; j < 600; j += 5) p.X.col(j) = other * gaussian<double>(4, p.random);
  CHECK(may(p, 1));
}

TEST_CASE("in few dimensions and with few entries there may always be some") {
  CHECK(may(Problem<double>(20, 400, 4, 0, 0, 0.01, 4), 1));
  CHECK(may(Problem<double>(300, 400, 4, 0, 0.6, 0.01, 4), 0.4));
}
