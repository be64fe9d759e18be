// data/dense_samples.hpp: some samples of any view as doubles.
#include <cstdint>
#include <gasg21/data/dense_samples.hpp>
#include <limits>
#include <vector>

#include "support.hpp"

using gasg21::dense_samples;
using gasg21::DenseView;
using gasg21::Lift;
using gasg21::SparseView;
using support::quiet_nan;
using support::uword;

TEST_CASE_TEMPLATE("a dense view gives its columns, NaN where they are missing", T, float, double) {
  support::Random random(1);
  arma::Mat<T> X = support::gaussian<T>(5, 4, random);
  X(2, 1) = quiet_nan<T>;
  X(3, 3) = std::numeric_limits<T>::infinity();
  arma::Mat<unsigned char> mask(5, 4, arma::fill::ones);
  mask(0, 1) = 0;
  DenseView<T> view(X);
  view.mask = mask.memptr();
  view.mask_stride = 5;
  const arma::mat found = dense_samples(view, {3, 1, 0});
  CHECK(arma::uvec(arma::find_nan(found.col(0))).n_elem == 5);  // infinite
  CHECK(arma::all(arma::uvec(arma::find_nan(found.col(1))) == arma::uvec{0, 2}));
  CHECK(found(4, 1) == double(X(4, 1)));
  CHECK(support::same_bits(arma::mat(found.col(2)), arma::conv_to<arma::mat>::from(X.col(0))));
}

TEST_CASE("a sparse view gives NaN or zero where nothing is stored") {
  const double values[] = {1, 2, 3};
  const std::int32_t rows[] = {0, 2, 1}, offsets[] = {0, 2, 3};
  SparseView<double, std::int32_t> view{values, rows, offsets, 3, 2};
  arma::mat found = dense_samples(view, {0, 1});
  CHECK(found(0, 0) == 1);
  CHECK(std::isnan(found(1, 0)));
  CHECK(found(2, 0) == 2);
  view.rest_is_zero = true;
  found = dense_samples(view, {1});
  CHECK(support::same_bits(found, arma::mat(arma::vec{0, 3, 0})));
}

TEST_CASE("a lifted sample ends with the constant, unless nothing of it is observed") {
  arma::mat X{{1, quiet_nan<double>}, {quiet_nan<double>, quiet_nan<double>}};
  const Lift<double> lift{arma::vec{0.5, 7}, 2};
  const arma::mat found = dense_samples(gasg21::lifted(DenseView<double>(X), lift), {0, 1});
  CHECK(found.n_rows == 3);
  CHECK(found(0, 0) == 0.5);
  CHECK(std::isnan(found(1, 0)));
  CHECK(found(2, 0) == 2);
  CHECK(arma::uvec(arma::find_nan(found.col(1))).n_elem == 3);
}

TEST_CASE("unsorted rows are refused") {
  const double values[] = {1, 2};
  const std::int32_t rows[] = {2, 0}, offsets[] = {0, 2};
  const SparseView<double, std::int32_t> view{values, rows, offsets, 3, 1};
  CHECK(support::contains(support::complaint([&] { dense_samples(view, {0}); }), "not sorted"));
}
