// polish/coordinate_sums.hpp: the sums equal their definition, for any kind of data, any blocks
// and any number of threads.
#include <gasg21/polish/coordinate_sums.hpp>
#include <gasg21/recovery/block_sums.hpp>
#include <vector>

#include "instruction_sets.hpp"
#include "polish_support.hpp"

using gasg21::add_samples;
using gasg21::CoordinateSums;
using gasg21::DenseView;
using gasg21::fit_samples;
using gasg21::Parallel;
using gasg21::SampleFits;
using gasg21::Scatter;
using support::distance;
using support::Problem;
using support::same_bits;
using support::uword;

namespace {

/// The sums of one coordinate, from their definition.
template <class T>
arma::vec plain_sums(const arma::Mat<T>& X, const arma::Mat<T>& U, const SampleFits<T>& fits,
                     uword i) {
  const uword d = U.n_cols;
  arma::mat A(d, d, arma::fill::zeros);
  arma::vec b(d, arma::fill::zeros);
  for (uword j = 0; j < X.n_cols; ++j) {
    if (std::isnan(X(i, j))) continue;
    const arma::vec column = arma::conv_to<arma::vec>::from(X.col(j));
    const arma::vec seen = column.elem(arma::find_finite(column));
    const arma::vec w = arma::conv_to<arma::vec>::from(fits.W.col(j));
    const arma::rowvec u = arma::conv_to<arma::rowvec>::from(U.row(i));
    A += fits.omega[j] * w * w.t();
    b += fits.omega[j] * w * (column[i] / arma::norm(seen) - arma::dot(u, w));
  }
  arma::vec sums;
  for (uword c = 0; c < d; ++c) sums = arma::join_cols(sums, arma::vec(A.col(c).tail(d - c)));
  return arma::join_cols(sums, b);
}

/// Fits with weights, for any kind of data.
template <class T, class Data>
SampleFits<T> weighted_fits(const arma::Mat<T>& U, const Data& data) {
  SampleFits<T> fits(U.n_cols, data.n_cols);
  fit_samples(U, data, fits, Parallel());
  Scatter().weigh(fits, 3);
  return fits;
}

}  // namespace

TEST_CASE_TEMPLATE("the sums of a coordinate are those over the samples that observe it", T, double,
                   float) {
  const double tolerance = sizeof(T) == 8 ? 1e-11 : 1e-4;
  support::for_each_set([&] {
    for (const uword d : {1u, 2u, 3u, 7u, 12u, 24u, 37u}) {
      CAPTURE(d);
      Problem<T> p(97, 150, d, 0.4, 0.5, 0.1, 9);
      p.X.row(5).fill(support::quiet_nan<T>);  // a coordinate that no sample observes
      const auto U = p.near(0.05);
      const DenseView<T> data(p.X);
      const SampleFits<T> fits = weighted_fits(U, data);
      CoordinateSums<T> rows(97, d);
      add_samples(U, data, fits, rows, Parallel());
      for (uword i = 0; i < 97; ++i) {
        const arma::vec expected = plain_sums(p.X, U, fits, i);
        const arma::vec sums = arma::conv_to<arma::vec>::from(rows.sums.col(i));
        REQUIRE(distance<double>(sums, expected) <= tolerance * (1 + arma::abs(expected).max()));
      }
    }
  });
}

TEST_CASE("a coordinate that a heavy sample misses has all digits of the others") {
  support::for_each_set([&] {
    const uword n = 60, m = 70, d = 4;
    for (const double missing : {0.0, 0.2}) {
      CAPTURE(missing);
      Problem<double> p(n, m, d, 0.0, missing, 0.1, 9);
      for (uword i = 0; i < 30; ++i) p.X(i, 3) = support::quiet_nan<double>;
      const auto U = p.near(0.05);
      const DenseView<double> data(p.X);
      SampleFits<double> fits = weighted_fits(U, data);
      fits.omega[3] = 1e14 * arma::max(fits.omega);
      CoordinateSums<double> rows(n, d);
      add_samples(U, data, fits, rows, Parallel());
      for (uword i = 0; i < 30; ++i) {
        const arma::vec expected = plain_sums(p.X, U, fits, i);
        const arma::vec sums = rows.sums.col(i);
        REQUIRE(distance<double>(sums, expected) <= 1e-11 * arma::abs(expected).max());
      }
    }
  });
}

TEST_CASE("NaN, a mask, held out entries and stored entries give the same sums to the bit") {
  const uword n = 300, m = 90, d = 6;
  support::for_each_set([&] {
    for (const double missing : {0.3, 0.95}) {  // stored: many, few
      CAPTURE(missing);
      Problem<double> p(n, m, d, 0.3, missing, 0.01, 6);
      const auto U = p.near(0.05);
      const DenseView<double> dense(p.X);
      const SampleFits<double> fits = weighted_fits(U, dense);
      CoordinateSums<double> expected(n, d), masked(n, d), held_out(n, d), sparse(n, d);
      add_samples(U, dense, fits, expected, Parallel());

      arma::mat filled = p.X;
      filled.replace(support::quiet_nan<double>, 7.0);
      arma::Mat<unsigned char> mask(n, m, arma::fill::ones);
      gasg21::HeldOut hidden;
      std::vector<double> values;
      std::vector<int> at, offsets{0};
      for (uword j = 0; j < m; ++j) {
        for (uword i = 0; i < n; ++i) {
          if (std::isnan(p.X(i, j))) {
            mask(i, j) = 0;
            hidden.rows[j].push_back(i);
          } else {
            values.push_back(p.X(i, j));
            at.push_back(int(i));
          }
        }
        offsets.push_back(int(at.size()));
      }
      DenseView<double> with_mask(filled), with_hidden(filled);
      with_mask.mask = mask.memptr();
      with_mask.mask_stride = std::ptrdiff_t(n);
      with_hidden.held_out = &hidden;
      const gasg21::SparseView<double, int> stored{values.data(), at.data(), offsets.data(), n, m};
      add_samples(U, with_mask, fits, masked, Parallel());
      add_samples(U, with_hidden, fits, held_out, Parallel());
      add_samples(U, stored, fits, sparse, Parallel());
      CHECK(same_bits(masked.sums, expected.sums));
      CHECK(same_bits(held_out.sums, expected.sums));
      CHECK(same_bits(sparse.sums, expected.sums));
    }
  });
}

TEST_CASE("blocks: the same fits to the bit, and sums that add up to rounding") {
  Problem<double> p(300, 700, 10, 0.4, 0.3, 0.01, 5);  // several tiles, groups and batches
  const auto U = p.near(0.05);
  const Parallel parallel(2);
  const DenseView<double> data(p.X);
  SampleFits<double> whole(10, 700);
  CoordinateSums<double> expected(300, 10), added(300, 10), alone(300, 10);
  fit_samples(U, data, whole, parallel);
  Scatter().weigh(whole, 6);
  add_samples(U, data, whole, expected, parallel);
  const std::vector<uword> cuts = {0, 1, 100, 463, 700};
  for (std::size_t b = 0; b + 1 < cuts.size(); ++b) {
    const uword first = cuts[b], count = cuts[b + 1] - first;
    const DenseView<double> block(p.X.colptr(first), 300, count, 300);
    SampleFits<double> part(10, count);
    fit_samples(U, block, part, parallel);
    const uword last = first + count - 1;
    CHECK(same_bits<double>(part.W, whole.W.cols(first, last)));
    CHECK(same_bits<double>(part.r2, whole.r2.subvec(first, last)));
    CHECK(same_bits<double>(part.count, whole.count.subvec(first, last)));
    part.omega = whole.omega.subvec(first, last);
    CoordinateSums<double> own(300, 10);
    add_samples(U, block, part, own, parallel);
    added += own;
  }
  CHECK(distance(added.sums, expected.sums) <= 1e-12 * arma::abs(expected.sums).max());
  add_samples(U, data, whole, alone, Parallel());
  CHECK(same_bits(alone.sums, expected.sums));
}

TEST_CASE("many batches: no sample is left out, and the number of threads changes no bit") {
  const uword n = 70, m = 2200, d = 62;  // 69 batches, more than one start of the threads takes
  Problem<double> p(n, m, d, 0.3, 0.05, 0.1, 11);
  const auto U = p.near(0.05);
  const DenseView<double> data(p.X);
  const SampleFits<double> fits = weighted_fits(U, data);
  CoordinateSums<double> expected(n, d);
  add_samples(U, data, fits, expected, Parallel());
  for (const uword i : {0u, 40u, 69u}) {
    const arma::vec plain = plain_sums(p.X, U, fits, i);
    CHECK(distance<double>(expected.sums.col(i), plain) <= 1e-12 * arma::abs(plain).max());
  }
  for (const unsigned threads : {2u, 5u}) {
    CoordinateSums<double> rows(n, d);
    add_samples(U, data, fits, rows, Parallel(threads));
    CHECK(same_bits(rows.sums, expected.sums));
  }
}

TEST_CASE("all samples in one block of sums are the sums over all samples, to the bit") {
  Problem<double> p(60, 200, 4, 0.3, 0.3, 0.01, 7);
  const auto U = p.near(0.05);
  const DenseView<double> data(p.X);
  SampleFits<double> fits(4, 200);
  fit_samples(U, data, fits, Parallel());
  Scatter scatter;
  scatter.weigh(fits, 6);
  CoordinateSums<double> expected(60, 4);
  add_samples(U, data, fits, expected, Parallel());
  const auto sums = gasg21::block_sums(U, scatter, data, Parallel(2));
  CHECK(same_bits(sums.coordinates, expected.sums));
  CHECK(same_bits(sums.information, gasg21::information(fits, 60)));
}
