// fit/subspace_bank.hpp: all subspaces at once give what each gives by itself.
#include <gasg21/fit/projector.hpp>
#include <gasg21/fit/subspace_bank.hpp>

#include "instruction_sets.hpp"
#include "union_support.hpp"

using gasg21::DenseSample;
using gasg21::Projector;
using gasg21::random_basis;
using gasg21::SubspaceBank;
using gasg21::Usable;
using support::gaussian;
using support::only;
using support::Random;
using support::random_rows;
using support::uword;

namespace {

template <class T>
std::vector<arma::Mat<T>> random_bases(uword n, const std::vector<uword>& dimensions,
                                       Random& random) {
  std::vector<arma::Mat<T>> bases;
  for (const uword d : dimensions) bases.push_back(random_basis<T>(n, d, random));
  return bases;
}

template <class T>
void check_against_each(const std::vector<arma::Mat<T>>& bases, const arma::Col<T>& x,
                        double tolerance) {
  const SubspaceBank<T> bank(bases);
  typename SubspaceBank<T>::Scratch scratch(bank);
  REQUIRE(scratch.read(DenseSample<T>{x.memptr()}) == Usable::yes);
  bank.fit_all(scratch);
  T smallest = 2;
  uword best = bases.size();
  for (uword k = 0; k < bases.size(); ++k) {
    CAPTURE(k);
    Projector<T> alone(bases[k]);
    alone.read(DenseSample<T>{x.memptr()});
    const T r = alone.residual();
    if (std::isnan(r)) {
      CHECK(std::isnan(scratch.r2()[k]));
      continue;
    }
    CHECK(std::abs(double(scratch.r2()[k] - r * r)) <= tolerance);
    CHECK(bank.exact_residual(k, scratch) == r);
    if (r < smallest) smallest = r, best = k;
  }
  const auto nearest = bank.nearest(scratch);
  CHECK(nearest.cluster == best);
  if (best < bases.size()) CHECK(nearest.residual == smallest);
}

}  // namespace

TEST_CASE_TEMPLATE("the residuals in all subspaces are those in each", T, double, float) {
  const double tolerance = 100 * double(support::eps<T>);
  support::for_each_set([&] {
    Random random(1);
    for (const uword K : {1, 7, 8, 9, 20})
      for (const uword d : {1, 2, 3, 4, 5, 6, 8, 11})
        for (const uword observed : {60, 45, 20}) {
          CAPTURE(K);
          CAPTURE(d);
          CAPTURE(observed);
          const auto bases = random_bases<T>(60, support::same(K, d), random);
          const arma::Col<T> x = gaussian<T>(60, random);
          check_against_each<T>(bases, only<T>(x, random_rows(60, observed, random)), tolerance);
        }
  });
}

TEST_CASE_TEMPLATE("samples that are fitted together give what each gives by itself", T, double,
                   float) {
  const double tolerance = 100 * double(support::eps<T>);
  support::for_each_set([&] {
    Random random(9);
    // The last subspaces fill no more than half of a register, or more, or all of it.
    for (const auto& [K, d] : std::vector<std::pair<uword, uword>>{{20, 1},
                                                                   {20, 2},
                                                                   {20, 3},
                                                                   {20, 4},
                                                                   {20, 5},
                                                                   {20, 7},
                                                                   {3, 3},
                                                                   {4, 5},
                                                                   {16, 3},
                                                                   {30, 3}}) {
      CAPTURE(K);
      CAPTURE(d);
      const auto bases = random_bases<T>(60, support::same(K, d), random);
      const SubspaceBank<T> bank(bases);
      const uword together = bank.samples_at_once();
      REQUIRE(together == gasg21::kernels::bank_samples);
      typename SubspaceBank<T>::Scratch all(bank, together), one(bank);
      for (const bool complete : {true, false}) {  // then some with gaps, few entries or none
        CAPTURE(complete);
        std::vector<arma::Col<T>> x;
        for (uword s = 0; s < together; ++s) {
          const uword observed = complete ? 60 : arma::uvec{60, 45, 20, 0, 55, 60, 31, 58}[s];
          x.push_back(only<T>(gaussian<T>(60, random), random_rows(60, observed, random)));
          all.read(DenseSample<T>{x[s].memptr()}, s);
        }
        bank.fit_all(all, together);
        for (uword s = 0; s < together; ++s) {
          CAPTURE(s);
          const Usable usable = one.read(DenseSample<T>{x[s].memptr()});
          CHECK(all.usable(s) == usable);
          if (usable == Usable::yes) {
            bank.fit_all(one);
            for (uword k = 0; k < K; ++k)
              CHECK(std::abs(double(all.r2(s)[k] - one.r2()[k])) <= tolerance);
          }
          const auto expected = bank.nearest(one), found = bank.nearest(all, s);
          CHECK(found.cluster == expected.cluster);
          CHECK((found.residual == expected.residual || std::isnan(expected.residual)));
        }
      }
    }
  });
}

TEST_CASE("subspaces of different dimensions stand side by side") {
  support::for_each_set([] {
    Random random(2);
    const auto bases = random_bases<double>(30, {1, 5, 3, 3, 8, 2, 1, 4, 7, 6}, random);
    for (const uword observed : {30, 20, 9, 6, 4, 2}) {
      CAPTURE(observed);
      for (int i = 0; i < 20; ++i) {
        const arma::vec x = gaussian<double>(30, random);
        check_against_each<double>(bases, only<double>(x, random_rows(30, observed, random)),
                                   1e-12);
      }
    }
  });
}

TEST_CASE("when too little is observed for every subspace there is no nearest") {
  Random random(3);
  const SubspaceBank<double> bank(random_bases<double>(20, {3, 4}, random));
  SubspaceBank<double>::Scratch scratch(bank);
  const arma::vec x = only<double>(gaussian<double>(20, random), arma::uvec{1, 5, 7});
  scratch.read(DenseSample<double>{x.memptr()});
  bank.fit_all(scratch);
  const auto nearest = bank.nearest(scratch);
  CHECK(nearest.cluster == 2);
  CHECK(std::isnan(nearest.residual));
}

TEST_CASE("a sample in two subspaces goes to the one that it is in more exactly, or the first") {
  Random random(4);
  arma::mat A = random_basis<double>(40, 3, random);
  arma::mat B = A;
  B.col(2) = random_basis<double>(40, 4, random).col(3);
  REQUIRE(gasg21::orthonormalize(B));
  const arma::vec common = A.head_cols(2) * gaussian<double>(2, random);
  arma::vec nearly = common;
  nearly += 1e-9 * B.col(2);  // 1e-9 off A: lost in the squared residual, which is 1e-18
  for (const bool a_first : {true, false}) {
    CAPTURE(a_first);
    const SubspaceBank<double> bank(a_first ? std::vector<arma::mat>{A, B}
                                            : std::vector<arma::mat>{B, A});
    SubspaceBank<double>::Scratch scratch(bank);
    scratch.read(DenseSample<double>{nearly.memptr()});
    bank.fit_all(scratch);
    CHECK(bank.nearest(scratch).cluster == (a_first ? 1 : 0));
  }
  const SubspaceBank<double> twins(std::vector<arma::mat>{B, A, A});
  SubspaceBank<double>::Scratch scratch(twins);
  const arma::vec in_A = A * gaussian<double>(3, random);
  scratch.read(DenseSample<double>{in_A.memptr()});
  twins.fit_all(scratch);
  CHECK(twins.nearest(scratch).cluster == 1);
}

TEST_CASE("rows that hardly determine the weights are fitted with care") {
  Random random(5);
  arma::mat U(50, 3, arma::fill::zeros);
  U(0, 0) = U(1, 1) = U(2, 2) = 1;
  for (uword i = 3; i < 50; ++i)
    for (uword c = 0; c < 3; ++c) U(i, c) = 1e-4 * random.normal();
  REQUIRE(gasg21::orthonormalize(U));
  const arma::vec x = gaussian<double>(50, random);
  const arma::uvec few = arma::regspace<arma::uvec>(2, 12);  // U is nearly singular on these
  check_against_each<double>({U}, only<double>(x, few), 1e-12);
}

TEST_CASE("a subspace that is written anew is the one that samples are fitted to") {
  Random random(8);
  auto bases = random_bases<double>(40, {3, 2, 4}, random);
  SubspaceBank<double> bank(bases);
  SubspaceBank<double>::Scratch scratch(bank);
  const arma::vec x = only<double>(gaussian<double>(40, random), random_rows(40, 25, random));
  scratch.read(DenseSample<double>{x.memptr()});
  const double before = bank.exact_residual(1, scratch);
  bases[1] = random_basis<double>(40, 2, random);
  bank.set(1, bases[1]);
  CHECK(bank.exact_residual(1, scratch) != before);
  for (uword k = 0; k < 3; ++k) CHECK(support::same_bits(bank.basis(k), bases[k]));
  const SubspaceBank<double> anew(bases);
  SubspaceBank<double>::Scratch other(anew);
  other.read(DenseSample<double>{x.memptr()});
  CHECK(bank.exact_residual(1, scratch) == anew.exact_residual(1, other));
  bank.fit_all(scratch);
  anew.fit_all(other);
  CHECK(scratch.r2() == other.r2());
}

TEST_CASE("a bank refuses subspaces of different spaces") {
  Random random(6);
  const std::vector<arma::mat> bases{random_basis<double>(10, 2, random),
                                     random_basis<double>(12, 2, random)};
  CHECK(support::contains(support::complaint([&] { SubspaceBank<double>{bases}; }),
                          "spaces of 10 and 12 dimensions"));
  CHECK(support::contains(support::complaint([&] { SubspaceBank<double>{{}}; }), "at least one"));
}
