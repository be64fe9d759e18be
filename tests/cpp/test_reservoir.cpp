// stream/reservoir.hpp: which vectors are kept, and whether the order of a stream matters.
#include <gasg21/stream/reservoir.hpp>
#include <limits>
#include <set>

#include "support.hpp"

using gasg21::DenseSample;
using gasg21::Observation;
using gasg21::Reservoir;
using gasg21::ReservoirState;
using support::uword;

namespace {

constexpr uword n = 40;

template <class T>
bool arrive(Reservoir<T>& reservoir, const arma::Col<T>& x) {
  Observation<T> observed(n);
  observed.read(DenseSample<T>{x.memptr()});
  return reservoir.arrive(observed);
}

}  // namespace

TEST_CASE_TEMPLATE("no capacity, no reservoir", T, double, float) {
  Reservoir<T> reservoir(n, 0);
  support::Random random(1);
  for (int i = 0; i < 10; ++i) CHECK_FALSE(arrive<T>(reservoir, support::gaussian<T>(n, random)));
  CHECK(reservoir.size() == 0);
}

TEST_CASE_TEMPLATE("the memory grows with the vectors, not with the capacity", T, double, float) {
  Reservoir<T> reservoir(n, uword(1) << 40);
  support::Random random(1);
  for (int i = 0; i < 100; ++i) arrive<T>(reservoir, support::gaussian<T>(n, random));
  CHECK(reservoir.size() == 100);
  CHECK(reservoir.state().kept.capacity() <= 300 * n);
}

TEST_CASE_TEMPLATE("updates are drawn while vectors are like the one before", T, double, float) {
  support::Random random(2);
  Reservoir<T> reservoir(n, 16);
  arma::Col<T> x = support::gaussian<T>(n, random);
  int drawn = 0;
  for (int i = 0; i < 2000; ++i) {
    x = T(0.99) * x + T(0.14) * support::gaussian<T>(n, random);
    drawn += arrive<T>(reservoir, x);
  }
  CHECK(drawn == 2000 - 15);  // from the one that fills it on
  CHECK(reservoir.is_drawing());
}

TEST_CASE_TEMPLATE("independent vectors are used as they come", T, double, float) {
  support::Random random(3);
  Reservoir<T> reservoir(n, 16);
  int drawn = 0, late = 0;
  for (int i = 0; i < 4000; ++i) {
    const bool now = arrive<T>(reservoir, support::gaussian<T>(n, random));
    drawn += now;
    late += now && i > 1000;
  }
  CHECK(drawn > 0);  // it first assumes that the order matters
  CHECK(drawn < 1000);
  CHECK(late < 100);
}

TEST_CASE("it keeps vectors of the whole past at first, and renews them later") {
  Reservoir<double> reservoir(n, 32);
  for (int i = 1; i <= 1000; ++i) arrive<double>(reservoir, arma::vec(n, arma::fill::value(i)));
  std::set<double> kept;
  for (uword k = 0; k < 32; ++k) kept.insert(reservoir.state().kept[k * n]);
  CHECK(kept.size() == 32);
  CHECK(*kept.begin() < 300);
  CHECK(*kept.rbegin() > 700);
  for (int i = 1001; i <= 60'000; ++i)
    arrive<double>(reservoir, arma::vec(n, arma::fill::value(i)));
  kept.clear();
  for (uword k = 0; k < 32; ++k) kept.insert(reservoir.state().kept[k * n]);
  CHECK(*kept.begin() > 60'000 - 10 * 3200);  // it reaches back 32 / 0.01 vectors, give or take
}

TEST_CASE("missing entries are left out of the comparison") {
  support::Random random(4);
  Reservoir<double> reservoir(n, 16);
  arma::vec x = support::gaussian<double>(n, random);
  for (int i = 0; i < 1500; ++i) {
    x = 0.99 * x + 0.14 * support::gaussian<double>(n, random);
    arma::vec seen = x;
    for (double& entry : seen)
      if (random.uniform() < 0.5) entry = arma::datum::nan;
    arrive<double>(reservoir, seen);
  }
  CHECK(reservoir.is_drawing());
}

TEST_CASE_TEMPLATE("a row that all vectors lack counts like one that is zero in all", T, double,
                   float) {
  support::Random random(6);
  Reservoir<T> lacking(n, 16), zero(n, 16);
  arma::Col<T> x = support::gaussian<T>(n, random);
  for (int i = 0; i < 300; ++i) {
    x = T(0.8) * x + T(0.6) * support::gaussian<T>(n, random);
    arma::Col<T> seen = x;
    seen[7] = seen[20] = 0;
    arrive<T>(zero, seen);
    seen[7] = seen[20] = std::numeric_limits<T>::quiet_NaN();
    arrive<T>(lacking, seen);
    CHECK(lacking.state().likeness == zero.state().likeness);
  }
  CHECK(lacking.state().likeness > 0.5);
  CHECK(lacking.state().likeness < 1);
}

TEST_CASE("a reservoir resumes from its state, and refuses another one") {
  support::Random random(5);
  Reservoir<double> reservoir(n, 16);
  for (int i = 0; i < 333; ++i) arrive<double>(reservoir, support::gaussian<double>(n, random));
  Reservoir<double> again(reservoir.state());
  for (int i = 0; i < 300; ++i) {
    const arma::vec x = support::gaussian<double>(n, random);
    CHECK(arrive<double>(reservoir, x) == arrive<double>(again, x));
  }
  CHECK(reservoir.state().kept == again.state().kept);
  CHECK(reservoir.state().likeness == again.state().likeness);
  ReservoirState<double> broken = reservoir.state();
  broken.kept.pop_back();
  CHECK_THROWS_AS(Reservoir<double>{broken}, std::invalid_argument);
}
