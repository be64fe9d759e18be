// recover.hpp: what the default algorithm recovers, what it says about its result, and how it is
// stopped and continued.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <gasg21/recover.hpp>
#include <string>
#include <utility>
#include <vector>

#include "polish_support.hpp"
#include "sparse_support.hpp"

using gasg21::AdaptiveStep;
using gasg21::AnyView;
using gasg21::DenseView;
using gasg21::largest_angle;
using gasg21::orthonormality_error;
using gasg21::PaperTracker;
using gasg21::PassRecord;
using gasg21::recover;
using gasg21::Recoverer;
using gasg21::RecoverOptions;
using gasg21::Recovery;
using gasg21::Stage;
using gasg21::Status;
using gasg21::StepReport;
using gasg21::Tracker;
using gasg21::Unobserved;
using support::eps;
using support::gaussian;
using support::Problem;
using support::quiet_nan;
using support::Random;
using support::same_bits;
using support::uword;

namespace {

/// Samples with singular values 100, 30, 5 and 1; 30 % outliers, 30 % missing.
template <class T>
struct IllConditioned {
  Random random;
  arma::Mat<T> truth, X;

  explicit IllConditioned(std::uint64_t seed)
      : random(seed), truth(gasg21::random_basis<T>(60, 4, random)), X(60, 500) {
    for (uword j = 0; j < 500; ++j) X.col(j) = next();
  }
  arma::Col<T> next() {
    const arma::Col<T> spread = {100, 30, 5, 1};
    arma::Col<T> x = truth * (spread % gaussian<T>(4, random));
    if (random.uniform() < 0.3) x = gaussian<T>(60, random);
    for (T& entry : x)
      if (random.uniform() < 0.3) entry = quiet_nan<T>;
    return x;
  }
};

uword count(const std::vector<PassRecord>& history, Stage stage) {
  return uword(std::count_if(history.begin(), history.end(),
                             [&](const PassRecord& record) { return record.stage == stage; }));
}

template <class T>
void check_same(const Recovery<T>& a, const Recovery<T>& b) {
  CHECK(same_bits(a.basis, b.basis));
  CHECK(same_bits(a.weights, b.weights));
  CHECK(same_bits<T>(a.residuals, b.residuals));
  CHECK(a.status == b.status);
  CHECK(a.estimated_angle == b.estimated_angle);
  CHECK(a.history.size() == b.history.size());
  CHECK(same_bits(a.tracker.basis(), b.tracker.basis()));
}

/// A result that can be used: an orthonormal basis, and a fit of each sample.
template <class T>
void check_usable(const Recovery<T>& found, uword d, uword m) {
  CHECK(found.basis.n_cols == d);
  CHECK(double(orthonormality_error(found.basis)) <= 100 * double(eps<T>));
  CHECK(found.weights.n_cols == m);
  CHECK(found.residuals.n_elem == m);
  CHECK(found.residuals.is_finite());
  CHECK(largest_angle(found.tracker.basis(), found.basis) <= 1e-6);
}

/// Stops after so many vectors, polls or passes; 0 = never.
struct StopAfter : Unobserved {
  uword vectors = 0, polls = 0, passes = 0;
  bool stopped = false;

  bool step(const StepReport& /*report*/) { return stopped = stopped || (vectors && !--vectors); }
  bool poll() { return stopped = stopped || (polls && !--polls); }
  void pass(const PassRecord& /*record*/) { stopped = stopped || (passes && !--passes); }
};

template <class AnyTracker>
Recoverer<AnyTracker> recoverer(AnyTracker tracker, uword d, const RecoverOptions& options = {}) {
  return Recoverer<AnyTracker>(std::move(tracker), d, options);
}

}  // namespace

TEST_CASE_TEMPLATE("an ill-conditioned subspace is recovered among outliers and missing entries", T,
                   double, float) {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    CAPTURE(seed);
    const IllConditioned<T> p(seed);
    RecoverOptions options;
    options.seed = seed;
    const auto found = recover(p.X, 4, options);
    CHECK(found.status == Status::converged);
    CHECK(found.converged());
    const double angle = double(largest_angle(found.basis, p.truth));
    CHECK(angle <= (sizeof(T) == 8 ? 1e-6 : 1e-4));
    CHECK(found.estimated_angle <= (sizeof(T) == 8 ? 1e-5 : 1e-3));
    check_usable(found, 4, 500);
  }
}

TEST_CASE("under noise the estimated angle is the true one within a factor of 1.5") {
  for (const double missing : {0.0, 0.3})
    for (const double outliers : {0.0, 0.5, 0.8})
      for (const std::uint64_t seed : {1u, 2u}) {
        CAPTURE(missing);
        CAPTURE(outliers);
        CAPTURE(seed);
        const Problem<double> p(200, 1000, 5, outliers, missing, 0.05, seed);
        const auto found = recover(p.X, 5);
        CHECK(found.status == Status::noise_floor);
        CHECK(found.converged());
        const double ratio = found.estimated_angle / p.angle(found.basis);
        CHECK(ratio < 1.5);
        CHECK(ratio > 1 / 1.5);
      }
}

TEST_CASE("only outliers: the subspace is undetermined") {
  for (const bool polish : {true, false})
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
      CAPTURE(polish);
      CAPTURE(seed);
      const Problem<double> p(100, 500, 5, 1, 0.2, 0, seed);
      RecoverOptions options;
      options.polish = polish;
      const auto found = recover(p.X, 5, options);
      CHECK(found.status == Status::undetermined);
      CHECK_FALSE(found.converged());
      check_usable(found, 5, 500);
    }
}

TEST_CASE("more dimensions than the inliers span: rank deficient") {
  for (const bool polish : {true, false}) {
    CAPTURE(polish);
    const Problem<double> p(60, 300, 3, 0, 0.2, 0, 4);
    RecoverOptions options;
    options.polish = polish;
    const auto found = recover(p.X, 5, options);
    CHECK(found.status == Status::rank_deficient);
    CHECK_FALSE(found.converged());
    CHECK(arma::norm(p.truth - found.basis * (found.basis.t() * p.truth)) <= 1e-5);
  }
}

TEST_CASE("d = 0 chooses the dimension") {
  const Problem<double> p(60, 400, 3, 0.3, 0.2, 0.001, 5);
  const auto chosen = recover(p.X, 0), given = recover(p.X, 3);
  CHECK(chosen.basis.n_cols == 3);
  check_same(chosen, given);
}

TEST_CASE("working components: more dimensions are fitted, and the best d are kept") {
  const IllConditioned<double> p(6);
  RecoverOptions options;
  options.working_components = 6;
  auto found = recover(p.X, 4, options);
  CHECK(found.converged());
  CHECK(largest_angle(found.basis, p.truth) <= 1e-6);
  check_usable(found, 4, 500);
  CHECK(found.tracker.d() == 4);
  CHECK(found.tracker.counters().seen() == 500 * count(found.history, Stage::stream));
  options.working_components = 3;  // fewer than d is d
  check_same(recover(p.X, 4, options), recover(p.X, 4));
}

TEST_CASE("without polish the stream alone converges, or ends at the noise floor") {
  RecoverOptions options;
  options.polish = false;
  const Problem<double> clean(40, 600, 3, 0.3, 0.2, 0, 7), noisy(40, 600, 3, 0.3, 0.2, 0.01, 7);
  const auto exact = recover(clean.X, 3, options);
  CHECK(exact.status == Status::converged);
  CHECK(clean.angle(exact.basis) <= 2e-6);
  CHECK(exact.history.back().largest_move() <= 1e-6);
  const auto floor = recover(noisy.X, 3, options);
  CHECK(floor.status == Status::noise_floor);
  CHECK(noisy.angle(floor.basis) <= 0.05);
  CHECK(floor.estimated_angle > noisy.angle(floor.basis) / 3);
  for (const auto* found : {&exact, &floor}) {
    CHECK(count(found->history, Stage::polish) == 0);
    check_usable(*found, 3, 600);
  }
  options.tol = 0;  // all passes
  options.max_passes = 7;
  const auto all = recover(noisy.X, 3, options);
  CHECK(all.status == Status::max_passes);
  CHECK(all.history.size() == 7);
}

TEST_CASE("the polish stops at the limit of passes, or when a pass moves the subspace little") {
  const Problem<double> p(60, 300, 3, 0.3, 0.2, 0.05, 3);
  const auto done = recover(p.X, 3);
  CHECK(done.converged());
  CHECK(count(done.history, Stage::stream) == 2);
  CHECK(count(done.history, Stage::polish) < 10);
  CHECK(done.history.back().largest_move() <= 0.1 * done.estimated_angle);
  CHECK(done.history.back().estimated_angle[0] == done.estimated_angle);

  const IllConditioned<double> slow(8);
  RecoverOptions options;
  options.max_passes = 1;
  options.tol = 1e-12;
  const auto limited = recover(slow.X, 4, options);
  CHECK(limited.status == Status::max_passes);
  CHECK_FALSE(limited.converged());
  CHECK(count(limited.history, Stage::stream) == 1);
  CHECK(count(limited.history, Stage::polish) == 2);
}

TEST_CASE("sparse data gets more passes of the stream before the polish") {
  const Problem<double> p(100, 800, 3, 0.2, 0.8, 0.01, 9);
  const auto found = recover(p.X, 3);
  CHECK(found.converged());
  CHECK(count(found.history, Stage::stream) > 2);
  CHECK(count(found.history, Stage::stream) <= 5);
}

TEST_CASE("a spherical PCA start leads to the same subspace") {
  const IllConditioned<double> p(10);
  RecoverOptions options;
  options.start = gasg21::Start::spherical_pca;
  const auto found = recover(p.X, 4, options);
  CHECK(found.status == Status::converged);
  CHECK(largest_angle(found.basis, p.truth) <= 1e-6);
  CHECK_FALSE(same_bits(found.basis, recover(p.X, 4).basis));
}

TEST_CASE("weights and residuals are those of least squares, in the units of the samples") {
  Problem<double> p(30, 200, 3, 0.3, 0.3, 0.01, 11);
  p.X.col(0) *= 1e3;
  p.X.col(1).fill(quiet_nan<double>);
  p.X.col(2).zeros();
  p.X.col(3) = support::only<double>(gaussian<double>(30, p.random), {1, 2, 3});  // d entries
  const auto found = recover(p.X, 3);
  for (const uword j : {1u, 3u}) {
    CHECK(std::isnan(found.residuals[j]));
    CHECK(found.weights.col(j).has_nan());
  }
  CHECK(found.residuals[2] == 0);
  CHECK(found.weights.col(2).is_zero());
  for (uword j = 0; j < 200; ++j) {
    if (j > 0 && j < 4) continue;
    const arma::vec column = p.X.col(j);
    const arma::uvec omega = arma::find_finite(column);
    const arma::vec x = column.elem(omega);
    const arma::mat A = found.basis.rows(omega);
    const arma::vec w = arma::solve(A, x);
    CHECK(support::distance<double>(found.weights.col(j), w) <= 1e-11 * arma::norm(x));
    CHECK(found.residuals[j] ==
          doctest::Approx(arma::norm(x - A * w) / arma::norm(x)).epsilon(1e-9));
  }
}

TEST_CASE("the seed decides, and the number of threads changes no bit") {
  const IllConditioned<double> p(12);
  RecoverOptions options;
  const auto once = recover(p.X, 4, options);
  for (const unsigned threads : {1u, 2u, 5u}) {
    options.n_threads = threads;
    check_same(recover(p.X, 4, options), once);
  }
  options.seed = 1;
  CHECK_FALSE(same_bits(recover(p.X, 4, options).basis, once.basis));
}

TEST_CASE("dense, sparse and any view of the same data give the same bits") {
  const IllConditioned<double> p(13);
  const support::Compressed<double, std::int32_t> sparse(p.X);
  const auto expected = recover(p.X, 4);
  Unobserved nobody;
  const RecoverOptions options;
  check_same(recover<double>(sparse.view(), 4, options, nobody), expected);
  check_same(recover<double>(AnyView<double>(sparse.view()), 4, options, nobody), expected);
  check_same(recover<double>(AnyView<double>(DenseView<double>(p.X)), 4, options, nobody),
             expected);
}

TEST_CASE("an observer stops the stream after a vector") {
  const Problem<double> p(40, 300, 3, 0.3, 0.2, 0, 14);
  for (const uword vectors : {1u, 100u, 300u, 301u, 450u}) {
    CAPTURE(vectors);
    StopAfter observer;
    observer.vectors = vectors;
    const auto found = recover<double>(DenseView<double>(p.X), 3, RecoverOptions{}, observer);
    CHECK(found.status == Status::interrupted);
    CHECK_FALSE(found.converged());
    CHECK(found.history.size() == (vectors - 1) / 300);
    check_usable(found, 3, 300);
    CHECK(found.tracker.counters().seen() == vectors);
    CHECK(same_bits(found.subspace.basis(), found.tracker.basis()));
  }
}

TEST_CASE("an observer stops the polish in a poll, and the last whole pass is the result") {
  const IllConditioned<double> p(15);
  StopAfter all;
  all.polls = 1u << 30;
  const auto whole = recover<double>(DenseView<double>(p.X), 4, RecoverOptions{}, all);
  const uword polls = (1u << 30) - all.polls;
  REQUIRE(polls > 20);
  for (const uword at : {uword(1), uword(5), polls / 2}) {
    CAPTURE(at);
    StopAfter observer;
    observer.polls = at;
    const auto found = recover<double>(DenseView<double>(p.X), 4, RecoverOptions{}, observer);
    CHECK(found.status == Status::interrupted);
    check_usable(found, 4, 500);
    CHECK(count(found.history, Stage::stream) == 2);
    CHECK(found.history.size() <= whole.history.size());  // it may stop in the checks at the end
  }
  StopAfter last;  // all work is done by then
  last.polls = polls;
  check_same(recover<double>(DenseView<double>(p.X), 4, RecoverOptions{}, last), whole);
}

TEST_CASE("an observer stops a fit after a pass") {
  const IllConditioned<double> p(16);
  const auto whole = recover(p.X, 4);
  for (uword passes = 1; passes < whole.history.size(); ++passes) {
    CAPTURE(passes);
    StopAfter observer;
    observer.passes = passes;
    const auto found = recover<double>(DenseView<double>(p.X), 4, RecoverOptions{}, observer);
    CHECK(found.status == Status::interrupted);
    CHECK(found.history.size() == passes);
    check_usable(found, 4, 500);
    CHECK(found.history.back().largest_move() == whole.history[passes - 1].largest_move());
  }
}

TEST_CASE("a stop while the dimension is chosen throws Stopped: there is no result yet") {
  const Problem<double> p(40, 300, 3, 0.3, 0.2, 0, 17);
  StopAfter observer;
  observer.polls = 50;
  CHECK_THROWS_AS(recover<double>(DenseView<double>(p.X), 0, RecoverOptions{}, observer),
                  gasg21::Stopped);
}

TEST_CASE("the observer sees every vector and every pass") {
  struct Recorder : Unobserved {
    uword vectors = 0;
    std::vector<double> moves;
    bool step(const StepReport& /*report*/) { return ++vectors == 0; }
    void pass(const PassRecord& record) { moves.push_back(record.largest_move()); }
  };
  const IllConditioned<double> p(18);
  Recorder observer;
  const auto found = recover<double>(DenseView<double>(p.X), 4, RecoverOptions{}, observer);
  CHECK(observer.vectors == 500 * count(found.history, Stage::stream));
  REQUIRE(observer.moves.size() == found.history.size());
  for (uword i = 0; i < observer.moves.size(); ++i)
    CHECK(observer.moves[i] == found.history[i].largest_move());
  check_same(found, recover(p.X, 4));  // an observer changes no bit
}

TEST_CASE("the tracker continues from the result, with steps as long as the error") {
  IllConditioned<double> p(19);
  auto found = recover(p.X, 4);
  Tracker<double>& tracker = found.tracker;
  CHECK(tracker.rule().options().max_level == 32);
  const double step = tracker.rule().eta();
  CHECK(step <= 1.5 * std::max(found.estimated_angle, std::ldexp(1.0, -32)));
  CHECK(step >= found.estimated_angle / 1.5);
  for (int j = 0; j < 2000; ++j) tracker.update(p.next());
  CHECK(largest_angle(tracker.basis(), p.truth) <= 1e-6);
}

TEST_CASE("the tracker of a converged result follows the samples to another subspace") {
  const Problem<double> p(60, 500, 4, 0.3, 0.3, 0, 20);
  auto found = recover(p.X, 4);
  REQUIRE(found.status == Status::converged);
  support::Stream<double> other(60, 4, 0.3, 0.3, 21);
  for (int j = 0; j < 2500; ++j) found.tracker.update(other.next());
  CHECK(largest_angle(found.tracker.basis(), other.truth) <= 1e-6);
}

TEST_CASE("the paper's algorithm: a Recoverer without polish keeps the paper's tracker") {
  const Problem<double> p(30, 600, 3, 1.0 / 3, 0.2, 0, 20);
  RecoverOptions options;
  options.polish = false;
  options.max_passes = 50;
  PaperTracker<double> alone(30, 3, AdaptiveStep::paper(), 1);
  auto fit = recoverer(alone, 3, options);
  Unobserved nobody;
  fit.run(DenseView<double>(p.X), nobody);
  CHECK(fit.state().status == Status::converged);
  CHECK(p.angle(fit.state().basis) <= 2e-6);
  fit.state().hand_back(AdaptiveStep::paper());
  gasg21::StreamOptions stream;
  stream.max_passes = 50;
  gasg21::stream_passes(alone, DenseView<double>(p.X), stream, nobody, [](const PassRecord&) {});
  CHECK(same_bits(fit.state().basis, alone.basis()));
  CHECK(same_bits(fit.state().tracker.basis(), alone.basis()));
  CHECK(fit.state().tracker.rule().level() == alone.rule().level());
}

TEST_CASE("GRASTA: a fit to corrupted entries has no estimated angle, and is checked") {
  using Grasta = Tracker<double, gasg21::MultiLevelStep, gasg21::L1Loss, gasg21::NoScaling>;
  Problem<double> p(60, 500, 3, 0, 0.3, 0, 21);
  for (double& entry : p.X)
    if (p.random.uniform() < 0.1) entry += p.random.normal();
  const Problem<double> noise(60, 500, 3, 1, 0.3, 0, 22);
  RecoverOptions options;
  options.polish = false;
  options.tol = 1e-3;
  for (const Problem<double>* each : {&std::as_const(p), &noise}) {
    auto fit = recoverer(Grasta(60, 3, gasg21::MultiLevelStep{}, 1), 3, options);
    Unobserved nobody;
    fit.run(DenseView<double>(each->X), nobody);
    CHECK(std::isnan(fit.state().estimated_angle()));
    if (each == &p) {
      CHECK(fit.state().status == Status::converged);
      CHECK(p.angle(fit.state().basis) <= 1e-2);
    } else {
      CHECK(fit.state().status != Status::converged);
    }
  }
}

TEST_CASE("samples that cannot be used are ignored; data of nothing else is refused") {
  const Problem<double> p(40, 300, 3, 0.3, 0.2, 0, 23);
  arma::mat X = arma::join_rows(p.X, arma::mat(40, 20, arma::fill::zeros));
  X.tail_cols(10).fill(quiet_nan<double>);
  const auto found = recover(X, 3);
  CHECK(found.converged());
  CHECK(p.angle(found.basis) <= 1e-6);
  const arma::mat zeros(40, 20, arma::fill::zeros);
  CHECK(support::contains(support::complaint([&] { recover(zeros, 3); }),
                          "no sample of X could be used: 20 seen, 20 zero"));
}

TEST_CASE("a dimension that does not fit is refused") {
  const Problem<double> p(20, 50, 2, 0, 0, 0, 24);
  CHECK(support::contains(support::complaint([&] { recover(p.X, 20); }), "d = 20"));
  CHECK_THROWS_AS(recoverer(Tracker<>(20, 2), 3), std::invalid_argument);
  CHECK_FALSE(support::complaint([&] { recoverer(Tracker<>(20, 2), 0); }).empty());
}

TEST_CASE("the status of a settled fit depends on its estimated error") {
  using gasg21::verdict;
  CHECK(gasg21::settled_status<double>(0.9e-5, 1e-6) == Status::converged);
  CHECK(gasg21::settled_status<double>(1.1e-5, 1e-6) == Status::noise_floor);
  CHECK(gasg21::settled_status<float>(1e-5, 1e-9) == Status::converged);  // what float can reach
  CHECK(verdict<double>({1e-7, 1e-6}, 1e-6) == Status::converged);
  CHECK(verdict<double>({1e-7, 1e-2}, 1e-6) == Status::noise_floor);
  CHECK(verdict<double>({1e-7, 0.3}, 1e-6) == Status::undetermined);
  for (const Status status : {Status::converged, Status::noise_floor, Status::max_passes,
                              Status::undetermined, Status::rank_deficient, Status::interrupted})
    CHECK(gasg21::is_converged(status) ==
          (status == Status::converged || status == Status::noise_floor));
  CHECK(std::string(to_string(Status::noise_floor)) == "noise_floor");
  CHECK(std::string(to_string(Status::interrupted)) == "interrupted");
}

TEST_CASE(
    "many samples: the stream sees some of them, the polish all, and the answer is the same") {
  const uword m = 60000;
  Problem<double> p(20, m, 2, 0.3, 0.2, 0.01, 11);
  RecoverOptions options;
  options.n_threads = 2;
  const Recovery<double> found = recover(p.X, 2, options);
  CHECK(found.status == Status::noise_floor);
  CHECK(found.history.front().n_samples == 20000);
  CHECK(found.history.back().n_samples == m);
  CHECK(found.tracker.counters().seen() == m);
  // The fixed point of the polish on all samples.
  gasg21::Polisher<double> polisher(p.truth, m);
  for (int pass = 0; pass < 8; ++pass) polisher.pass(DenseView<double>(p.X), gasg21::Parallel(2));
  CHECK(largest_angle(found.basis, polisher.basis()) <= 0.05 * found.estimated_angle);
  CHECK(found.estimated_angle == doctest::Approx(polisher.estimated_angle()).epsilon(0.01));
  CHECK(largest_angle(found.basis, p.truth) < 3 * found.estimated_angle);
}

TEST_CASE("rounds over blocks lead to the answer of a fit in memory") {
  const Problem<double> p(30, 3000, 3, 0.4, 0.3, 0.01, 12);
  const DenseView<double> all(p.X);
  const arma::mat sample = p.X.head_cols(600);
  const AdaptiveStep rule(gasg21::AdaptiveStepOptions::defaults(true, false));
  const RecoverOptions options;
  Unobserved nobody;
  Recoverer<Tracker<double>> fit(Tracker<double>(30, 3, rule, 0), 3, options);
  fit.solve(DenseView<double>(sample), nobody);
  REQUIRE(fit.may_go_on());
  uword rounds = 0;
  bool last = false;
  while (!last && rounds++ < 20) {
    gasg21::BlockSums total(30, 3);
    for (uword from = 0; from < 3000; from += 1000)
      total += gasg21::block_sums(fit.working_basis(), fit.scatter(),
                                  DenseView<double>(p.X.colptr(from), 30, 1000, 30));
    last = fit.round(total, nobody);
  }
  fit.conclude(DenseView<double>(sample), 0.2, nobody);
  fit.state().hand_back(AdaptiveStep{});
  CHECK(rounds <= 4);
  CHECK(fit.state().status == Status::noise_floor);
  CHECK(fit.state().tracker.counters().seen() == 3000);
  const Recovery<double> in_memory = recover(p.X, 3, options);
  CHECK(largest_angle(fit.state().basis, in_memory.basis) <= 0.05 * in_memory.estimated_angle);
  CHECK(fit.state().estimated_angle() == doctest::Approx(in_memory.estimated_angle).epsilon(0.05));
}
