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

TEST_CASE_TEMPLATE("special spectra", T, double, float) {
  Random random(3);
  for (const uword n : {20u, 120u}) {
    CAPTURE(n);
    const arma::mat Q = gasg21::random_basis<double>(n, n, random);
    arma::vec clusters(n), graded(n), few(n, arma::fill::zeros);
    for (uword i = 0; i < n; ++i) clusters[i] = i < n / 2 ? 1 : i < n - 3 ? 0 : -1;
    for (uword i = 0; i < n; ++i) graded[i] = std::pow(0.5, double(i));
    few.head(4) = arma::vec{1, 1, 1e-7, 1e-7};
    for (const arma::vec& values : {clusters, graded, few})
      for (const uword count : {uword(1), uword(8), n / 2, n}) {
        CAPTURE(count);
        const arma::mat exact = arma::symmatl(Q * arma::diagmat(values) * Q.t());
        const auto A = arma::conv_to<arma::Mat<T>>::from(exact);
        CHECK(error_of(A, gasg21::symmetric_eigen(A, count)) < 10 * double(n));
      }
    const arma::Mat<T> identity(n, n, arma::fill::eye), zero(n, n, arma::fill::zeros);
    for (const uword count : {n / 3, n}) {
      CHECK(error_of(identity, gasg21::symmetric_eigen(identity, count)) < 10 * double(n));
      CHECK(error_of(zero, gasg21::symmetric_eigen(zero, count)) == 0);
    }
  }
}

TEST_CASE_TEMPLATE("the scale of the matrix does not matter", T, double, float) {
  Random random(4);
  const arma::Mat<T> A = symmetric<T>(60, random);
  const T large = std::numeric_limits<T>::max() / 8, small = std::numeric_limits<T>::min() * 8;
  for (const T scale : {large, small})
    for (const uword count : {5u, 60u}) {
      const arma::Mat<T> B = A * (scale / arma::abs(A).max());
      const auto eigen = gasg21::symmetric_eigen(B, count);
      CHECK(eigen.values.is_finite());
      CHECK(error_of<T>(A, {eigen.values * (arma::abs(A).max() / scale), eigen.vectors}) < 600);
    }
}

TEST_CASE("only the lower triangle counts, and it must be finite and square") {
  Random random(5);
  const arma::mat A = symmetric<double>(40, random);
  const auto lower = gasg21::symmetric_eigen(arma::mat(arma::trimatl(A)));
  CHECK(support::same_bits(lower.vectors, gasg21::symmetric_eigen(A).vectors));
  CHECK(gasg21::symmetric_eigen(arma::mat()).values.empty());
  arma::mat bad = A;
  bad(7, 3) = support::quiet_nan<double>;
  CHECK(contains(complaint([&] { gasg21::symmetric_eigen(bad); }), "the entry"));
  CHECK(contains(complaint([] { gasg21::symmetric_eigen(arma::mat(2, 3)); }), "2 rows and 3"));
  CHECK(contains(complaint([&] { gasg21::symmetric_eigen(A, 41); }), "41 eigenvectors"));
}
