// data/views.hpp: all views of the same data have the same entries.
#include <cstdint>
#include <gasg21/data/observation.hpp>
#include <gasg21/data/views.hpp>
#include <vector>

#include "sparse_support.hpp"

using gasg21::about;
using gasg21::AnySample;
using gasg21::AnyView;
using gasg21::DenseView;
using gasg21::HeldOut;
using gasg21::Observation;
using gasg21::part_of;
using gasg21::SparseSample;
using gasg21::SparseView;
using gasg21::SubsetView;
using gasg21::Usable;
using gasg21::without;
using support::Compressed;
using support::quiet_nan;
using support::Random;
using support::uword;

namespace {

/// 40 x 12, a part of it missing.
arma::mat data(double missing, std::uint64_t seed) {
  Random random(seed);
  arma::mat X = support::gaussian<double>(40, 12, random);
  for (double& entry : X)
    if (random.uniform() < missing) entry = quiet_nan<double>;
  return X;
}

/// The sample as a dense vector with NaN for what is not observed, by each_entry in ranges.
template <class Sample>
arma::vec entries(const Sample& sample, uword n, uword width) {
  arma::vec x(n);
  x.fill(quiet_nan<double>);
  for (uword from = 0; from < n; from += width)
    gasg21::each_entry(sample, from, std::min(n, from + width),
                       [&](uword i, double value, bool observed) {
                         CHECK((i >= from && i < from + width));
                         if (observed) x[i] = value;
                       });
  return x;
}

/// Checks that a sample has the entries of a dense vector, to the bit.
template <class Sample>
void check_same(const Sample& sample, const arma::vec& expected) {
  const uword n = expected.n_elem;
  for (const uword width : {1u, 7u, 40u})
    REQUIRE(support::same_bits<double>(entries(sample, n, width), expected));
  Observation<double> got(n), want(n);
  REQUIRE(got.read(sample) == want.read(gasg21::DenseSample<double>{expected.memptr()}));
  REQUIRE(got.count() == want.count());
  for (uword k = 0; k < got.count(); ++k) {
    REQUIRE(got.rows()[k] == want.rows()[k]);
    REQUIRE(got.values()[k] == want.values()[k]);
  }
}

}  // namespace

TEST_CASE("AnyView has the entries of each view it wraps") {
  for (const double missing : {0.0, 0.4, 0.9}) {
    const arma::mat X = data(missing, 1);
    const Compressed<double, std::int32_t> narrow(X);
    const Compressed<double, std::int64_t> wide(X);
    const AnyView<double> dense = DenseView<double>(X), a = narrow.view(), b = wide.view();
    for (const auto* view : {&dense, &a, &b}) {
      CHECK(view->n_rows == 40);
      CHECK(view->n_cols == 12);
      for (uword j = 0; j < 12; ++j) {
        check_same(view->sample(j), X.col(j));
        CHECK(gasg21::is_sorted(view->sample(j)));
      }
    }
    for (uword j = 0; j < 12; ++j)
      for (uword from = 0; from < 40; from += 5)
        for (const uword to : {from, from + 1, from + 5}) {
          CHECK(gasg21::touches(dense.sample(j), from, to));
          CHECK(gasg21::touches(a.sample(j), from, to) ==
                gasg21::touches(narrow.view().sample(j), from, to));
        }
    CHECK(dense.stored_entries() == 480);
    CHECK(a.stored_entries() == double(narrow.values.size()));
    CHECK(b.stored_entries() == double(narrow.values.size()));
  }
}

TEST_CASE("AnyView keeps a mask and a stride") {
  const arma::mat X = data(0, 2);
  std::vector<unsigned char> mask(480, 1);
  for (uword at = 0; at < 480; at += 3) mask[at] = 0;
  DenseView<double> masked(X.colptr(11), 40, 6, -80);  // every second column, from the last
  masked.mask = mask.data();
  masked.mask_stride = 40;
  const AnyView<double> any = masked;
  for (uword j = 0; j < 6; ++j) {
    arma::vec expected = X.col(11 - 2 * j);
    for (uword i = 0; i < 40; ++i)
      if (!mask[40 * j + i]) expected[i] = quiet_nan<double>;
    check_same(masked.sample(j), expected);
    check_same(any.sample(j), expected);
  }
}

TEST_CASE("with rest_is_zero, entries that are not stored are zero") {
  for (const double missing : {0.0, 0.5, 0.9}) {
    const arma::mat X = data(missing, 3);
    arma::mat filled = X;
    filled.replace(quiet_nan<double>, 0.0);
    Compressed<double, std::int32_t> sparse(X);
    sparse.values[1] = quiet_nan<double>;  // stored and missing stays missing
    filled(uword(sparse.rows[1]), 0) = quiet_nan<double>;
    const auto zeros = sparse.view(true);
    for (uword j = 0; j < 12; ++j) {
      check_same(zeros.sample(j), filled.col(j));
      check_same(AnyView<double>(zeros).sample(j), filled.col(j));
      for (uword from = 0; from < 40; from += 8)
        CHECK(gasg21::touches(zeros.sample(j), from, from + 1));
    }
    CHECK(zeros.stored_entries() == 480);
  }
  const SparseSample<double> empty{nullptr, nullptr, 0, nullptr, true};
  Observation<double> x(40);
  CHECK(x.read(empty) == Usable::zero);
  CHECK_FALSE(gasg21::touches(SparseSample<double>{nullptr, nullptr, 0}, 0, 40));
}

TEST_CASE("a sample touches a range if it stores an entry there") {
  const std::vector<double> values{1, 2, 3};
  const std::vector<std::int32_t> rows{3, 10, 11};
  const SparseSample<double, std::int32_t> x{values.data(), rows.data(), 3};
  for (uword from = 0; from < 14; ++from)
    for (uword to = from; to < 14; ++to) {
      bool stores = false;
      for (const auto row : rows) stores = stores || (uword(row) >= from && uword(row) < to);
      CHECK(gasg21::touches(x, from, to) == stores);
      CHECK(gasg21::touches(AnySample<double>(x), from, to) == stores);
    }
}

TEST_CASE("only rows that rise strictly are sorted") {
  const std::vector<double> values{1, 2, 3};
  const std::vector<std::int64_t> falling{3, 2, 5}, twice{1, 1, 2}, rising{1, 4, 9};
  const auto sorted = [&](const std::vector<std::int64_t>& rows) {
    const SparseSample<double, std::int64_t> x{values.data(), rows.data(), 3};
    CHECK(gasg21::is_sorted(AnySample<double>(x)) == gasg21::is_sorted(x));
    return gasg21::is_sorted(x);
  };
  CHECK(sorted(rising));
  CHECK_FALSE(sorted(falling));
  CHECK_FALSE(sorted(twice));
}

TEST_CASE("without hides entries in every kind of view, and leaves the original") {
  const arma::mat X = data(0.3, 4);
  arma::mat hidden = X, hidden_or_zero = X;
  hidden_or_zero.replace(quiet_nan<double>, 0.0);
  HeldOut held_out;
  held_out.rows[2] = {0, 7, 39};
  held_out.rows[5] = {1};
  for (const auto& [j, rows] : held_out.rows)
    for (const uword i : rows) hidden(i, j) = hidden_or_zero(i, j) = quiet_nan<double>;
  const Compressed<double, std::int32_t> sparse(X);
  const DenseView<double> dense(X);
  const AnyView<double> any_dense = dense, any_sparse = sparse.view();
  for (uword j = 0; j < 12; ++j) {
    check_same(without(dense, held_out).sample(j), hidden.col(j));
    check_same(without(sparse.view(), held_out).sample(j), hidden.col(j));
    check_same(without(sparse.view(true), held_out).sample(j), hidden_or_zero.col(j));
    check_same(without(any_dense, held_out).sample(j), hidden.col(j));
    check_same(without(any_sparse, held_out).sample(j), hidden.col(j));
    check_same(dense.sample(j), X.col(j));
    check_same(any_sparse.sample(j), X.col(j));
  }
  for (const auto& [j, rows] : held_out.rows) {
    check_same(gasg21::with_hidden(dense.sample(j), rows), hidden.col(j));
    check_same(gasg21::with_hidden(any_dense.sample(j), rows), hidden.col(j));
    check_same(gasg21::with_hidden(any_sparse.sample(j), rows), hidden.col(j));
  }
  // A view that hides entries already keeps hiding them as an AnyView.
  check_same(AnyView<double>(without(dense, held_out)).sample(2), hidden.col(2));
}

TEST_CASE("a subset has the chosen columns, in the chosen order, and owns their numbers") {
  const arma::mat X = data(0.3, 5);
  const DenseView<double> view(X);
  std::vector<uword> columns{7, 0, 7, 11};
  const SubsetView<DenseView<double>> subset(view, columns);
  columns.assign(4, 3);
  CHECK(subset.n_rows == 40);
  CHECK(subset.n_cols == 4);
  const std::vector<uword> expected{7, 0, 7, 11};
  for (uword j = 0; j < 4; ++j) check_same(subset.sample(j), X.col(expected[j]));
}

TEST_CASE("a part of the data, and of a subset, has the columns from one number to another") {
  const arma::mat X = data(0.3, 5);
  const DenseView<double> view(X);
  const auto part = part_of(view, 3, 6);
  REQUIRE(part.n_cols == 3);
  for (uword j = 0; j < 3; ++j) check_same(part.sample(j), X.col(3 + j));
  const SubsetView<DenseView<double>> subset(view, {7, 0, 7, 11});
  const SubsetView<DenseView<double>> of_subset = part_of(subset, 1, 4);
  REQUIRE(of_subset.columns == std::vector<uword>{0, 7, 11});
  check_same(of_subset.sample(1), X.col(7));
  CHECK(part_of(subset, 2, 2).n_cols == 0);
}

TEST_CASE(
    "about takes one column of each part, at least as many as asked for and less than twice") {
  const arma::mat X(2, 1000, arma::fill::ones);
  for (const uword m : {1u, 9u, 10u, 11u, 19u, 20u, 25u, 999u, 1000u}) {
    CAPTURE(m);
    const DenseView<double> view(X.memptr(), 2, m, 2);
    const auto some = about(view, 10);
    CHECK(some.n_cols >= std::min<uword>(m, 10));
    CHECK(some.n_cols < 20);
    const uword part = std::max<uword>(1, m / 10);
    for (uword j = 0; j < some.n_cols; ++j) {
      CHECK(some.columns[j] / part == j);
      CHECK(some.columns[j] < m);
    }
    CHECK(some.columns == about(view, 10).columns);
  }
  CHECK(about(DenseView<double>(X.memptr(), 2, 0, 2), 10).n_cols == 0);
}
