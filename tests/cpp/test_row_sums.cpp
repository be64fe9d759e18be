// row_sums.hpp: the sums are what they are called, over any division of the data.
#include <gasg21/row_sums.hpp>
#include <vector>

#include "polish_support.hpp"

using gasg21::add_block;
using gasg21::DenseView;
using gasg21::fit_block;
using gasg21::Parallel;
using gasg21::RowSums;
using gasg21::SampleFits;
using gasg21::Scatter;
using support::distance;
using support::Problem;
using support::same_bits;
using support::uword;

TEST_CASE("the sums of a coordinate are those over the samples that observe it") {
  for (const uword d : {1u, 3u, 7u, 12u}) {
    CAPTURE(d);
    Problem<double> p(70, 150, d, 0.4, 0.5, 0.1, 9);
    p.X.row(5).fill(support::quiet_nan<double>);  // a coordinate that nobody observes
    const auto U = p.near(0.05);
    const DenseView<double> data(p.X);
    SampleFits<double> fits(d, 150);
    REQUIRE(fit_block(U, data, 0, fits, Parallel()));
    Scatter().weigh(fits, 3);
    RowSums<double> rows(70, d);
    REQUIRE(add_block(U, data, 0, fits, rows, Parallel()));
    for (uword i = 0; i < 70; ++i) {
      arma::mat A(d, d, arma::fill::zeros);
      arma::vec b(d, arma::fill::zeros);
      for (uword j = 0; j < 150; ++j) {
        if (std::isnan(p.X(i, j))) continue;
        const arma::vec column = p.X.col(j), seen = column.elem(arma::find_finite(column));
        const arma::vec w = fits.W.col(j);
        A += fits.omega[j] * w * w.t();
        b += fits.omega[j] * w * (p.X(i, j) / arma::norm(seen) - arma::dot(U.row(i), w));
      }
      arma::vec expected;
      for (uword c = 0; c < d; ++c)
        expected = arma::join_cols(expected, arma::vec(A.col(c).tail(d - c)));
      expected = arma::join_cols(expected, b);
      REQUIRE(distance<double>(rows.sums.col(i), expected) <= 1e-11 * (1 + A.max()));
    }
  }
}

TEST_CASE("data in blocks: fits and sums in place to the bit, added sums to rounding") {
  Problem<double> p(300, 700, 10, 0.4, 0.3, 0.01, 5);  // several tiles, groups and blocks
  const auto U = p.near(0.05);
  const Parallel parallel(2);
  SampleFits<double> whole(10, 700), parts(10, 700);
  RowSums<double> expected(300, 10), in_place(300, 10), added(300, 10);
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
    RowSums<double> own(300, 10);
    add_block(U, block, first, parts, own, parallel);
    added += own;
  });
  CHECK(same_bits(in_place.sums, expected.sums));
  CHECK(distance(added.sums, expected.sums) <= 1e-12 * arma::abs(expected.sums).max());
}
