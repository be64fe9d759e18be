// data/observation.hpp: all formats of a sample with missing entries give the same bits, at every
// scale.
#include <cmath>
#include <cstdint>
#include <gasg21/data/observation.hpp>
#include <limits>
#include <vector>

#include "instruction_sets.hpp"
#include "support.hpp"

using gasg21::DenseSample;
using gasg21::DenseView;
using gasg21::each_entry;
using gasg21::HeldOut;
using gasg21::Observation;
using gasg21::SparseSample;
using gasg21::SparseView;
using gasg21::Usable;
using support::complaint;
using support::contains;
using support::eps;
using support::gaussian;
using support::only;
using support::quiet_nan;
using support::Random;
using support::random_rows;
using support::uword;

namespace {

template <class T>
arma::Col<T> values_of(const Observation<T>& x) {
  return arma::Col<T>(x.values(), x.count());
}

arma::uvec rows_of(const Observation<double>& x) { return arma::uvec(x.rows(), x.count()); }

/// The observation of a dense vector, NaN = missing.
template <class T>
Observation<T> observe(const arma::Col<T>& x) {
  Observation<T> observation(x.n_elem);
  REQUIRE(observation.read(DenseSample<T>{x.memptr()}) == Usable::yes);
  return observation;
}

template <class T>
Usable usable(const arma::Col<T>& x) {
  return Observation<T>(x.n_elem).read(DenseSample<T>{x.memptr()});
}

}  // namespace

TEST_CASE("NaN, mask, sorted and unsorted sparse entries give the same bits") {
  Random random(1);
  for (const uword n : {5u, 16u, 33u, 100u}) {
    const auto x = support::gaussian<double>(n, random);
    const arma::uvec rows = support::random_rows(n, (2 * n) / 3, random);
    const auto expected = observe<double>(support::only(x, rows));
    CHECK(support::same_bits<uword>(rows_of(expected), rows));

    std::vector<unsigned char> mask(n, 0);
    for (const uword i : rows) mask[i] = 1;
    const arma::vec values = x.elem(rows);
    const std::vector<std::int32_t> narrow(rows.begin(), rows.end());
    const arma::uvec shuffle = random.permutation(rows.n_elem);
    const arma::uvec rows_shuffled = rows.elem(shuffle);
    const arma::vec values_shuffled = values.elem(shuffle);

    const auto check = [&](auto sample) {
      Observation<double> got(n);
      CHECK(got.read(sample) == Usable::yes);
      CHECK(support::same_bits<uword>(rows_of(got), rows));
      CHECK(support::same_bits<double>(values_of(got), values_of(expected)));
      CHECK(got.scale() == expected.scale());
    };
    check(DenseSample<double>{x.memptr(), mask.data()});
    check(SparseSample<double>{values.memptr(), rows.memptr(), rows.n_elem});
    check(SparseSample<double, std::int32_t>{values.memptr(), narrow.data(), rows.n_elem});
    check(SparseSample<double>{values_shuffled.memptr(), rows_shuffled.memptr(), rows.n_elem});
  }
}

TEST_CASE("a stored NaN is missing, even if the mask or a sparse index includes it") {
  const arma::vec x = {3, quiet_nan<double>, 4};
  const unsigned char all[] = {1, 1, 1};
  const arma::uvec rows = {0, 1, 2};
  Observation<double> observation(3);
  observation.read(DenseSample<double>{x.memptr(), all});
  CHECK(support::same_bits<uword>(rows_of(observation), arma::uvec{0, 2}));
  observation.read(SparseSample<double>{x.memptr(), rows.memptr(), 3});
  CHECK(support::same_bits<uword>(rows_of(observation), arma::uvec{0, 2}));
  CHECK_FALSE(observation.full());
  CHECK(observation.scale() == 5);
}

TEST_CASE_TEMPLATE("x is scale times values, and values has unit norm", T, double, float) {
  Random random(2);
  const auto x = support::gaussian<T>(50, random);
  const auto observation = observe<T>(x);
  CHECK(observation.full());
  CHECK(double(arma::norm(values_of(observation))) == doctest::Approx(1).epsilon(4 * eps<T>));
  CHECK(double(observation.scale()) == doctest::Approx(double(arma::norm(x))).epsilon(8 * eps<T>));
  for (uword i = 0; i < 50; ++i)
    CHECK(double(observation.scaled(observation.values()[i])) ==
          doctest::Approx(double(x[i])).epsilon(4 * eps<T>));
}

TEST_CASE("spherizing removes any scale from 1e-300 to 1e300") {
  Random random(3);
  const arma::vec x = support::gaussian<double>(30, random);
  const auto expected = observe<double>(x);
  for (int k = -300; k <= 300; k += 20) {
    CAPTURE(k);
    const double scale = std::pow(10.0, k);
    const auto got = observe<double>(x * scale);
    // Multiplying by a power of ten rounds each entry once.
    CHECK(support::distance<double>(values_of(got), values_of(expected)) <= 4 * eps<double>);
    CHECK(got.scale() / scale == doctest::Approx(expected.scale()).epsilon(1e-14));
  }
}

TEST_CASE_TEMPLATE("a power of two changes no bit of the values", T, double, float) {
  Random random(4);
  const auto x = support::gaussian<T>(30, random);
  const auto expected = observe<T>(x);
  const int reach = std::numeric_limits<T>::max_exponent - 5;
  for (const int k : {-reach / 2, -31, -1, 1, 30, reach}) {
    CAPTURE(k);
    arma::Col<T> y = x;
    for (T& entry : y) entry = std::ldexp(entry, k);
    CHECK(support::same_bits<T>(values_of(observe<T>(y)), values_of(expected)));
  }
}

TEST_CASE_TEMPLATE("denormal numbers are spherized exactly", T, double, float) {
  const T tiny = std::numeric_limits<T>::denorm_min();
  const auto expected = observe<T>({1, 2, -2});
  const auto got = observe<T>({tiny, 2 * tiny, -2 * tiny});
  CHECK(support::same_bits<T>(values_of(got), values_of(expected)));
  CHECK(got.scale() == 3 * tiny);
}

TEST_CASE_TEMPLATE("a norm that overflows does not change the values", T, double, float) {
  const T largest = std::numeric_limits<T>::max();
  const auto observation = observe<T>({largest, largest, -largest, largest});
  CHECK(std::isinf(observation.scale()));
  for (uword i = 0; i < 4; ++i)
    CHECK(std::abs(double(observation.values()[i])) == doctest::Approx(0.5).epsilon(2 * eps<T>));
  CHECK(double(observation.scaled(T(0.5)) / largest) == doctest::Approx(1).epsilon(2 * eps<T>));
}

TEST_CASE_TEMPLATE("a sample that cannot be spherized is classified", T, double, float) {
  const T inf = std::numeric_limits<T>::infinity();
  CHECK(usable<T>({0, 0, T(-0.0)}) == Usable::zero);
  CHECK(usable<T>({0, quiet_nan<T>, 0}) == Usable::zero);
  CHECK(usable<T>({quiet_nan<T>, quiet_nan<T>, quiet_nan<T>}) == Usable::all_missing);
  CHECK(usable<T>({1, inf, 2}) == Usable::not_finite);
  CHECK(usable<T>({quiet_nan<T>, -inf, 0}) == Usable::not_finite);
  CHECK(usable<T>({0, 1, quiet_nan<T>}) == Usable::yes);

  Observation<T> observation(3);
  const unsigned char mask[] = {1, 0, 1}, none[] = {0, 0, 0};
  const arma::Col<T> x = {1, inf, 2};
  CHECK(observation.read(DenseSample<T>{x.memptr(), mask}) == Usable::yes);  // inf is not observed
  CHECK(observation.read(DenseSample<T>{x.memptr(), none}) == Usable::all_missing);
  CHECK(observation.read(SparseSample<T>{nullptr, nullptr, 0}) == Usable::all_missing);
}

TEST_CASE("a sparse sample with invalid rows is refused") {
  const double values[] = {1, 2, 3, 4};
  const auto reading = [&](std::vector<std::int64_t> rows) {
    return complaint([&] {
      Observation<double>(3).read(
          SparseSample<double, std::int64_t>{values, rows.data(), rows.size()});
    });
  };
  CHECK(reading({2, 0, 1}).empty());
  CHECK(contains(reading({0, 3}), "row index 3 "));
  CHECK(contains(reading({0, -1}), "row index -1 "));
  CHECK(contains(reading({0, 1, 1}), "row index 1 appears twice"));
  CHECK(contains(reading({2, 0, 2}), "row index 2 appears twice"));
  CHECK(contains(reading({0, 1, 2, 0}), "4 entries"));
}

TEST_CASE("a dense view uses its strides") {
  const arma::mat X = {{1, 3, 5}, {2, 4, 6}};
  CHECK(DenseView<double>(X).sample(2).values[1] == 6);
  CHECK(DenseView<double>(X).sample(2).mask == nullptr);
  const DenseView<double> backwards(X.colptr(2), 2, 3, -2);
  CHECK(backwards.sample(0).values[0] == 5);
  CHECK(backwards.sample(2).values[1] == 2);
  const unsigned char mask[] = {1, 1, 0, 1, 1, 0};
  DenseView<double> masked(X);
  masked.mask = mask + 4;
  masked.mask_stride = -2;
  CHECK(masked.sample(0).mask == mask + 4);
  CHECK(masked.sample(2).mask == mask);
}

TEST_CASE("a sparse view splits its columns at the offsets") {
  const double values[] = {1, 2, 3};
  const std::int32_t rows[] = {0, 4, 2}, offsets[] = {0, 2, 2, 3};
  const SparseView<double, std::int32_t> view{values, rows, offsets, 5, 3};
  CHECK(view.sample(0).count == 2);
  CHECK(view.sample(1).count == 0);
  REQUIRE(view.sample(2).count == 1);
  CHECK(view.sample(2).values[0] == 3);
  CHECK(view.sample(2).rows[0] == 2);
}

TEST_CASE_TEMPLATE("the sample times the factors gives the values, at every scale", T, double,
                   float) {
  Random random(5);
  const auto x = support::gaussian<T>(30, random);
  const int reach = std::numeric_limits<T>::max_exponent - 5;
  for (const int k : {-reach, -reach / 2, -3, 0, 7, reach}) {
    CAPTURE(k);
    arma::Col<T> y = x;
    for (T& entry : y) entry = std::ldexp(entry, k);
    const auto observation = observe<T>(y);
    const auto [first, second] = observation.factors();
    for (uword i = 0; i < 30; ++i)  // two roundings apart
      CHECK(std::abs(double((y[i] * first) * second - observation.values()[i])) <=
            2 * double(eps<T>) * std::abs(double(observation.values()[i])));
  }
  const T tiny = std::numeric_limits<T>::denorm_min(), huge = std::numeric_limits<T>::max();
  for (const T extreme : {tiny, huge}) {
    const auto [first, second] = observe<T>({extreme, -extreme}).factors();
    CHECK(double((extreme * first) * second) == doctest::Approx(std::sqrt(0.5)).epsilon(eps<T>));
  }
}

TEST_CASE_TEMPLATE("the missing rows and the filled entries are those of the values", T, double,
                   float) {
  support::for_each_set([] {
    Random random(12);
    for (const uword n : {1, 7, 16, 33, 100})
      for (const uword observed : {n, n - n / 3, (n + 1) / 2}) {
        CAPTURE(n);
        CAPTURE(observed);
        const arma::Col<T> x = only<T>(gaussian<T>(n, random), random_rows(n, observed, random));
        Observation<T> found(n);
        REQUIRE(found.read(DenseSample<T>{x.memptr()}) == Usable::yes);
        arma::Col<T> expected(n, arma::fill::zeros);
        for (uword k = 0; k < found.count(); ++k) expected[found.rows()[k]] = found.values()[k];
        const T* filled = found.filled();
        for (uword i = 0; i < n; ++i) CHECK(filled[i] == expected[i]);
        const uword* missing = found.missing();
        uword next = 0;
        for (uword i = 0; i < n; ++i)
          if (std::isnan(x[i])) CHECK(missing[next++] == i);
        CHECK(next == n - found.count());
      }
  });
}

TEST_CASE("a held-out entry counts as missing, in dense and sparse data") {
  Random random(6);
  const uword n = 40;
  arma::mat X = support::gaussian<double>(n, 3, random);
  X(5, 1) = quiet_nan<double>;
  HeldOut held_out;
  held_out.rows[1] = {0, 3, 5, 17, 39};  // row 5 is missing anyway
  held_out.rows[2] = {};
  arma::mat without = X;
  for (const uword i : held_out.rows[1]) without(i, 1) = quiet_nan<double>;

  DenseView<double> dense(X);
  dense.held_out = &held_out;
  const arma::uvec rows = arma::repmat(arma::regspace<arma::uvec>(0, n - 1), 3, 1);
  const arma::uvec offsets = {0, n, 2 * n, 3 * n};
  const auto sparse = gasg21::without(
      SparseView<double, uword>{X.memptr(), rows.memptr(), offsets.memptr(), n, 3}, held_out);
  CHECK(dense.sample(0).hidden == nullptr);
  CHECK(dense.sample(1).hidden == &held_out.rows[1]);
  CHECK(sparse.sample(1).hidden == &held_out.rows[1]);
  Observation<double> got(n);
  for (uword j = 0; j < 3; ++j) {
    const auto expected = observe<double>(without.col(j));
    const auto check = [&](const auto& sample) {
      REQUIRE(got.read(sample) == Usable::yes);
      CHECK(support::same_bits<uword>(rows_of(got), rows_of(expected)));
      CHECK(support::same_bits<double>(values_of(got), values_of(expected)));
    };
    check(dense.sample(j));
    check(sparse.sample(j));
  }
  // If all entries are held out, the sample has none.
  held_out.rows[0].resize(n);
  for (uword i = 0; i < n; ++i) held_out.rows[0][i] = i;
  CHECK(got.read(dense.sample(0)) == Usable::all_missing);
  CHECK(got.read(sparse.sample(0)) == Usable::all_missing);
}

TEST_CASE("each_entry visits the entries that an observation keeps, in each range") {
  Random random(7);
  const uword n = 50;
  const arma::vec x = support::gaussian<double>(n, random);
  const arma::uvec rows = support::random_rows(n, 30, random);
  const arma::vec dense = support::only(x, rows);
  arma::vec values = x.elem(rows);
  values[4] = quiet_nan<double>;  // stored, but missing
  std::vector<unsigned char> mask(n, 1);
  mask[rows[7]] = 0;
  const std::vector<uword> hidden = {rows[2], rows[20]};
  const std::vector<std::int32_t> narrow(rows.begin(), rows.end());

  const auto check = [&](const auto& sample) {
    Observation<double> whole(n);
    REQUIRE(whole.read(sample) == Usable::yes);
    for (const uword width : {1u, 7u, 50u}) {  // consecutive ranges visit each entry once
      std::vector<uword> visited;
      for (uword from = 0; from < n; from += width)
        each_entry(sample, from, std::min(n, from + width),
                   [&](uword i, double value, bool observed) {
                     CHECK(i >= from);
                     CHECK(i < from + width);
                     if (!observed) return;
                     CHECK(value == x[i]);
                     visited.push_back(i);
                   });
      CHECK(support::same_bits<uword>(arma::uvec(visited), rows_of(whole)));
    }
  };
  check(DenseSample<double>{dense.memptr()});
  check(DenseSample<double>{dense.memptr(), mask.data(), &hidden});
  check(SparseSample<double, std::int32_t>{values.memptr(), narrow.data(), 30});
  check(SparseSample<double, std::int32_t>{values.memptr(), narrow.data(), 30, &hidden});
}
