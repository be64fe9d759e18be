// lanczos.hpp: leading eigenvectors equal those of the full decomposition, multiple ones included.
#include <gasg21/geometry/lanczos.hpp>
#include <limits>

#include "support.hpp"

using gasg21::LanczosOptions;
using support::gaussian;
using support::Random;
using support::same_bits;
using support::uword;

namespace {

/// Q diag(values) Q' for a random orthonormal Q.
template <class T>
arma::Mat<T> with_spectrum(const arma::vec& values, Random& random) {
  const arma::mat Q = gasg21::random_basis<double>(values.n_elem, values.n_elem, random);
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
  const double off =
      double(arma::abs(V.t() * V - arma::Mat<T>(V.n_cols, V.n_cols, arma::fill::eye)).max());
  return std::max(residual, off);
}

}  // namespace

TEST_CASE_TEMPLATE("Lanczos finds the leading eigenvectors", T, double, float) {
  Random random(1);
  for (const uword n : {200u, 500u})
    for (const uword count : {1u, 5u, 12u}) {
      CAPTURE(n);
      CAPTURE(count);
      arma::vec values = arma::linspace(0.5, -0.2, n);
      values.head(count) = arma::linspace(2.0, 1.0, count);
      const arma::Mat<T> A = with_spectrum<T>(values, random);
      LanczosOptions options;
      options.tol = 30 * double(support::eps<T>);
      const auto found = gasg21::lanczos<T>(n, count, product_with(A), options);
      REQUIRE((found || 11 * (count + 3) > n));
      if (!found) continue;
      CHECK(error_of(A, *found) < 100 * double(support::eps<T>));
      for (uword i = 0; i < count; ++i)
        CHECK(double(found->values[i]) == doctest::Approx(values[i]).epsilon(1e-5));
    }
}
