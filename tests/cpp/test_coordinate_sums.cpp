// row_sums.hpp: the sums are what they are called, over any division of the data.
#include <gasg21/polish/coordinate_sums.hpp>
#include <vector>

#include "instruction_sets.hpp"
#include "polish_support.hpp"

using gasg21::add_block;
using gasg21::CoordinateSums;
using gasg21::DenseView;
using gasg21::fit_block;
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
  REQUIRE(fit_block(U, data, 0, fits, Parallel()));
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
      p.X.row(5).fill(support::quiet_nan<T>);  // a coordinate that nobody observes
      const auto U = p.near(0.05);
      const DenseView<T> data(p.X);
      const SampleFits<T> fits = weighted_fits(U, data);
      CoordinateSums<T> rows(97, d);
      REQUIRE(add_block(U, data, 0, fits, rows, Parallel()));
      for (uword i = 0; i < 97; ++i) {
        const arma::vec expected = plain_sums(p.X, U, fits, i);
        const arma::vec sums = arma::conv_to<arma::vec>::from(rows.sums.col(i));
        REQUIRE(distance<double>(sums, expected) <= tolerance * (1 + arma::abs(expected).max()));
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
      add_block(U, dense, 0, fits, expected, Parallel());

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
      add_block(U, with_mask, 0, fits, masked, Parallel());
      add_block(U, with_hidden, 0, fits, held_out, Parallel());
      add_block(U, stored, 0, fits, sparse, Parallel());
      CHECK(same_bits(masked.sums, expected.sums));
      CHECK(same_bits(held_out.sums, expected.sums));
      CHECK(same_bits(sparse.sums, expected.sums));
    }
  });
}

TEST_CASE("data in blocks: fits and sums in place to the bit, added sums to rounding") {
  Problem<double> p(300, 700, 10, 0.4, 0.3, 0.01, 5);  // several tiles, groups and blocks
  const auto U = p.near(0.05);
  const Parallel parallel(2);
  SampleFits<double> whole(10, 700), parts(10, 700);
  CoordinateSums<double> expected(300, 10), in_place(300, 10), added(300, 10);
  REQUIRE(fit_block(U, DenseView<double>(p.X), 0, whole, parallel));
  Scatter().weigh(whole, 6);
  REQUIRE(add_block(U, DenseView<double>(p.X), 0, whole, expected, parallel));
  const std::vector<uword> cuts = {0, 1, 100, 463, 700};
  const auto each_block = [&](auto&& act) {
    for (std::size_t b = 0; b + 1 < cuts.size(); ++b)
      act(DenseView<double>(p.X.colptr(cuts[b]), 300, cuts[b + 1] - cuts[b], 300), cuts[b]);
  };
  each_block([&](const auto& block, uword first) { fit_block(U, block, first, parts, parallel); });
  CHECK(same_bits(parts.W, whole.W));
  CHECK(same_bits<double>(parts.r2, whole.r2));
  CHECK(same_bits<double>(parts.count, whole.count));
  Scatter().weigh(parts, 6);
  each_block([&](const auto& block, uword first) {
    add_block(U, block, first, parts, in_place, parallel);
    CoordinateSums<double> own(300, 10);
    add_block(U, block, first, parts, own, parallel);
    added += own;
  });
  CHECK(same_bits(in_place.sums, expected.sums));
  CHECK(distance(added.sums, expected.sums) <= 1e-12 * arma::abs(expected.sums).max());
  CoordinateSums<double> alone(300, 10);
  add_block(U, DenseView<double>(p.X), 0, whole, alone, Parallel());
  CHECK(same_bits(alone.sums, expected.sums));
}
