// symmetric_eigen.hpp: eigenvalues equal LAPACK's; the vectors are orthonormal and diagonalize A.
#include <gasg21/geometry/symmetric_eigen.hpp>
#include <limits>

#include "instruction_sets.hpp"
#include "support.hpp"

using support::complaint;
using support::contains;
using support::eps;
using support::gaussian;
using support::Random;
using support::uword;

namespace {

template <class T>
arma::Mat<T> symmetric(uword n, Random& random) {
  const arma::Mat<T> A = gaussian<T>(n, n, random);
  return (A + A.t()) / T(2);
}

/// The largest errors of the residuals and of V'V = I, in roundings of the largest eigenvalue.
template <class T>
double error_of(const arma::Mat<T>& A, const gasg21::SymmetricEigen<T>& eigen) {
  const arma::mat V = arma::conv_to<arma::mat>::from(eigen.vectors);
  const arma::vec values = arma::conv_to<arma::vec>::from(eigen.values);
  const arma::mat exact = arma::conv_to<arma::mat>::from(A);
  const double norm = arma::norm(arma::eig_sym(exact), "inf");
  const double residual =
      norm > 0 ? arma::norm(exact * V - V * arma::diagmat(values), "inf") / norm : 0;
  const double off = arma::norm(V.t() * V - arma::mat(V.n_cols, V.n_cols, arma::fill::eye), "inf");
  return std::max(residual, off) / double(eps<T>);
}

}  // namespace

TEST_CASE_TEMPLATE("eigenvalues and vectors equal LAPACK's", T, double, float) {
  support::for_each_set([&] {
    Random random(1);
    for (const uword n : {1u, 2u, 3u, 7u, 8u, 31u, 32u, 33u, 64u, 65u, 150u, 300u}) {
      CAPTURE(n);
      const arma::Mat<T> A = symmetric<T>(n, random);
      const auto eigen = gasg21::symmetric_eigen(A);
      CHECK(error_of(A, eigen) < 10 * double(n));
      const arma::vec expected = arma::reverse(arma::eig_sym(arma::conv_to<arma::mat>::from(A)));
      const double off = arma::abs(expected - arma::conv_to<arma::vec>::from(eigen.values)).max();
      CHECK(off < 4 * double(eps<T>) * double(n + 10));
    }
  });
}

TEST_CASE_TEMPLATE("some leading eigenvectors equal those of all", T, double, float) {
  Random random(2);
  for (const uword n : {50u, 64u, 129u, 400u})
    for (const uword count : {1u, 5u, 25u}) {
      CAPTURE(n);
      CAPTURE(count);
      const arma::Mat<T> A = symmetric<T>(n, random);
      const auto eigen = gasg21::symmetric_eigen(A, count);
      REQUIRE(eigen.values.n_elem == count);
      CHECK(error_of(A, eigen) < 10 * double(n));
      const arma::vec expected = arma::reverse(arma::eig_sym(arma::conv_to<arma::mat>::from(A)));
      const double off =
          arma::abs(expected.head(count) - arma::conv_to<arma::vec>::from(eigen.values)).max();
      CHECK(off < 4 * double(eps<T>) * double(n + 10));
    }
}
