// k_subspaces.hpp: each vector moves the nearest subspace as a tracker would, and no other.
#include <gasg21/fit/assign.hpp>
#include <gasg21/k_subspaces.hpp>
#include <gasg21/metric.hpp>
#include <gasg21/recovery/stream.hpp>

#include "instruction_sets.hpp"
#include "union_support.hpp"

using gasg21::AdaptiveStep;
using gasg21::DenseSample;
using gasg21::DenseView;
using gasg21::KSubspaces;
using gasg21::L21Loss;
using gasg21::NoScaling;
using gasg21::Parallel;
using gasg21::StepOutcome;
using gasg21::SubspaceBank;
using gasg21::Tracker;
using support::gaussian;
using support::keep_going;
using support::quiet_nan;
using support::Random;
using support::same;
using support::same_bits;
using support::Union;
using support::uword;

namespace {

template <class T>
using PaperKSubspaces = KSubspaces<T, AdaptiveStep, L21Loss, NoScaling>;

/// The default rule of a KSubspaces, or the paper's.
template <class K>
AdaptiveStep rule_of() {
  const bool scaled = std::is_same_v<K, KSubspaces<typename K::value_type>>;
  return scaled ? AdaptiveStep() : AdaptiveStep::paper();
}

/// The true subspaces, rotated by about `by`.
template <class T>
std::vector<arma::Mat<T>> near(Union<T>& problem, double by) {
  std::vector<arma::Mat<T>> bases;
  for (const auto& U : problem.truth) {
    arma::Mat<T> V = U + T(by) * gaussian<T>(U.n_rows, U.n_cols, problem.random);
    REQUIRE(gasg21::orthonormalize(V));
    bases.push_back(V);
  }
  return bases;
}

}  // namespace

TEST_CASE_TEMPLATE("one subspace is a tracker, to the bit", K, KSubspaces<double>,
                   PaperKSubspaces<double>) {
  for (const double missing : {0.0, 0.3, 0.8})  // whole, in blocks, by rows
    for (const uword d : {3, 7})
      support::for_each_set([&] {
        CAPTURE(missing);
        CAPTURE(d);
        Union<double> problem(40, {d}, 200, 100, missing, 0, 1);
        Random random(7);
        const arma::mat start = gasg21::random_basis<double>(40, d, random);
        K k({start}, rule_of<K>());
        typename K::One one(start, rule_of<K>());
        for (uword j = 0; j < problem.X.n_cols; ++j) {
          const auto a = k.update(arma::vec(problem.X.col(j)));
          const auto b = one.update(arma::vec(problem.X.col(j)));
          if (b.outcome == StepOutcome::too_few_entries) continue;
          REQUIRE(a.outcome == b.outcome);
          REQUIRE(a.cluster == 0);
          REQUIRE(a.residual == b.residual);
        }
        CHECK(same_bits(k.basis(0), one.basis()));
      });
}

TEST_CASE_TEMPLATE("each vector moves the nearest subspace, and no other", K, KSubspaces<double>,
                   KSubspaces<float>, PaperKSubspaces<double>, PaperKSubspaces<float>) {
  using T = typename K::value_type;
  Union<T> problem(40, {2, 3, 4}, 60, 60, 0.3, 0, 2);
  const auto start = near(problem, 0.05);
  K k(start, rule_of<K>());
  std::vector<typename K::One> trackers;
  for (const auto& U : start) trackers.emplace_back(U, rule_of<K>());
  for (uword j = 0; j < problem.X.n_cols; ++j) {
    const arma::Col<T> x = problem.X.col(j);
    const auto nearest = k.nearest(DenseSample<T>{x.memptr()});
    const auto report = k.update(x);
    REQUIRE(report.cluster == nearest.cluster);
    trackers[report.cluster].update(x);
    for (uword c = 0; c < 3; ++c) REQUIRE(same_bits(k.basis(c), trackers[c].basis()));
  }
}

TEST_CASE("the subspaces of a union are found from a start nearby") {
  Union<double> problem(60, same(4, 3), 60, 240, 0.3, 0, 3);
  const AdaptiveStep rule(gasg21::AdaptiveStepOptions::defaults(true, false));
  KSubspaces<double> k(near(problem, 0.08), rule.with_eta0(0.1));
  const DenseView<double> view(problem.X);
  for (int pass = 0; pass < 15; ++pass)
    gasg21::run(k, view, k.random().permutation(view.n_cols), keep_going);
  CHECK(problem.worst(k.bases()) < 1e-8);
  const auto all = gasg21::assign(SubspaceBank<double>(k.bases()), view, Parallel(2));
  for (uword j = 0; j < view.n_cols; ++j) {
    if (problem.labels[j] == 4) continue;
    CHECK(all.labels[j] == problem.labels[j]);
    CHECK(all.residuals[j] < 1e-6);
  }
}

TEST_CASE_TEMPLATE("a resumed stream equals one that was never stopped, bit for bit", K,
                   KSubspaces<double>, PaperKSubspaces<double>) {
  Union<double> problem(30, {2, 3}, 100, 50, 0.3, 0, 4);
  K whole(near(problem, 0.1), rule_of<K>(), 5);
  K part = whole;
  const DenseView<double> view(problem.X);
  const arma::uvec order = whole.random().permutation(view.n_cols);
  REQUIRE(arma::all(order == part.random().permutation(view.n_cols)));
  gasg21::run(whole, view, order, keep_going);
  gasg21::run(part, view, arma::uvec(order.head(100)), keep_going);
  K resumed(part.state());
  gasg21::run(resumed, view, arma::uvec(order.tail(view.n_cols - 100)), keep_going);
  for (uword c = 0; c < 2; ++c) CHECK(same_bits(resumed.basis(c), whole.basis(c)));
  CHECK(resumed.random().next() == whole.random().next());
  CHECK(resumed.counters().seen() == view.n_cols);
}

TEST_CASE("vectors that no subspace can take are counted and change nothing") {
  Union<double> problem(10, {2, 3}, 5, 0, 0, 0, 5);
  KSubspaces<double> k(problem.truth);
  const arma::mat second = k.basis(1);
  arma::vec x(10, arma::fill::zeros);
  CHECK(k.update(x).outcome == StepOutcome::zero);
  x.fill(quiet_nan<double>);
  CHECK(k.update(x).outcome == StepOutcome::all_missing);
  x[3] = 1;
  x[4] = 2;
  const auto few = k.update(x);
  CHECK(few.outcome == StepOutcome::too_few_entries);
  CHECK(few.cluster == 2);
  x[3] = arma::datum::inf;
  CHECK(k.update(x).outcome == StepOutcome::not_finite);
  x[3] = 1;
  x[5] = 0.5;  // three entries: enough for the first subspace, not for the second
  CHECK(k.update(x).cluster == 0);
  CHECK(k.counters().seen() == 5);
  CHECK(k.counters().skipped() == 4);
  CHECK(same_bits(k.basis(1), second));
}

TEST_CASE("sparse vectors equal dense ones with NaN") {
  Union<double> problem(30, {2, 3}, 50, 30, 0.4, 0, 6);
  const auto start = near(problem, 0.1);
  KSubspaces<double> dense(start), sparse(start);
  for (uword j = 0; j < problem.X.n_cols; ++j) {
    const arma::vec x = problem.X.col(j);
    const arma::uvec rows = arma::find_finite(x);
    CHECK(dense.update(x).cluster == sparse.update(arma::vec(x.elem(rows)), rows).cluster);
  }
  for (uword c = 0; c < 2; ++c) CHECK(same_bits(dense.basis(c), sparse.basis(c)));
}

TEST_CASE("a union made from a tracker continues as the tracker, bit for bit") {
  Union<double> problem(30, {3}, 200, 100, 0.3, 0, 9);
  Tracker<double> one(30, 3, AdaptiveStep(), 4);
  const DenseView<double> view(problem.X);
  gasg21::run(one, view, arma::regspace<arma::uvec>(0, 149), keep_going);
  auto k = KSubspaces<double>::from_tracker(one);
  CHECK(k.size() == 1);
  CHECK(k.counters().seen() == 150);
  CHECK(k.random().state() == one.random().state());
  for (uword j = 150; j < 300; ++j) {
    const arma::vec x = problem.X.col(j);
    REQUIRE(k.update(x).residual == one.update(x).residual);
  }
  CHECK(same_bits(k.basis(0), one.basis()));
  CHECK(k.counters().seen() == 300);
}

TEST_CASE("a stream continues from a fit with steps as long as each subspace may be off") {
  Union<double> problem(30, {2, 3}, 50, 0, 0, 0, 10);
  KSubspaces<double> k(near(problem, 0.5));
  gasg21::run(k, DenseView<double>(problem.X), arma::regspace<arma::uvec>(0, 99), keep_going);
  gasg21::continue_from(k, problem.truth, {0.25, std::ldexp(1.0, -10)}, AdaptiveStep());
  CHECK(k.tracker(0).rule().eta() == 0.25);
  CHECK(k.tracker(1).rule().eta() == std::ldexp(1.0, -10));
  CHECK(k.counters().seen() == 100);
  for (uword c = 0; c < 2; ++c) {
    CHECK(gasg21::largest_angle(k.basis(c), problem.truth[c]) <= 1e-14);
    const arma::vec x = problem.truth[c].col(0);
    CHECK(k.nearest(DenseSample<double>{x.memptr()}).cluster == c);
  }
}

TEST_CASE("wrong sizes are refused") {
  Random random(7);
  const arma::mat U = gasg21::random_basis<double>(10, 2, random);
  KSubspaces<double> k({U, U});
  CHECK(support::contains(support::complaint([&] { k.update(arma::vec(9)); }), "n = 10"));
  CHECK(
      support::contains(support::complaint([&] { k.restart({U}, {AdaptiveStep()}); }), "2 bases"));
  CHECK_FALSE(support::complaint([&] {
                KSubspaces<double>({arma::mat(10, 2, arma::fill::ones)});
              }).empty());
}

TEST_CASE("assignment does not depend on the number of threads, and can be stopped") {
  Union<double> problem(30, same(3, 2), 100, 100, 0.3, 0.01, 8);
  const SubspaceBank<double> bank(problem.truth);
  const DenseView<double> view(problem.X);
  const auto one = gasg21::assign(bank, view, Parallel(1));
  const auto three = gasg21::assign(bank, view, Parallel(3));
  CHECK(arma::all(one.labels == three.labels));
  CHECK(same_bits<double>(one.residuals, three.residuals));
  CHECK(arma::all(gasg21::assign_labels(bank, view, Parallel(3)) == one.labels));
  CHECK_THROWS_AS(gasg21::assign(bank, view, Parallel(1, [] { return true; })), gasg21::Stopped);
}
