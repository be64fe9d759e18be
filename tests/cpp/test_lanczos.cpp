// lanczos.hpp: leading eigenvectors equal those of the full decomposition, multiple ones included.
#include <gasg21/geometry/lanczos.hpp>
#include <limits>

#include "support.hpp"

using gasg21::LanczosOptions;
using gasg21::Parallel;
using support::eps;
using support::gaussian;
using support::Random;
using support::same_bits;
using support::uword;

namespace {

/// Q diag(values) Q' for a random orthonormal Q.
template <class T>
arma::Mat<T> with_spectrum(const arma::vec& values, Random& random) {
  const uword n = values.n_elem;
  const arma::mat Q = gasg21::random_basis<double>(n, n, random);
  return arma::conv_to<arma::Mat<T>>::from(arma::symmatl(Q * arma::diagmat(values) * Q.t()));
}

template <class T>
auto product_with(const arma::Mat<T>& A) {
  return [&A](const arma::Mat<T>& V, arma::Mat<T>& out) { out = A * V; };
}

/// The largest entries of A V - V diag(values) and of V'V - I.
template <class T>
double error_of(const arma::Mat<T>& A, const gasg21::SymmetricEigen<T>& eigen) {
  const arma::Mat<T>& V = eigen.vectors;
  const double residual = double(arma::abs(A * V - V * arma::diagmat(eigen.values)).max());
  const arma::Mat<T> identity(V.n_cols, V.n_cols, arma::fill::eye);
  return std::max(residual, double(arma::abs(V.t() * V - identity).max()));
}

template <class T>
void check_leading(const arma::vec& values, uword count, Random& random, uword most_products = 60) {
  const auto A = with_spectrum<T>(values, random);
  LanczosOptions options;
  options.tol = 30 * double(eps<T>);
  options.most_products = most_products;
  const auto found = gasg21::lanczos<T>(A.n_rows, count, product_with(A), options);
  REQUIRE(found);
  REQUIRE(found->values.n_elem == count);
  CHECK(error_of(A, *found) < 100 * double(eps<T>));
  for (uword i = 0; i < count; ++i) CHECK(std::abs(double(found->values[i]) - values[i]) < 1e-5);
}

}  // namespace

TEST_CASE_TEMPLATE("Lanczos finds separated eigenvalues", T, double, float) {
  Random random(1);
  for (const uword count : {1u, 5u, 12u}) {
    CAPTURE(count);
    arma::vec values = arma::linspace(0.5, -0.2, 300);
    values.head(count) = arma::linspace(2.0, 1.0, count);
    check_leading<T>(values, count, random);
  }
}

TEST_CASE_TEMPLATE("Lanczos finds multiple eigenvalues", T, double, float) {
  Random random(2);
  for (const uword count : {2u, 7u, 20u}) {  // as of K clusters without any affinity between them
    CAPTURE(count);
    arma::vec values = arma::linspace(0.4, -0.4, 400);
    values.head(count).fill(1);
    check_leading<T>(values, count, random);
  }
}

TEST_CASE_TEMPLATE("Lanczos continues when the basis is invariant", T, double, float) {
  Random random(3);
  arma::vec values(200, arma::fill::zeros);  // of rank 3: a second block of products is dependent
  values.head(3) = arma::vec{3, 2, 2};
  check_leading<T>(values, 6, random);
}

TEST_CASE("Lanczos restarts until it converges") {
  Random random(4);
  arma::vec values = arma::linspace(0.98, -1.0, 600);  // the gap is a hundredth of the range
  values.head(4) = arma::vec{1.03, 1.02, 1.02, 1.01};
  check_leading<double>(values, 4, random, 200);
  const arma::mat A = with_spectrum<double>(values, random);
  LanczosOptions options;
  options.most_products = 10;
  CHECK_FALSE(gasg21::lanczos<double>(600, 4, product_with(A), options));  // one basis is too small
}

TEST_CASE("neither threads nor a second run change a bit; another seed does") {
  Random random(5);
  arma::vec values = arma::linspace(0.1, 0.0, 500);
  values.head(5).fill(1);
  const arma::mat A = with_spectrum<double>(values, random);
  const auto run = [&](std::uint64_t seed, unsigned threads) {
    LanczosOptions options;
    options.seed = seed;
    return gasg21::leading_eigen(A, 5, options, Parallel(threads)).vectors;
  };
  CHECK(same_bits(run(1, 1), run(1, 3)));
  CHECK_FALSE(same_bits(run(1, 1), run(2, 1)));
}

TEST_CASE_TEMPLATE("leading_eigen finds what LAPACK finds", T, double, float) {
  Random random(6);
  for (const uword n : {1u, 30u, 330u, 500u})  // a flat spectrum: Lanczos does not converge
    for (const uword count : {uword(1), std::min<uword>(n, 7), n}) {
      CAPTURE(n);
      CAPTURE(count);
      const arma::Mat<T> B = gaussian<T>(n, n, random), A = (B + B.t()) / T(2);
      const auto found = gasg21::leading_eigen(A, count);
      const arma::vec expected = arma::reverse(arma::eig_sym(arma::conv_to<arma::mat>::from(A)));
      REQUIRE(found.values.n_elem == count);
      const double rounding = 10 * double(eps<T>) * double(n + 10);
      CHECK(error_of(A, found) < rounding);
      for (uword i = 0; i < count; ++i)
        CHECK(std::abs(double(found.values[i]) - expected[i]) < rounding);
    }
}
