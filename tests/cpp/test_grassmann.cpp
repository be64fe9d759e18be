// geometry/grassmann.hpp: laws of the geometry.
#include <cmath>
#include <gasg21/geometry/grassmann.hpp>

#include "support.hpp"

using gasg21::largest_angle;
using gasg21::orthonormality_error;
using gasg21::orthonormalize;
using gasg21::principal_angles;
using gasg21::random_basis;
using gasg21::RankOneGradient;
using support::distance;
using support::eps;
using support::gaussian;
using support::Random;
using support::uword;

namespace {

const double pi = std::acos(-1.0);

/// A basis and the direction e v' of a geodesic.
template <class T>
struct Direction {
  arma::Mat<T> U;
  arma::Col<T> e, v, scratch;

  Direction(uword n, uword d, Random& random) : scratch(n) {
    const auto frame = random_basis<T>(n, d + 1, random);
    U = frame.head_cols(d);
    e = frame.col(d);
    v = arma::normalise(gaussian<T>(d, random));
  }
  arma::Mat<T> moved(double theta) {
    arma::Mat<T> V = U;
    gasg21::geodesic_step(V, e, v, theta, scratch);
    return V;
  }
};

/// Random bases a and b in R^n with the given principal angles, largest first. `a` has `more`
/// additional columns.
struct Pair {
  arma::mat a, b;
  Pair(uword n, const arma::vec& angles, uword more, Random& random) {
    const uword d = angles.n_elem;
    const arma::mat frame = random_basis<double>(n, 2 * d + more, random);
    const arma::mat first = frame.head_cols(d), second = frame.cols(d, 2 * d - 1);
    b = first * arma::diagmat(arma::cos(angles)) + second * arma::diagmat(arma::sin(angles));
    a = arma::join_rows(first, frame.tail_cols(more));
    a = a * random_basis<double>(d + more, d + more, random);
    b = b * random_basis<double>(d, d, random);
  }
};

}  // namespace

TEST_CASE_TEMPLATE("a geodesic step stays on the Grassmannian", T, double, float) {
  Random random(1);
  for (const uword d : {1u, 4u, 7u})
    for (const double theta : {1e-9, 0.3, pi / 2, 3.0, -20.0, 1e6}) {
      Direction<T> g(30, d, random);
      CHECK(double(orthonormality_error(g.moved(theta))) <= 10 * double(eps<T>));
    }
}

TEST_CASE_TEMPLATE("a step by the angle zero is the identity", T, double, float) {
  Random random(2);
  Direction<T> g(30, 4, random);
  CHECK(support::same_bits<T>(g.moved(0), g.U));
}

TEST_CASE_TEMPLATE("a step rotates U v towards e by theta and keeps the rest", T, double, float) {
  Random random(3);
  for (const double theta : {1e-6, 0.3, 1.5, 3.0, -0.7}) {
    Direction<T> g(30, 4, random);
    const arma::Mat<T> V = g.moved(theta);
    const arma::Col<T> rotated = T(std::cos(theta)) * g.U * g.v + T(std::sin(theta)) * g.e;
    CHECK(distance<T>(V * g.v, rotated) <= 10 * double(eps<T>));
    const arma::Mat<T> others = arma::null(arma::Mat<T>(g.v.t()));
    CHECK(distance<T>(V * others, g.U * others) <= 10 * double(eps<T>));
  }
}

TEST_CASE("the angle of a step is the only nonzero principal angle") {
  Random random(4);
  for (const double theta : {1e-12, 1e-6, 0.3, 1.5, pi / 2}) {
    CAPTURE(theta);
    Direction<double> g(30, 4, random);
    const arma::vec angles = principal_angles(g.U, g.moved(theta));
    CHECK(std::abs(angles[0] - theta) <= 2e-15);  // U and e are orthogonal up to eps
    CHECK(angles[1] <= 2e-15);
  }
}

TEST_CASE("two steps along one geodesic equal one longer step") {
  Random random(5);
  Direction<double> g(30, 4, random);
  // After the first step the unit tangent is cos(0.4) e - sin(0.4) U v.
  Direction<double> further = g;
  further.U = g.moved(0.4);
  further.e = std::cos(0.4) * g.e - std::sin(0.4) * (g.U * g.v);
  CHECK(distance<double>(further.moved(0.3), g.moved(0.7)) <= 1e-15);
}

TEST_CASE("principal angles are accurate near zero and near a right angle") {
  Random random(7);
  for (const uword more : {0u, 2u}) {
    CAPTURE(more);
    const arma::vec angles = {pi / 2, pi / 2 - 1e-10, 1.0, pi / 4, 1e-4, 1e-10, 0.0};
    const Pair p(40, angles, more, random);
    // The error is a few eps: small angles come from the sine, large ones from the cosine.
    CHECK(distance<double>(principal_angles(p.a, p.b), angles) <= 4e-15);
    CHECK(distance<double>(principal_angles(p.b, p.a), angles) <= 4e-15);
    CHECK(largest_angle(p.a, p.b) == principal_angles(p.a, p.b)[0]);
  }
}

TEST_CASE("a small largest angle is accurate") {
  Random random(8);
  for (const double angle : {1e-3, 1e-8, 1e-10, 1e-13}) {
    const Pair p(40, {angle, angle / 2, 0.0}, 1, random);
    CHECK(std::abs(largest_angle(p.a, p.b) - angle) <= 2e-15);
  }
}

TEST_CASE("bases with different numbers of rows are refused") {
  const arma::mat a(5, 2, arma::fill::eye), b(6, 2, arma::fill::eye);
  CHECK(support::contains(support::complaint([&] { principal_angles(a, b); }), "5 and 6 rows"));
}

TEST_CASE_TEMPLATE("orthonormalize keeps the span and the order of the columns", T, double, float) {
  Random random(9);
  for (const T scale : {T(1), std::numeric_limits<T>::max() / 10, std::numeric_limits<T>::min()}) {
    const arma::Mat<T> before = gaussian<T>(30, 6, random);
    arma::Mat<T> U = scale * before;
    REQUIRE(orthonormalize(U));
    CHECK(double(orthonormality_error(U)) <= 4 * double(eps<T>));
    // before = U R with R upper triangular, because no column depends on a later one, and
    // R_ii > 0, because the signs stay.
    const arma::Mat<T> R = U.t() * before;
    CHECK(distance<T>(U * R, before) <= 50 * double(eps<T>));
    CHECK(distance<T>(R, arma::trimatu(R)) <= 50 * double(eps<T>));
    CHECK(R.diag().min() > T(0));
  }
}

TEST_CASE_TEMPLATE("orthonormalize has full precision for nearly parallel columns", T, double,
                   float) {
  Random random(10);
  arma::Mat<T> U = gaussian<T>(30, 3, random);
  U.col(1) = U.col(0) + 1000 * eps<T> * U.col(1);
  U.col(2) = U.col(0) - U.col(1) + 1000 * eps<T> * U.col(2);
  REQUIRE(orthonormalize(U));
  CHECK(double(orthonormality_error(U)) <= 4 * double(eps<T>));
}

TEST_CASE_TEMPLATE("orthonormalize refuses dependent, zero and nonfinite columns", T, double,
                   float) {
  Random random(11);
  const arma::Mat<T> good = gaussian<T>(30, 4, random);
  const auto refused = [&](const arma::Col<T>& last) {
    arma::Mat<T> U = good;
    U.col(3) = last;
    return !orthonormalize(U);
  };
  CHECK_FALSE(refused(gaussian<T>(30, random)));
  CHECK(refused(good.col(1)));
  CHECK(refused(-3 * good.col(0)));
  CHECK(refused(good.col(0) + good.col(1) + good.col(2)));
  CHECK(refused(arma::Col<T>(30, arma::fill::zeros)));
  for (const T bad : {support::quiet_nan<T>, std::numeric_limits<T>::infinity()}) {
    arma::Col<T> column = good.col(3);
    column[7] = bad;
    CHECK(refused(column));
  }
  arma::Mat<T> too_many = gaussian<T>(3, 4, random);
  CHECK_FALSE(orthonormalize(too_many));
}

TEST_CASE("the orthonormality error is the largest entry of U'U - I") {
  Random random(12);
  const arma::mat U = gaussian<double>(20, 3, random);
  const arma::mat I(3, 3, arma::fill::eye);
  CHECK(orthonormality_error(U) == doctest::Approx(distance<double>(U.t() * U, I)).epsilon(1e-14));
}

TEST_CASE("a random basis is orthonormal and has no preferred direction") {
  Random random(13);
  const uword n = 6, d = 2, trials = 4000;
  arma::mat mean(n, n, arma::fill::zeros);
  for (uword t = 0; t < trials; ++t) {
    const arma::mat U = random_basis<double>(n, d, random);
    REQUIRE(orthonormality_error(U) <= 1e-15);
    mean += U * U.t() / double(trials);
  }
  // E[UU'] = d / n I. An entry has a standard deviation of at most 0.5, so its mean over 4000
  // trials has one of at most 0.008. The bound is four times that.
  CHECK(distance<double>(mean, double(d) / double(n) * arma::mat(n, n, arma::fill::eye)) < 0.032);
}

TEST_CASE_TEMPLATE("a NaN anywhere makes the orthonormality error NaN", T, double, float) {
  Random random(14);
  const auto U = random_basis<T>(20, 3, random);
  for (uword c = 0; c < 3; ++c) {
    arma::Mat<T> broken = U;
    broken(5, c) = support::quiet_nan<T>;
    CHECK(std::isnan(orthonormality_error(broken)));
  }
}

TEST_CASE("d > n is refused, without an endless search for a basis") {
  Random random(15);
  CHECK(orthonormality_error(random_basis<double>(4, 4, random)) <= 1e-15);
  CHECK(
      support::contains(support::complaint([&] { random_basis<double>(4, 5, random); }), "d = 5"));
}
