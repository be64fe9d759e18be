// fit/projector.hpp: a sample of the subspace comes back as it was, at every scale.
#include <cmath>
#include <gasg21/fit/projector.hpp>
#include <gasg21/geometry/grassmann.hpp>

#include "support.hpp"

using gasg21::DenseSample;
using gasg21::Projector;
using gasg21::random_basis;
using support::eps;
using support::gaussian;
using support::only;
using support::quiet_nan;
using support::Random;
using support::random_rows;
using support::uword;

namespace {

template <class T>
bool read(Projector<T>& projector, const arma::Col<T>& x) {
  return projector.read(DenseSample<T>{x.memptr()});
}

template <class T>
arma::Col<T> weights(const Projector<T>& projector, uword d) {
  arma::Col<T> w(d);
  projector.weights(w.memptr());
  return w;
}

template <class T>
arma::Col<T> filled(const Projector<T>& projector, arma::Col<T> x) {
  projector.fill_missing(x.memptr());
  return x;
}

}  // namespace

TEST_CASE_TEMPLATE("a sample of the subspace has its own weights, at every scale", T, double,
                   float) {
  Random random(1);
  const auto U = random_basis<T>(40, 4, random);
  Projector<T> projector(U);
  const arma::Col<T> w = gaussian<T>(4, random);
  const T reach = std::numeric_limits<T>::max() / 1000, least = 1 / reach;
  for (const T scale : {T(1), reach, std::sqrt(reach) * 100, least}) {
    CAPTURE(scale);
    const arma::Col<T> x = (U * w) * scale;
    for (const arma::Col<T>& sample : {x, only<T>(x, random_rows(40, 20, random))}) {
      REQUIRE(read(projector, sample));
      // Divided before it is compared: 1e305 has no absolute tolerance. `least` is near the
      // denormals, where the sample itself has fewer digits.
      const double lost = scale == least ? 1e4 : 50;
      CHECK(support::distance<T>(weights(projector, 4) / scale, w) <= lost * double(eps<T>));
      CHECK(double(projector.residual()) <= lost * double(eps<T>));
    }
  }
}

TEST_CASE_TEMPLATE("missing entries are restored, observed ones not touched", T, double, float) {
  Random random(2);
  const auto U = random_basis<T>(40, 4, random);
  Projector<T> projector(U);
  for (const T scale : {T(1), std::numeric_limits<T>::max() / 1000}) {
    const arma::Col<T> truth = U * gaussian<T>(4, random) * scale;
    for (const uword count : {5u, 20u, 39u, 40u}) {
      const arma::uvec rows = random_rows(40, count, random);
      const arma::Col<T> x = only<T>(truth, rows);
      REQUIRE(read(projector, x));
      const arma::Col<T> full = filled(projector, x);
      // Five entries for four weights: the condition of U_Omega takes its digits.
      const double lost = 20 * double(arma::cond(arma::Mat<T>(U.rows(rows))));
      CHECK(support::distance<T>(full / scale, truth / scale) <= lost * double(eps<T>));
      CHECK(support::same_bits<T>(full.elem(rows), truth.elem(rows)));
    }
  }
}

TEST_CASE("an observed entry off the subspace keeps its value too") {
  Random random(3);
  const auto U = random_basis<double>(40, 4, random);
  Projector<double> projector(U);
  const arma::uvec rows = random_rows(40, 25, random);
  const arma::vec x = only(gaussian<double>(40, random), rows);
  REQUIRE(read(projector, x));
  const arma::vec full = filled(projector, x);
  CHECK(support::same_bits<double>(full.elem(rows), x.elem(rows)));
  // What is filled in is U w with the least-squares w of Omega.
  const arma::vec w = arma::solve(U.rows(rows), x.elem(rows));
  CHECK(support::distance<double>(weights(projector, 4), w) <= 1e-13);
  arma::vec expected = U * w;
  expected.elem(rows) = x.elem(rows);
  CHECK(support::distance<double>(full, expected) <= 1e-13);
  const arma::vec r = x.elem(rows) - U.rows(rows) * w;
  CHECK(projector.residual() ==
        doctest::Approx(arma::norm(r) / arma::norm(x.elem(rows))).epsilon(1e-13));
}

TEST_CASE_TEMPLATE("a sample that is orthogonal has the residual 1, never more", T, double, float) {
  Random random(4);
  const auto frame = random_basis<T>(40, 5, random);
  const arma::Mat<T> U = frame.head_cols(4);
  Projector<T> projector(U);
  for (const T scale : {T(0.3), T(1), T(7)}) {
    REQUIRE(read<T>(projector, scale * frame.col(4)));
    CHECK(projector.residual() <= T(1));
    CHECK(double(projector.residual()) == doctest::Approx(1).epsilon(10 * eps<T>));
  }
}

TEST_CASE_TEMPLATE("what is not determined is NaN", T, double, float) {
  Random random(5);
  const auto U = random_basis<T>(40, 4, random);
  Projector<T> projector(U);
  const auto x = gaussian<T>(40, random);
  arma::Col<T> infinite = only<T>(x, random_rows(40, 20, random));
  infinite[3] = std::numeric_limits<T>::infinity();
  for (const arma::Col<T>& bad : {only<T>(x, {0, 5, 9, 20}), only<T>(x, arma::uvec{}), infinite}) {
    REQUIRE(read<T>(projector, x));  // so that there is something stale to answer
    CHECK_FALSE(read(projector, bad));
    CHECK(std::isnan(projector.residual()));
    for (const T w : weights(projector, 4)) CHECK(std::isnan(w));
    CHECK(support::same_bits<T>(filled(projector, bad), bad));  // gaps stay, the rest stays
  }
}

TEST_CASE_TEMPLATE("a zero vector lies in every subspace", T, double, float) {
  Random random(6);
  const auto U = random_basis<T>(40, 4, random);
  Projector<T> projector(U);
  const arma::Col<T> zero(40, arma::fill::zeros);
  for (const uword count : {1u, 10u, 40u}) {  // even where |Omega| <= d
    const arma::Col<T> x = only<T>(zero, random_rows(40, count, random));
    CHECK(read(projector, x));
    CHECK(projector.residual() == T(0));
    CHECK(support::same_bits<T>(weights(projector, 4), arma::Col<T>(4, arma::fill::zeros)));
    CHECK(support::same_bits<T>(filled(projector, x), zero));
  }
}

TEST_CASE("only the first entries are filled in, plus a centre") {
  Random random(8);
  const arma::mat U = random_basis<double>(10, 2, random);
  const arma::vec x = U * gaussian<double>(2, random), centre = gaussian<double>(7, random);
  arma::vec seen = x, out(8);
  seen.elem(arma::uvec{1, 4, 8}).fill(quiet_nan<double>);
  out.fill(-1);
  Projector<double> projector(U);
  REQUIRE(read(projector, seen));
  projector.fill_missing(out.memptr(), 7, centre.memptr());
  CHECK(out[1] == doctest::Approx(x[1] + centre[1]));
  CHECK(out[4] == doctest::Approx(x[4] + centre[4]));
  out.shed_rows(arma::uvec{1, 4});
  CHECK(arma::all(out == -1));
}
