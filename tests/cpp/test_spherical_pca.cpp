// seeding/spherical_pca.hpp: a start that the data supply as far as they can.
#include <gasg21/seeding/spherical_pca.hpp>

#include "support.hpp"

using gasg21::DenseView;
using gasg21::largest_angle;
using gasg21::orthonormality_error;
using gasg21::principal_angles;
using gasg21::random_basis;
using gasg21::spherical_pca_basis;
using support::eps;
using support::gaussian;
using support::quiet_nan;
using support::Random;
using support::uword;

namespace {

template <class T>
arma::Mat<T> start_of(const arma::Mat<T>& X, uword d, std::uint64_t seed = 0) {
  Random random(seed);
  return spherical_pca_basis<T>(DenseView<T>(X), d, random);
}

}  // namespace

TEST_CASE_TEMPLATE("clean data give their own subspace", T, double, float) {
  Random random(1);
  const auto truth = random_basis<T>(40, 4, random);
  const arma::Mat<T> X = truth * gaussian<T>(4, 80, random);
  const auto U = start_of<T>(X, 4);
  CHECK(double(orthonormality_error(U)) <= 10 * double(eps<T>));
  CHECK(double(largest_angle(U, truth)) <= 50 * double(eps<T>));
}

TEST_CASE("every sample counts alike, whatever its length") {
  Random random(2);
  const auto truth = random_basis<double>(40, 3, random);
  arma::mat X = truth * gaussian<double>(3, 60, random);
  const auto expected = start_of<double>(X, 3);
  X.col(7) *= 1e200;
  X.col(8) *= 1e-200;
  CHECK(largest_angle(start_of<double>(X, 3), expected) <= 1e-14);
  X.col(9) = 1e200 * gaussian<double>(40, random);  // plain PCA would start from this one
  CHECK(largest_angle(start_of<double>(X, 3), truth) < 0.2);
}

TEST_CASE("gaps and outliers leave a start nearer than a random one") {
  Random random(3);
  const auto truth = random_basis<double>(60, 3, random);
  arma::mat X = truth * gaussian<double>(3, 60, random);
  X.head_cols(20) = gaussian<double>(60, 20, random);
  for (double& entry : X)
    if (random.uniform() < 0.3) entry = quiet_nan<double>;
  CHECK(largest_angle(start_of<double>(X, 3), truth) <
        0.5 * largest_angle(random_basis<double>(60, 3, random), truth));
}

TEST_CASE_TEMPLATE("rank-deficient data are completed to a basis", T, double, float) {
  Random random(4);
  const auto truth = random_basis<T>(40, 2, random);
  const arma::Mat<T> X = truth * gaussian<T>(2, 50, random);
  const auto U = start_of<T>(X, 5);
  CHECK(double(orthonormality_error(U)) <= 10 * double(eps<T>));
  // All of what the samples supply is in it: both angles of the truth to U are zero.
  CHECK(double(largest_angle(U, truth)) <= 50 * double(eps<T>));
  // The rest is random: another seed, another completion.
  CHECK(double(largest_angle(U, start_of<T>(X, 5, 1))) > 0.1);
}

TEST_CASE("fewer samples than dimensions will do") {
  Random random(5);
  const arma::mat X = gaussian<double>(40, 2, random);
  const auto U = start_of<double>(X, 6);
  CHECK(orthonormality_error(U) <= 1e-14);
  CHECK(largest_angle(U, arma::mat(arma::orth(X))) <= 1e-14);
}

TEST_CASE("samples that say nothing give a random start") {
  arma::mat X(20, 10, arma::fill::zeros);
  X.head_cols(4).fill(quiet_nan<double>);
  X(3, 9) = std::numeric_limits<double>::infinity();
  Random random(6);
  CHECK(largest_angle(start_of<double>(X, 3, 6), random_basis<double>(20, 3, random)) <= 1e-15);
}

TEST_CASE("a start from no samples at all is refused") {
  CHECK(support::contains(support::complaint([] { start_of<double>(arma::mat(20, 0), 3); }),
                          "at least one sample"));
}
