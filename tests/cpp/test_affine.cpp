// geometry/affine.hpp: an affine subspace and the linear one of its lifted points.
#include <gasg21/geometry/affine.hpp>
#include <gasg21/geometry/jacobi_svd.hpp>

#include "support.hpp"

using support::gaussian;
using support::Random;
using support::uword;

TEST_CASE("the complement of a vector is orthonormal and orthogonal to it") {
  Random random(1);
  for (const uword k : {2u, 3u, 8u})
    for (const double last : {-2.0, 0.0, 2.0}) {
      arma::vec v = gaussian<double>(k, random);
      v[k - 1] = last;
      const arma::mat H = gasg21::orthogonal_complement(v);
      REQUIRE(H.n_cols == k - 1);
      CHECK(arma::abs(H.t() * H - arma::eye(k - 1, k - 1)).max() < 1e-14);
      CHECK(arma::abs(H.t() * v).max() < 1e-14 * arma::norm(v));
    }
  const arma::mat H = gasg21::orthogonal_complement(arma::vec(4, arma::fill::zeros));
  CHECK(arma::abs(H.row(3)).max() == 0);
}

TEST_CASE("the flat of lifted points is the affine subspace they were made of") {
  Random random(2);
  const uword n = 30, d = 3;
  const double constant = 0.7;
  const arma::mat V = gasg21::random_basis<double>(n, d, random);
  const arma::vec point = 5 * gaussian<double>(n, random);
  arma::mat points = V * gaussian<double>(d, 50, random);
  points.each_col() += point;
  arma::mat U = arma::join_cols(points, constant * arma::rowvec(50, arma::fill::ones));
  U = gasg21::thin_svd(U).P.eval().head_cols(d + 1);
  const gasg21::Flat<double> flat = gasg21::flat_of(U, constant);
  const arma::mat directions = (U * flat.directions).eval().head_rows(n);
  CHECK(arma::abs(directions.t() * directions - arma::eye(d, d)).max() < 1e-13);
  CHECK(gasg21::largest_angle(V, directions) < 1e-13);
  const arma::vec nearest = point - V * (V.t() * point);
  CHECK(arma::norm(flat.nearest - nearest) < 1e-12 * arma::norm(point));
}

TEST_CASE("a span without a point at a finite distance keeps d of its directions") {
  Random random(3);
  arma::mat U(21, 4, arma::fill::zeros);
  U.head_rows(20) = gasg21::random_basis<double>(20, 4, random);
  const gasg21::Flat<double> flat = gasg21::flat_of(U, 1.0);
  CHECK(flat.directions.n_cols == 3);
  CHECK(arma::abs(flat.nearest).max() == 0);
}
