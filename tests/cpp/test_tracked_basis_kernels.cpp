// kernels/tracked_basis.hpp, row_major_basis.hpp, observe.hpp and small_solve.hpp: each kernel
// equals its Armadillo expression, for every instruction set, at sizes around registers, tiles and
// chunks.
#include <cmath>
#include <gasg21/kernels/observe.hpp>
#include <gasg21/kernels/row_major_basis.hpp>
#include <gasg21/kernels/small_solve.hpp>
#include <gasg21/kernels/tracked_basis.hpp>
#include <gasg21/support/aligned.hpp>
#include <vector>

#include "instruction_sets.hpp"
#include "support.hpp"

using gasg21::Aligned;
using gasg21::whole_blocks;
using support::distance;
using support::eps;
using support::gaussian;
using support::quiet_nan;
using support::Random;
using support::uword;
namespace kernels = gasg21::kernels;

namespace {

const std::vector<uword> widths = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 20, 31, 32, 34};
const std::vector<uword> heights = {3, 8, 17, 64, 100, 301, 850, 1301};  // beyond a chunk

/// A matrix in the layout of the kernels.
template <class T>
struct Blocks {
  uword n, d;
  Aligned<T> memory;

  explicit Blocks(const arma::Mat<T>& U)
      : n(U.n_rows), d(U.n_cols), memory(whole_blocks<T>(n) * d, T(0)) {
    for (uword i = 0; i < n; ++i)
      for (uword c = 0; c < d; ++c) memory[at(i, c)] = U(i, c);
  }
  arma::Mat<T> matrix() const {
    arma::Mat<T> U(n, d);
    for (uword i = 0; i < n; ++i)
      for (uword c = 0; c < d; ++c) U(i, c) = memory[at(i, c)];
    return U;
  }
  uword count() const { return whole_blocks<T>(n) / kernels::block_rows<T>; }
  bool padding_is_zero() const {
    for (uword i = n; i < whole_blocks<T>(n); ++i)
      for (uword c = 0; c < d; ++c)
        if (memory[at(i, c)] != 0) return false;
    return true;
  }

 private:
  uword at(uword i, uword c) const {
    constexpr uword L = kernels::block_rows<T>;
    return (i / L * d + c) * L + i % L;
  }
};

template <class T>
Aligned<T> padded(const arma::Col<T>& x) {
  Aligned<T> memory(whole_blocks<T>(x.n_elem), T(0));
  std::copy(x.begin(), x.end(), memory.begin());
  return memory;
}

template <class T>
arma::Col<T> column(const Aligned<T>& memory, uword n) {
  return arma::Col<T>(memory.data(), n);
}

/// Entries of order 1, so that a sum of n products is good to about n eps.
template <class T>
double rounding(uword n) {
  return 40 * (double(n) + 10) * double(eps<T>);
}

template <class T>
struct Case {
  arma::Mat<T> U;
  arma::Col<T> x, zero_filled, e, v, z, y;
  arma::uvec omega;
  Random random;

  Case(uword n, uword d, double missing) : random(n * 100 + d) {
    U = gaussian<T>(n, d, random);
    x = gaussian<T>(n, random);
    e = gaussian<T>(n, random);
    v = arma::normalise(gaussian<T>(d, random));
    z = gaussian<T>(d, random);
    y = gaussian<T>(d, random);
    for (T& entry : x)
      if (random.uniform() < missing) entry = quiet_nan<T>;
    omega = arma::find_finite(x);
    zero_filled = x;
    zero_filled.replace(quiet_nan<T>, T(0));
  }
};

template <class Act>
void for_cases(Act&& act) {
  support::for_each_set([&] {
    for (const uword d : widths)
      for (const uword n : heights) {
        if (n <= d) continue;
        CAPTURE(n);
        CAPTURE(d);
        for (const double missing : {0.0, 0.3}) act(n, d, missing);
      }
  });
}

}  // namespace

TEST_CASE_TEMPLATE("sums applies the step, then sums over the observed entries", T, double, float) {
  for_cases([](uword n, uword d, double missing) {
    const Case<T> c(n, d, missing);
    for (const int kind : {0, 1, 2, 3}) {  // no step, with e = r, r - U y, r - y_over_z U z
      CAPTURE(kind);
      Blocks<T> U(c.U);
      arma::Col<T> r = c.e;  // NaN where the last vector was not observed
      if (kind > 0 && missing > 0) r.elem(arma::find(c.e > T(0.7))).fill(quiet_nan<T>);
      Aligned<T> e = padded(r);
      const Aligned<T> x = padded(c.x);
      arma::Mat<T> G(d, d, arma::fill::zeros), expected = c.U;
      arma::Col<T> b(d), direction = r;
      Aligned<T> scratch(kernels::sums_scratch<T>(d));
      const T z_factor = T(-0.125), e_factor = T(0.5), scale = T(0.25),
              y_over_z = T(kind == 3 ? 0.75 : 0);
      const kernels::PendingStep<T> step{
          e.data(), c.v.memptr(), c.z.memptr(), kind == 2 ? c.y.memptr() : nullptr,
          z_factor, e_factor,     scale,        y_over_z};
      if (kind > 0) direction = scale * (r - y_over_z * c.U * c.z);
      if (kind == 2) direction = scale * (r - c.U * c.y);
      direction.replace(quiet_nan<T>, T(0));
      if (kind > 0) expected += (z_factor * c.U * c.z + e_factor * direction) * c.v.t();
      const T xe = kernels::tracked_basis_kernels<T>(d).sums(
          {U.memory.data(), U.count(), d, kind > 0 ? &step : nullptr, e.data(), x.data(), x.data(),
           missing > 0 ? G.memptr() : nullptr, b.memptr(), scratch.data()});
      const double tolerance = rounding<T>(n + d);
      CHECK(distance(U.matrix(), expected) <= tolerance);
      CHECK(U.padding_is_zero());
      CHECK(distance<T>(column(e, n), direction) <= tolerance);
      CHECK(distance<T>(b, expected.t() * c.zero_filled) <= 8 * tolerance);
      const arma::Mat<T> seen = expected.rows(c.omega);
      if (missing > 0)
        CHECK(distance<T>(arma::trimatl(G), arma::trimatl(seen.t() * seen)) <= 30 * tolerance);
      else
        CHECK(std::abs(double(xe - arma::dot(direction, c.x))) <= 8 * tolerance);
    }
  });
}

TEST_CASE_TEMPLATE("sums of the missing rows or of the observed ones, and of the direction", T,
                   double, float) {
  for_cases([](uword n, uword d, double missing) {
    const auto& kernels = kernels::tracked_basis_kernels<T>(d);
    if (missing == 0 || !kernels.finds_direction) return;
    const Case<T> c(n, d, missing);
    for (const bool most : {false, true})  // of x is observed
      for (const bool moving : {false, true}) {
        CAPTURE(most);
        CAPTURE(moving);
        Blocks<T> U(c.U);
        Aligned<T> e = padded(c.e);
        const Aligned<T> x = padded(c.x);
        arma::Mat<T> G(d, d, arma::fill::zeros), moved = c.U;
        arma::Col<T> b(d), Ue(d), direction = c.e;
        Aligned<T> scratch(kernels::sums_scratch<T>(d));
        const kernels::PendingStep<T> step{e.data(), c.v.memptr(), c.z.memptr(), c.y.memptr(),
                                           T(-0.1),  T(0.4),       T(0.3),       T(0)};
        if (moving) {
          direction = T(0.3) * (c.e - c.U * c.y);
          moved += (T(-0.1) * c.U * c.z + T(0.4) * direction) * c.v.t();
        }
        const T xe = kernels.sums({U.memory.data(), U.count(), d, moving ? &step : nullptr,
                                   e.data(), x.data(), x.data(), G.memptr(), b.memptr(),
                                   scratch.data(), Ue.memptr(), most ? c.z.memptr() : nullptr});
        // Nothing here is orthonormal: I less the sum over the missing rows is another number.
        const bool subtracts = most && kernels.subtracts;
        const arma::uvec rows = subtracts ? arma::find_nonfinite(c.x) : c.omega;
        const arma::Mat<T> part = moved.rows(rows);
        const arma::Col<T> part_of_e = direction.elem(rows);
        arma::Mat<T> expected = part.t() * part;
        arma::Col<T> expected_Ue = part.t() * part_of_e;
        if (subtracts) {
          expected = arma::eye<arma::Mat<T>>(d, d) - expected;
          expected_Ue = c.z - expected_Ue;
        }
        const double tolerance = rounding<T>(n + d);
        CHECK(distance(U.matrix(), moved) <= tolerance);
        CHECK(distance<T>(arma::trimatl(G), arma::trimatl(expected)) <= 30 * tolerance);
        CHECK(distance<T>(Ue, expected_Ue) <= 30 * tolerance);
        CHECK(distance<T>(b, moved.t() * c.zero_filled) <= 8 * tolerance);
        CHECK(std::abs(double(xe - arma::dot(direction, c.zero_filled))) <= 8 * tolerance);
      }
  });
}

TEST_CASE_TEMPLATE("apply takes the same step as sums, to the bit", T, double, float) {
  for_cases([](uword n, uword d, double missing) {
    const Case<T> c(n, d, missing);
    arma::Col<T> Ue(d);
    for (const int kind : {0, 1, 2, 3}) {
      CAPTURE(kind);  // with y or without; finding U_Omega'e or not
      const T* const y = kind % 2 == 0 ? c.y.memptr() : nullptr;
      Blocks<T> U(c.U), V(c.U);
      Aligned<T> e = padded(c.e), f = e;
      const Aligned<T> x = padded(c.x);
      arma::Mat<T> G(d, d);
      arma::Col<T> b(d);
      Aligned<T> scratch(kernels::sums_scratch<T>(d));
      kernels::PendingStep<T> step{e.data(), c.v.memptr(), c.z.memptr(), y,
                                   T(-0.1),  T(0.4),       T(0.3),       T(0.2)};
      kernels::tracked_basis_kernels<T>(d).sums({U.memory.data(), U.count(), d, &step, e.data(),
                                                 x.data(), x.data(),
                                                 missing > 0 ? G.memptr() : nullptr, b.memptr(),
                                                 scratch.data(), kind > 1 ? Ue.memptr() : nullptr});
      step.e = f.data();
      kernels::tracked_basis_kernels<T>(d).apply(V.memory.data(), V.count(), d, step);
      CHECK(support::same_bits(U.matrix(), V.matrix()));
      CHECK(support::same_bits<T>(column(e, n), column(f, n)));
    }
  });
}

TEST_CASE_TEMPLATE("residual is x - U w on Omega and NaN elsewhere", T, double, float) {
  for_cases([](uword n, uword d, double missing) {
    const Case<T> c(n, d, missing);
    const Blocks<T> U(c.U);
    const Aligned<T> x = padded(c.x), e = padded(c.e);
    Aligned<T> r(x.size(), T(7)), q(d * kernels::block_rows<T>);
    T products[2];
    kernels::tracked_basis_kernels<T>(d).residual(U.memory.data(), U.count(), d, c.v.memptr(),
                                                  x.data(), e.data(), r.data(), q.data(), products);
    arma::Col<T> expected(n, arma::fill::zeros);
    expected.elem(c.omega) = c.x.elem(c.omega) - c.U.rows(c.omega) * c.v;
    const double tolerance = 8 * rounding<T>(n);
    arma::Col<T> got = column(r, n);
    CHECK(support::same_bits<uword>(arma::find_finite(got), c.omega));
    got.replace(quiet_nan<T>, T(0));
    CHECK(distance<T>(got, expected) <= tolerance);
    CHECK(distance<T>(arma::Col<T>(q.data(), d), c.U.t() * expected) <= tolerance);
    CHECK(std::abs(double(products[0] - arma::dot(expected, expected))) <= tolerance);
    CHECK(std::abs(double(products[1] - arma::dot(expected, c.e))) <= tolerance);
  });
}

TEST_CASE_TEMPLATE("observe counts, squares and copies; compact keeps the observed entries", T,
                   double, float) {
  support::for_each_set([] {
    for (uword n = 1; n <= 70; ++n)
      for (const double missing : {0.0, 0.4, 1.0}) {
        CAPTURE(n);
        const Case<T> c(n, 1, missing);
        std::vector<T> copy(n), values(n + 8);
        std::vector<uword> rows(n + 8);
        uword count = 99;
        const T square = kernels::observe(c.x.memptr(), n, copy.data(), count);
        CHECK(count == c.omega.n_elem);
        CHECK(double(square) == doctest::Approx(double(arma::dot(c.zero_filled, c.zero_filled)))
                                    .epsilon(100 * double(eps<T>)));
        CHECK(support::same_bits<T>(arma::Col<T>(copy), c.x));
        std::vector<T> other(n);
        const T whole = kernels::observe_whole(c.x.memptr(), n, other.data());
        if (count == n) {
          CHECK(whole == square);
          CHECK(support::same_bits<T>(arma::Col<T>(other), c.x));
        } else {
          CHECK(std::isnan(whole));
        }
        kernels::compact(c.x.memptr(), n, rows.data(), values.data());
        CHECK(support::same_bits<uword>(arma::uvec(rows.data(), count), c.omega));
        CHECK(support::same_bits<T>(arma::Col<T>(values.data(), count), c.x.elem(c.omega)));
      }
  });
}

TEST_CASE_TEMPLATE("ldl_update gives the factors of G + weight z z', and the solution for z", T,
                   double, float) {
  support::Random random(16);
  for (uword d = 1; d <= 20; ++d)
    for (const uword from : {uword(0), d / 2, d - 1})
      for (const T weight : {T(0.5), T(20)}) {
        CAPTURE(d);
        CAPTURE(from);
        const arma::Mat<T> A = support::gaussian<T>(2 * d + 5, d, random);
        arma::Mat<T> F = A.t() * A;
        kernels::ldl(F.memptr(), d);
        arma::Col<T> z = support::gaussian<T>(d, random);
        z.head(from).zeros();
        const arma::Mat<T> expected = A.t() * A + weight * z * z.t();
        const arma::Col<T> solution = arma::solve(expected, z);
        const T q = kernels::ldl_update(F.memptr(), d, weight, z.memptr(), from);
        CHECK(double(q) == doctest::Approx(double(arma::dot(solution, expected * solution)))
                               .epsilon(1e4 * double(eps<T>)));
        const double bound = 100 * double(d) * double(eps<T>);
        kernels::ldl_backward(F.memptr(), d, z.memptr());
        CHECK(distance<T>(z, solution) <= bound * (1 + double(arma::norm(solution))));
        REQUIRE(F.diag().min() > 0);
        arma::Mat<T> L = arma::trimatl(F);
        L.diag().ones();
        CHECK(distance<T>(L * arma::diagmat(1 / F.diag()) * L.t(), expected) <=
              bound * double(expected.max()));
      }
}

TEST_CASE_TEMPLATE("a chunk of which nothing is observed adds nothing", T, double, float) {
  for_cases([](uword n, uword d, double missing) {
    if (missing == 0 || n < 1000) return;
    Case<T> c(n, d, missing);
    c.x.head(1280).fill(quiet_nan<T>);
    Blocks<T> U(c.U);
    const Aligned<T> x = padded(c.x), e = padded(c.e);
    arma::Mat<T> G(d, d, arma::fill::zeros);
    arma::Col<T> b(d);
    Aligned<T> scratch(kernels::sums_scratch<T>(d));
    kernels::tracked_basis_kernels<T>(d).sums({U.memory.data(), U.count(), d, nullptr, e.data(),
                                               x.data(), x.data(), G.memptr(), b.memptr(),
                                               scratch.data()});
    const arma::Mat<T> seen = c.U.rows(arma::find_finite(c.x));
    CHECK(distance<T>(arma::trimatl(G), arma::trimatl(seen.t() * seen)) <= 30 * rounding<T>(n));
  });
}

TEST_CASE_TEMPLATE("multiply_all multiplies each row, and keeps the entries behind it", T, double,
                   float) {
  support::for_each_set([] {
    Random random(21);
    for (uword d = 1; d <= 40; ++d) {
      CAPTURE(d);
      const uword n = 7, stride = kernels::RowMemory<T>::stride_for(d);
      Aligned<T> memory((n + 1) * stride + kernels::block_rows<T>);
      for (T& entry : memory) entry = T(random.normal());
      const Aligned<T> before = memory;
      const arma::Mat<T> A = gaussian<T>(d, d, random);
      Aligned<T> At(d * whole_blocks<T>(d), T(0));
      for (uword r = 0; r < d; ++r)
        for (uword c = 0; c < d; ++c) At[c + r * whole_blocks<T>(d)] = A(r, c);
      kernels::multiply_all(kernels::RowMemory<T>{memory.data(), n, d, stride, T(1)}, At.data());
      for (uword i = 0; i < n; ++i) {
        const arma::Row<T> row(before.data() + i * stride, d), turned = row * A;
        CHECK(distance<T>(arma::Row<T>(memory.data() + i * stride, d), turned) <=
              100 * double(d) * double(eps<T>));
        for (uword c = d; c < stride; ++c) CHECK(memory[i * stride + c] == before[i * stride + c]);
      }
    }
  });
}

TEST_CASE_TEMPLATE("ldl_update keeps its digits when a pivot grows by many orders", T, double,
                   float) {
  // L D L' = G with a first pivot that is all but nothing; exact in products of powers of two.
  const T tiny = sizeof(T) == 8 ? T(0x1p-40) : T(0x1p-18), slope = 1 / tiny / 1024;
  for (const T weight : {T(1), T(0x1p20), T(0x1p60)}) {
    arma::Mat<T> F = {{1 / tiny, 0}, {slope, 8}};
    arma::Col<T> z = {1, T(0.5)};
    const double G11 = double(tiny) + double(weight),
                 G21 = double(tiny * slope) + 0.5 * double(weight);
    const double G22 = double(tiny * slope * slope) + 0.125 + 0.25 * double(weight);
    kernels::ldl_update(F.memptr(), 2, weight, z.memptr());
    const double D1 = 1 / double(F(0, 0)), l = double(F(1, 0)), D2 = 1 / double(F(1, 1));
    const double bound = 20 * double(eps<T>);
    CHECK(std::abs(D1 - G11) <= bound * G11);
    CHECK(std::abs(l * D1 - G21) <= bound * G21);
    CHECK(std::abs(l * l * D1 + D2 - G22) <= bound * G22);
  }
}

TEST_CASE_TEMPLATE(
    "ldl_forward solves L x = b and gives x'D^-1 x, and reads the lower triangle only", T, double,
    float) {
  support::Random random(8);
  for (uword d = 1; d <= 40; ++d) {
    CAPTURE(d);
    // Near the identity, so that the solution itself can be compared.
    arma::Mat<T> L = arma::trimatl(support::gaussian<T>(d, d, random)) / T(2 * d);
    L.diag().ones();
    const arma::Col<T> x = support::gaussian<T>(d, random);
    const arma::Col<T> inverses = arma::square(support::gaussian<T>(d, random)) + T(0.1);
    arma::Col<T> b = L * x;
    L.diag() = inverses;
    for (uword j = 1; j < d; ++j) L.col(j).head(j).fill(support::quiet_nan<T>);
    const T sum = kernels::ldl_forward(L.memptr(), d, b.memptr());
    CHECK(distance<T>(b, x) <= 50 * double(eps<T>));
    CHECK(double(sum) ==
          doctest::Approx(double(arma::accu(inverses % x % x))).epsilon(100 * double(eps<T>)));
  }
}

TEST_CASE_TEMPLATE("ldl solves as arma::solve does, and detects a matrix that is not positive", T,
                   double, float) {
  support::for_each_set([] {
    Random random(5);
    for (const uword d : {1u, 2u, 3u, 4u, 5u, 6u, 12u, 23u, 24u, 25u, 50u, 77u}) {
      CAPTURE(d);
      const arma::Mat<T> A = gaussian<T>(3 * d + 5, d, random);
      const arma::Mat<T> G = A.t() * A / T(3 * d);
      const arma::Col<T> b = gaussian<T>(d, random);
      arma::Mat<T> L = arma::trimatl(G);
      arma::Col<T> w = b;
      CHECK(kernels::ldl(L.memptr(), d) > T(0.01));
      kernels::ldl_solve(L.memptr(), d, w.memptr());
      CHECK(distance<T>(w, arma::solve(G, b)) <= 500 * double(d) * double(eps<T>));
      arma::Mat<T> negative = G;
      negative(d - 1, d - 1) = -1;
      CHECK(kernels::ldl(negative.memptr(), d) == 0);
      if (d == 1) continue;
      arma::Mat<T> nearly = G;  // the last pivot is next to nothing beside the others
      nearly.col(d - 1) = nearly.col(0);
      nearly.row(d - 1) = nearly.row(0);
      CHECK(kernels::ldl(nearly.memptr(), d) < T(1e-4));
    }
  });
}
