// recover_union.hpp: what the default algorithm for K subspaces recovers, and how it is stopped and
// continued.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <gasg21/model_file.hpp>
#include <gasg21/recover.hpp>
#include <gasg21/recover_union.hpp>
#include <vector>

#include "folder.hpp"
#include "sparse_support.hpp"
#include "union_support.hpp"

using gasg21::AdaptiveStep;
using gasg21::AnyView;
using gasg21::CovarianceScaling;
using gasg21::DenseView;
using gasg21::KSubspaces;
using gasg21::largest_angle;
using gasg21::PassRecord;
using gasg21::recover_union;
using gasg21::Seeding;
using gasg21::Stage;
using gasg21::Status;
using gasg21::StepReport;
using gasg21::UnionOptions;
using gasg21::UnionOrder;
using gasg21::UnionRecovery;
using gasg21::UnionRun;
using gasg21::Unobserved;
using support::gaussian;
using support::quiet_nan;
using support::same;
using support::same_bits;
using support::Union;
using support::uword;

namespace {

using Fit = UnionRun<KSubspaces<double>>;

/// Three planes in R^40, 80 samples each, 80 outliers, 30 % missing.
Union<double> planes(std::uint64_t seed, double noise = 0) {
  return {40, same(3, 2), 80, 80, 0.3, noise, seed};
}

Fit recoverer(const std::vector<uword>& dimensions, const UnionOptions& options = {}) {
  const AdaptiveStep fit_rule(gasg21::AdaptiveStepOptions::defaults(true, false));
  return Fit(dimensions, fit_rule, AdaptiveStep{}, CovarianceScaling{}, options);
}

/// The true subspaces, rotated by about `by`.
std::vector<arma::mat> near(Union<double>& problem, double by) {
  std::vector<arma::mat> bases;
  for (const auto& U : problem.truth) {
    arma::mat V = U + by * gaussian<double>(U.n_rows, U.n_cols, problem.random);
    REQUIRE(gasg21::orthonormalize(V));
    bases.push_back(V);
  }
  return bases;
}

uword count(const std::vector<PassRecord>& history, Stage stage) {
  return uword(std::count_if(history.begin(), history.end(),
                             [&](const PassRecord& record) { return record.stage == stage; }));
}

template <class T>
void check_same(const UnionRecovery<T>& a, const UnionRecovery<T>& b) {
  REQUIRE(a.bases.size() == b.bases.size());
  for (uword k = 0; k < a.bases.size(); ++k) {
    CHECK(same_bits(a.bases[k], b.bases[k]));
    CHECK(same_bits(a.stream.basis(k), b.stream.basis(k)));
  }
  CHECK(same_bits<uword>(a.labels, b.labels));
  CHECK(same_bits<T>(a.residuals, b.residuals));
  CHECK(same_bits<double>(a.estimated_angles, b.estimated_angles));
  CHECK(a.status == b.status);
  CHECK(a.history.size() == b.history.size());
}

/// Checks that samples have the same label if and only if they are of the same true subspace.
template <class T>
void check_labels(const Union<T>& problem, const UnionRecovery<T>& found) {
  const uword K = problem.truth.size();
  std::vector<uword> label_of(K, K);
  for (uword j = 0; j < problem.labels.n_elem; ++j) {
    const uword k = problem.labels[j];
    if (k == K) continue;  // an outlier
    if (label_of[k] == K) label_of[k] = found.labels[j];
    REQUIRE(found.labels[j] == label_of[k]);
  }
  std::sort(label_of.begin(), label_of.end());
  for (uword k = 0; k < K; ++k) CHECK(label_of[k] == k);
}

void check_usable(const std::vector<arma::mat>& bases, const std::vector<uword>& dimensions) {
  REQUIRE(bases.size() == dimensions.size());
  for (uword k = 0; k < bases.size(); ++k) {
    CHECK(bases[k].n_cols == dimensions[k]);
    CHECK(gasg21::orthonormality_error(bases[k]) <= 1e-13);
  }
}

/// Stops after so many vectors or passes, or at once in a poll; 0 = never.
struct StopAfter : Unobserved {
  uword vectors = 0, polls = 0, passes = 0;
  bool stopped = false;

  bool step(const StepReport& /*report*/) { return stopped = stopped || (vectors && !--vectors); }
  bool poll() { return stopped = stopped || (polls && !--polls); }
  void pass(const PassRecord& /*record*/) { stopped = stopped || (passes && !--passes); }
};

/// The first step that the data chooses, for subspaces at these distances.
double first_step(const Union<double>& problem, const std::vector<arma::mat>& bases) {
  const auto all =
      gasg21::assign(gasg21::SubspaceBank<double>(bases), DenseView<double>(problem.X));
  const double typical = gasg21::median(arma::conv_to<std::vector<double>>::from(all.residuals));
  return std::clamp(0.5 * typical, 1e-8, 0.1);
}

}  // namespace

TEST_CASE_TEMPLATE("three planes are recovered among outliers and missing entries", T, double,
                   float) {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    CAPTURE(seed);
    const Union<T> problem(40, same(3, 2), 80, 80, 0.3, 0, seed);
    UnionOptions options;
    options.seed = seed;
    const auto found = recover_union(problem.X, 3, 2, options);
    CHECK(found.status == Status::converged);
    CHECK(found.converged());
    const double tolerance = sizeof(T) == 8 ? 1e-6 : 1e-4;
    CHECK(problem.worst(found.bases) <= tolerance);
    CHECK(found.estimated_angles.n_elem == 3);
    CHECK(found.estimated_angles.max() <= 10 * tolerance);
    check_labels(problem, found);
    for (uword j = 0; j < problem.labels.n_elem; ++j)
      CHECK((found.residuals[j] < 100 * tolerance) == (problem.labels[j] < 3));
  }
}

TEST_CASE("subspaces of different dimensions are recovered, each with its own") {
  const std::vector<uword> dimensions{4, 1, 2};
  for (const std::uint64_t seed : {1u, 2u}) {
    CAPTURE(seed);
    const Union<double> problem(40, dimensions, 100, 60, 0.2, 0, seed);
    Unobserved nobody;
    const auto found = recover_union<double>(DenseView<double>(problem.X),
                                             UnionOrder{3, dimensions}, UnionOptions{}, nobody);
    CHECK(found.status == Status::converged);
    check_usable(found.bases, dimensions);
    for (uword k = 0; k < 3; ++k) CHECK(largest_angle(found.bases[k], problem.truth[k]) <= 1e-6);
    check_labels(problem, found);
  }
}

TEST_CASE("labels and residuals are those of the nearest subspace") {
  Union<double> problem = planes(4, 0.01);
  problem.X.col(0).fill(quiet_nan<double>);
  problem.X.col(1).zeros();
  problem.X.col(2) = support::only<double>(gaussian<double>(40, problem.random), {3, 9});
  const auto found = recover_union(problem.X, 3, 2);
  CHECK(found.status == Status::noise_floor);
  for (uword j = 0; j < 3; ++j) CHECK(found.labels[j] == 3);
  CHECK(std::isnan(found.residuals[0]));
  CHECK(found.residuals[1] == 0);
  CHECK(std::isnan(found.residuals[2]));
  for (uword j = 3; j < problem.X.n_cols; ++j) {
    const arma::vec column = problem.X.col(j);
    const arma::uvec omega = arma::find_finite(column);
    const arma::vec x = arma::normalise(arma::vec(column.elem(omega)));
    arma::vec r(3);
    for (uword k = 0; k < 3; ++k) {
      const arma::mat A = found.bases[k].rows(omega);
      r[k] = arma::norm(x - A * arma::solve(A, x));
    }
    CHECK(found.labels[j] == r.index_min());
    CHECK(found.residuals[j] == doctest::Approx(r.min()).epsilon(1e-6));
  }
}

TEST_CASE("under noise the estimated angles are the true ones within a factor of 2") {
  const Union<double> problem(50, same(3, 3), 150, 150, 0.2, 0.02, 5);
  const auto found = recover_union(problem.X, 3, 3);
  CHECK(found.status == Status::noise_floor);
  for (uword k = 0; k < 3; ++k) {
    double angle = 10;
    for (const auto& U : problem.truth) angle = std::min(angle, largest_angle(U, found.bases[k]));
    CHECK(found.estimated_angles[k] < 2 * angle);
    CHECK(found.estimated_angles[k] > angle / 2);
  }
}

TEST_CASE("one cluster is recover, bit for bit") {
  const Union<double> problem(40, {3}, 200, 80, 0.3, 0, 6);
  for (const bool polish : {true, false}) {
    CAPTURE(polish);
    UnionOptions options;
    options.seed = 5;
    options.polish = polish;
    gasg21::RecoverOptions one_options;
    one_options.seed = 5;
    one_options.polish = polish;
    const auto found = recover_union(problem.X, 1, 3, options);
    const auto one = gasg21::recover(problem.X, 3, one_options);
    REQUIRE(found.bases.size() == 1);
    CHECK(same_bits(found.bases[0], one.subspace.basis()));
    CHECK(found.status == one.status);
    CHECK(found.estimated_angles[0] == one.estimated_angle);
    REQUIRE(found.history.size() == one.history.size());
    for (uword i = 0; i < one.history.size(); ++i)
      CHECK(found.history[i].largest_move() == one.history[i].largest_move());
    CHECK(same_bits(found.stream.basis(0), one.tracker.basis()));
    CHECK(found.stream.tracker(0).rule().level() == one.tracker.rule().level());
    CHECK(found.stream.counters().seen() == one.tracker.counters().seen());
  }
}

TEST_CASE("a fit starts from given subspaces, and keeps their order") {
  Union<double> problem = planes(7);
  const DenseView<double> data(problem.X);
  Fit fit = recoverer(same(3, 2));
  Unobserved nobody;
  fit.run(data, near(problem, 0.05), nobody);
  CHECK(fit.status() == Status::converged);
  for (uword k = 0; k < 3; ++k) CHECK(largest_angle(fit.bases()[k], problem.truth[k]) <= 1e-6);
  CHECK(fit.timings().select == 0);
  CHECK(fit.timings().refine > 0);
  // One given subspace is refined, too.
  const Union<double> single(40, {3}, 200, 80, 0.3, 0, 8);
  Fit one = recoverer({3});
  arma::mat start = single.truth[0];
  start.row(0) += 0.1;
  REQUIRE(gasg21::orthonormalize(start));
  one.run(DenseView<double>(single.X), {start}, nobody);
  CHECK(one.status() == Status::converged);
  CHECK(largest_angle(one.bases()[0], single.truth[0]) <= 1e-6);
}

TEST_CASE("both kinds of seeding lead to all planes") {
  const Union<double> problem = planes(9);
  for (const Seeding seeding : {Seeding::density, Seeding::farthest}) {
    UnionOptions options;
    options.seeding = seeding;
    CHECK(problem.worst(recover_union(problem.X, 3, 2, options).bases) <= 1e-6);
    options.n_candidates = 40;
    options.n_neighbors = 6;
    CHECK(problem.worst(recover_union(problem.X, 3, 2, options).bases) <= 1e-6);
  }
}

TEST_CASE("repair finds a cluster that the start has missed") {
  Union<double> problem(60, same(4, 2), 60, 60, 0.2, 0, 10);
  auto start = near(problem, 0.02);
  start[3] = start[0];
  Fit fit = recoverer(same(4, 2));
  Unobserved nobody;
  fit.run(DenseView<double>(problem.X), start, nobody);
  CHECK(fit.status() == Status::converged);
  CHECK(problem.worst(fit.bases()) <= 1e-6);
}

TEST_CASE("without polish the stream alone refines the subspaces") {
  const Union<double> clean = planes(11), noisy = planes(11, 0.01);
  UnionOptions options;
  options.polish = false;
  const auto exact = recover_union(clean.X, 3, 2, options);
  CHECK(exact.converged());
  CHECK(clean.worst(exact.bases) <= 1e-5);
  CHECK(count(exact.history, Stage::polish) == 0);
  CHECK(arma::all(exact.estimated_angles == arma::datum::pi / 2));  // not estimated
  for (uword k = 0; k < 3; ++k) CHECK(same_bits(exact.stream.basis(k), exact.bases[k]));
  const auto floor = recover_union(noisy.X, 3, 2, options);
  CHECK(floor.status == Status::noise_floor);
  CHECK(noisy.worst(floor.bases) <= 0.1);
  options.tol = 0;  // all passes
  options.max_passes = 6;
  const auto all = recover_union(noisy.X, 3, 2, options);
  CHECK(all.status == Status::max_passes);
  CHECK(all.history.size() == 6);
}

TEST_CASE("each pass records the moves and members of all subspaces") {
  const Union<double> problem = planes(12);
  const auto found = recover_union(problem.X, 3, 2);
  CHECK(count(found.history, Stage::stream) <= 3);
  CHECK(count(found.history, Stage::polish) >= 2);
  for (const PassRecord& record : found.history) {
    CHECK(record.moved.n_elem == 3);
    CHECK(record.members.n_elem == 3);
    CHECK(arma::accu(record.members) == problem.X.n_cols);
    CHECK(record.estimated_angle.n_elem == (record.stage == Stage::polish ? 3 : 0));
  }
  CHECK(same_bits<double>(found.history.back().estimated_angle, found.estimated_angles));
}

TEST_CASE("a fit that needs more rounds than allowed says so") {
  const Union<double> problem = planes(13);
  UnionOptions options;
  options.max_passes = 0;
  options.tol = 1e-14;
  Unobserved nobody;
  const auto found =
      recover_union<double>(DenseView<double>(problem.X), UnionOrder{3, {2}}, options, nobody);
  CHECK(found.status == Status::max_passes);
}

TEST_CASE("the seed decides, and the number of threads changes no bit") {
  const Union<double> problem = planes(14, 0.005);
  UnionOptions options;
  const auto once = recover_union(problem.X, 3, 2, options);
  options.n_threads = 3;
  check_same(recover_union(problem.X, 3, 2, options), once);
  options.seed = 1;
  const auto other = recover_union(problem.X, 3, 2, options);
  CHECK_FALSE(same_bits(other.bases[0], once.bases[0]));
}

TEST_CASE("dense and any view of the same data give the same bits") {
  const Union<double> problem = planes(15);
  const support::Compressed<double, std::int32_t> sparse(problem.X);
  const auto expected = recover_union(problem.X, 3, 2);
  Unobserved nobody;
  for (const AnyView<double>& view :
       {AnyView<double>(DenseView<double>(problem.X)), AnyView<double>(sparse.view())})
    check_same(recover_union<double>(view, UnionOrder{3, {2}}, UnionOptions{}, nobody), expected);
}

TEST_CASE("a stop before there are subspaces throws Stopped") {
  const Union<double> problem = planes(16);
  StopAfter observer;
  observer.polls = 1;
  CHECK_THROWS_AS(recover_union<double>(DenseView<double>(problem.X), UnionOrder{3, {2}},
                                        UnionOptions{}, observer),
                  gasg21::Stopped);
  Fit fit = recoverer(same(3, 2));
  CHECK_THROWS_AS(fit.run(DenseView<double>(problem.X), {}, observer), gasg21::Stopped);
  CHECK(fit.bases().empty());
}

TEST_CASE("a stop after there are subspaces leaves a usable result") {
  const Union<double> problem = planes(17);
  const DenseView<double> data(problem.X);
  const auto whole = recover_union(problem.X, 3, 2);
  const auto check = [&](StopAfter observer, uword passes) {
    const auto found = recover_union<double>(data, UnionOrder{3, {2}}, UnionOptions{}, observer);
    CHECK(found.status == Status::interrupted);
    CHECK_FALSE(found.converged());
    CHECK(found.history.size() == passes);
    check_usable(found.bases, same(3, 2));
    CHECK(found.labels.max() <= 3);
    CHECK(found.residuals.is_finite());
  };
  for (const uword vectors : {1u, 100u, 330u}) {
    CAPTURE(vectors);
    StopAfter observer;
    observer.vectors = vectors;
    check(observer, (vectors - 1) / problem.X.n_cols);
  }
  for (uword passes = 1; passes < whole.history.size(); ++passes) {
    CAPTURE(passes);
    StopAfter observer;
    observer.passes = passes;
    check(observer, passes);
  }
}

TEST_CASE("after a fit each subspace continues with steps as long as its error") {
  Union<double> problem = planes(18, 0.003);
  const auto found = recover_union(problem.X, 3, 2);
  KSubspaces<double> stream = found.stream;
  for (uword k = 0; k < 3; ++k) {
    const AdaptiveStep& rule = stream.tracker(k).rule();
    const double expected = std::min(found.estimated_angles[k], rule.options().eta0);
    CHECK(rule.eta() <= 1.5 * expected);
    CHECK(rule.eta() >= expected / 1.5);
    CHECK(rule.options().max_level == 32);
    CHECK(largest_angle(stream.basis(k), found.bases[k]) <= 1e-14);
  }
  for (int j = 0; j < 1000; ++j) {
    const arma::mat& U = problem.truth[uword(j) % 3];
    stream.update(arma::vec(U * gaussian<double>(2, problem.random)));
  }
  CHECK(problem.worst(stream.bases()) < problem.worst(found.bases));
}

TEST_CASE("the first step of an adaptive rule is half the median distance of the samples") {
  Union<double> problem = planes(19);
  const DenseView<double> data(problem.X);
  Unobserved nobody;
  for (const double by : {0.0, 1e-3, 1.0}) {
    CAPTURE(by);
    const auto given = near(problem, by);
    Fit fit = recoverer(same(3, 2));
    fit.start(data, given, nobody);
    const double step = first_step(problem, given);
    for (uword k = 0; k < 3; ++k) {
      const AdaptiveStep& rule = fit.stream().tracker(k).rule();
      CHECK(rule.eta() == doctest::Approx(step).epsilon(1e-6));
      CHECK(rule.options().max_level == gasg21::AdaptiveStepOptions::unbounded);
      CHECK(same_bits(fit.bases()[k], fit.stream().basis(k)));
    }
    CHECK(fit.stream_rule().eta() == doctest::Approx(step).epsilon(1e-6));
    CHECK(fit.stream_rule().options().max_level == 32);
  }
  UnionOptions options;
  options.first_step_from_data = false;
  Fit fit = recoverer(same(3, 2), options);
  fit.start(data, near(problem, 0.1), nobody, true);
  CHECK(fit.stream().tracker(0).rule().eta() == 1);
  CHECK(fit.stream().tracker(0).rule().options().max_level == 32);  // the rule of a stream
}

TEST_CASE_TEMPLATE("the model answers for new samples", T, double, float) {
  Union<T> problem(40, same(3, 2), 80, 80, 0.3, 0, 21);
  const auto found = recover_union(problem.X, 3, 2);
  const DenseView<T> data(problem.X);
  CHECK(same_bits<uword>(found.model.labels(data), found.labels));  // the samples of the fit
  CHECK(same_bits<T>(found.model.assign(data).residuals, found.residuals));
  const double tolerance = sizeof(T) == 8 ? 1e-6 : 1e-3;
  for (uword k = 0; k < 3; ++k) {
    CHECK(same_bits(found.model.subspace(k).directions, found.bases[k]));
    const uword own = found.labels[arma::uvec(arma::find(problem.labels == k))[0]];
    const arma::Mat<T> X = problem.truth[k] * gaussian<T>(2, 20, problem.random);
    CHECK(arma::all(found.model.labels(DenseView<T>(X)) == own));
    arma::Mat<T> gaps = X;
    gaps.rows(0, 9).fill(quiet_nan<T>);
    CHECK(support::distance(found.model.complete(gaps), X) < tolerance);
  }
}

TEST_CASE_TEMPLATE("a saved model and its stream are read again", T, double, float) {
  Union<T> problem(40, same(3, 2), 80, 80, 0.2, T(0.01), 22);
  UnionOptions options;
  options.reject_outliers = true;
  auto found = recover_union(problem.X, 3, 2, options);
  const support::Folder folder;
  save(found.model, found.stream, folder / "model.gasg21");
  const auto model = gasg21::load_union<T>(folder / "model.gasg21");
  auto stream = gasg21::load_k_subspaces<T>(folder / "model.gasg21");
  const Union<T> later(40, same(3, 2), 80, 80, 0.2, T(0.01), 22);
  const DenseView<T> data(later.X);
  const auto assigned = found.model.assign(data), again = model.assign(data);
  CHECK(same_bits<uword>(assigned.labels, again.labels));
  CHECK(same_bits<T>(assigned.residuals, again.residuals));
  CHECK(same_bits<uword>(found.model.reject(data, assigned), model.reject(data, again)));
  CHECK(same_bits<uword>(model.reject(data, again), found.labels));
  for (uword j = 0; j < 50; ++j) {
    found.stream.update(arma::Col<T>(later.X.col(j)));
    stream.update(arma::Col<T>(later.X.col(j)));
  }
  for (uword k = 0; k < 3; ++k) CHECK(same_bits(stream.basis(k), found.stream.basis(k)));
}

TEST_CASE("too few samples or no subspaces are refused") {
  const Union<double> problem = planes(20);
  CHECK(support::contains(support::complaint([] { recoverer({}); }), "at least one subspace"));
  arma::mat X = problem.X.head_cols(4);
  X.col(1).zeros();
  CHECK(support::contains(support::complaint([&] { recover_union(X, 4, 2); }),
                          "only 3 of the 4 samples of X can be used"));
}
