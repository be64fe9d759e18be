// union/union_fit.hpp: the whole fit of a union, and what each option does to it.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <gasg21/recover_union.hpp>
#include <string>
#include <utility>
#include <vector>

#include "union_samples.hpp"
#include "union_support.hpp"

using gasg21::agreement_of;
using gasg21::AnyView;
using gasg21::automatic;
using gasg21::Choice;
using gasg21::DenseView;
using gasg21::KSubspaces;
using gasg21::largest_angle;
using gasg21::recover_union;
using gasg21::Status;
using gasg21::UnionFit;
using gasg21::UnionOptions;
using gasg21::UnionOrder;
using gasg21::UnionRecovery;
using gasg21::UnionStart;
using gasg21::Unobserved;
using support::gaussian;
using support::same;
using support::same_bits;
using support::Union;
using support::uword;

namespace {

/// How far the labels are right on the samples that are no outliers.
template <class Labels>
double right(const Labels& truth, uword K, const arma::uvec& labels) {
  const arma::uvec inliers = arma::find(truth < K);
  return agreement_of(truth.elem(inliers), labels.elem(inliers));
}

/// Three planes in R^40, 80 samples each, 80 outliers.
template <class T = double>
Union<T> planes(double missing, double noise, std::uint64_t seed) {
  return {40, same(3, 2), 80, 80, missing, noise, seed};
}

/// Of the planes with noise of 1e-3: about 1e-3 sqrt(38 / 80), over the share of observed entries.
constexpr double twice_the_error = 2e-3;

/// The same planes away from 0, each at a point of its own.
Union<double> flats(std::vector<arma::vec>& points, std::uint64_t seed) {
  Union<double> problem = planes(0.1, 1e-3, seed);
  for (uword k = 0; k < 3; ++k) points.push_back(gaussian<double>(40, problem.random));
  for (uword j = 0; j < problem.X.n_cols; ++j)
    if (problem.labels[j] < 3) problem.X.col(j) += points[problem.labels[j]];
  return problem;
}

/// Stops for good when a stage of this name begins.
struct StopAtStage : Unobserved {
  std::string name;
  bool stopped = false;

  explicit StopAtStage(std::string stage_name) : name(std::move(stage_name)) {}
  void stage(const char* begun) { stopped = stopped || begun == name; }
  bool poll() { return stopped; }
};

/// Counts polls, and stops for good at one of them; 0 = never.
struct StopAtPoll : Unobserved {
  int last, polls = 0;
  bool has_passed = false;

  explicit StopAtPoll(int poll_number) : last(poll_number) {}
  void pass(const gasg21::PassRecord& /*record*/) { has_passed = true; }
  bool poll() { return ++polls >= last && last > 0; }
};

}  // namespace

TEST_CASE("subspaces that are clear at sight are those of one run") {
  for (const double missing : {0.0, 0.5}) {
    const auto problem = planes(missing, 0, 1);
    const auto found = recover_union(problem.X, 3, 2);
    CHECK(found.status == Status::converged);
    CHECK_FALSE(found.agreement);  // none was asked
    CHECK_FALSE(found.selection);
    CHECK_FALSE(found.model.coordinates().whitening);
    UnionOptions one_run;
    one_run.start = UnionStart::density;
    CHECK(same_bits(found.bases[0], recover_union(problem.X, 3, 2, one_run).bases[0]));
    CHECK(problem.worst(found.bases) < 1e-6);
    CHECK(right(problem.labels, 3, found.labels) == 1);
  }
}

TEST_CASE("a run that other representations agree with stands") {
  const auto made = support::close_subspaces(3, 1.5);
  UnionOptions one_run;
  one_run.start = UnionStart::density;
  const auto found = recover_union(made.X, 3, 3);
  REQUIRE(found.agreement);
  CHECK(*found.agreement >= 0.97);
  CHECK_FALSE(found.model.coordinates().whitening);
  CHECK(same_bits(found.bases[0], recover_union(made.X, 3, 3, one_run).bases[0]));
}

TEST_CASE_TEMPLATE("a consensus finds close subspaces among outliers", T, double, float) {
  const auto made = support::close_subspaces(3);
  const auto X = arma::conv_to<arma::Mat<T>>::from(made.X);
  UnionOptions options;
  options.reject_outliers = true;
  const auto found = recover_union(X, 3, 3, options);
  REQUIRE(found.agreement);
  REQUIRE(found.model.coordinates().whitening);
  const arma::uvec clear = support::clear_members(made);
  CHECK(clear.n_elem > 150);
  CHECK(agreement_of(made.labels.elem(clear), found.labels.elem(clear)) == 1);
  CHECK(arma::all(found.labels.tail(40) == 3));  // the outliers
  for (uword k = 0; k < 3; ++k) {
    double nearest = 10;
    for (const auto& U : made.bases)
      nearest = std::min(
          nearest, double(largest_angle(arma::conv_to<arma::Mat<T>>::from(U), found.bases[k])));
    CHECK(nearest < 0.02);
  }
  // One run does not find them.
  options.start = UnionStart::density;
  CHECK(right(made.labels, 3, recover_union(X, 3, 3, options).labels) < 0.9);
}

TEST_CASE("a consensus depends on the seed alone, not on the number of threads") {
  const auto made = support::close_subspaces(2);
  UnionOptions options;
  const auto one = recover_union(made.X, 2, 3, options);
  options.n_threads = 3;
  const auto three = recover_union(made.X, 2, 3, options);
  REQUIRE(one.model.coordinates().whitening);
  CHECK(same_bits<uword>(one.labels, three.labels));
  CHECK(same_bits<double>(one.residuals, three.residuals));
  CHECK(same_bits(one.bases[0], three.bases[0]));
  CHECK(*one.agreement == *three.agreement);
  CHECK(one.status == three.status);
}

TEST_CASE("a stop during the consensus leaves the run") {
  const auto made = support::close_subspaces(3);
  const AnyView<double> data{DenseView<double>(made.X)};
  StopAtStage observer("compare representations");
  const auto found = recover_union<double>(data, UnionOrder{3, {3}}, UnionOptions{}, observer);
  REQUIRE(observer.stopped);
  CHECK(found.status == Status::interrupted);
  CHECK_FALSE(found.converged());
  CHECK_FALSE(found.model.coordinates().whitening);
  UnionOptions options;
  options.start = UnionStart::density;
  const auto run = recover_union(made.X, 3, 3, options);
  for (uword k = 0; k < 3; ++k) CHECK(same_bits(found.bases[k], run.bases[k]));
  CHECK(same_bits<uword>(found.labels, run.labels));
}

TEST_CASE("a stop at any time leaves a usable result once there is a stream") {
  constexpr int tried = 12;
  const auto made = support::close_subspaces(2);
  const AnyView<double> data{DenseView<double>(made.X)};
  StopAtPoll whole(0);
  CHECK(recover_union<double>(data, {2, {3}}, UnionOptions{}, whole).converged());
  REQUIRE(whole.polls > tried);
  int thrown = 0;
  for (int i = 1; i <= tried; ++i) {
    CAPTURE(i);
    // Nothing is left to stop in the last poll.
    StopAtPoll observer(i * whole.polls / (tried + 1));
    try {
      const auto found = recover_union<double>(data, {2, {3}}, UnionOptions{}, observer);
      CHECK(found.status == Status::interrupted);
      CHECK(found.labels.max() < 2);
      CHECK(found.residuals.is_finite());
      for (const auto& U : found.bases) CHECK(gasg21::orthonormality_error(U) < 1e-12);
    } catch (const gasg21::Stopped&) {
      CHECK_FALSE(observer.has_passed);
      ++thrown;
    }
  }
  CHECK(thrown < tried);
}

TEST_CASE("with center each flat is found, and a point of it") {
  std::vector<arma::vec> points;
  const auto problem = flats(points, 3);
  UnionOptions options;
  options.center = true;
  const auto found = recover_union(problem.X, 3, 2, options);
  CHECK(found.converged());
  CHECK(right(problem.labels, 3, found.labels) == 1);
  for (uword k = 0; k < 3; ++k) {
    const arma::uvec members = arma::find(problem.labels == k);
    const uword own = found.labels[members[0]];
    const arma::mat& U = problem.truth[k];
    CHECK(largest_angle(U, found.bases[own]) < 1e-2);
    const arma::vec off = found.means.col(own) - points[k];
    CHECK(arma::norm(off - U * (U.t() * off)) < 1e-2);  // ten times the noise
  }
  const auto through_zero = recover_union(problem.X, 3, 2);
  CHECK(arma::all(arma::vectorise(through_zero.means) == 0));
}

TEST_CASE("the data chooses the number of subspaces, their dimension, or both") {
  const Union<double> problem(30, same(3, 3), 70, 40, 0, 1e-3, 4);
  for (const auto& [K, d] :
       {std::pair<uword, uword>{automatic, 3}, {3, automatic}, {automatic, automatic}}) {
    CAPTURE(K);
    CAPTURE(d);
    const auto found = recover_union(problem.X, K, d);
    REQUIRE(found.selection);
    CHECK(found.selection->n_components == same(3, 3));
    CHECK(found.model.dimensions() == same(3, 3));
    CHECK(problem.worst(found.bases) < 1e-2);
    CHECK(found.converged());
  }
}

TEST_CASE("each cluster gets the dimension that its members have") {
  const Union<double> problem(40, {4, 2, 3}, 100, 0, 0, 1e-3, 5);
  const auto found = recover_union(problem.X, 3, automatic);
  std::vector<uword> dimensions = found.model.dimensions();
  CHECK(found.selection->n_components == dimensions);
  for (uword k = 0; k < 3; ++k) {
    const uword own = found.labels[arma::uvec(arma::find(problem.labels == k))[0]];
    CHECK(dimensions[own] == problem.truth[k].n_cols);
  }
  CHECK(right(problem.labels, 3, found.labels) == 1);
}

TEST_CASE("outliers are rejected if that is asked, and members are not") {
  for (const double missing : {0.0, 0.3}) {
    const auto problem = planes(missing, 1e-2, 6);
    UnionOptions options;
    CHECK(recover_union(problem.X, 3, 2, options).labels.max() < 3);
    options.reject_outliers = true;
    const auto found = recover_union(problem.X, 3, 2, options);
    CHECK(arma::all((found.labels == 3) == (problem.labels == 3)));
    CHECK(right(problem.labels, 3, found.labels) == 1);
  }
}

TEST_CASE("several runs are joined, and each cluster fitted by itself") {
  const auto problem = planes(0, 1e-3, 7);
  UnionOptions options;
  options.n_ensemble = 4;
  const auto found = recover_union(problem.X, 3, 2, options);
  CHECK_FALSE(found.agreement);
  CHECK(found.converged());
  CHECK(right(problem.labels, 3, found.labels) == 1);
  CHECK(problem.worst(found.bases) < twice_the_error);
  options.n_threads = 3;
  CHECK(same_bits(recover_union(problem.X, 3, 2, options).bases[0], found.bases[0]));
}

TEST_CASE("whitened coordinates are used if that is asked") {
  const auto problem = planes(0.2, 1e-3, 8);
  UnionOptions options;
  options.whiten = Choice::yes;
  const auto found = recover_union(problem.X, 3, 2, options);
  REQUIRE(found.model.coordinates().whitening);
  CHECK(found.model.bases()[0].n_rows == 12);  // 2 sum d
  CHECK(found.stream.n() == 12);
  CHECK(found.bases[0].n_rows == 40);
  CHECK(right(problem.labels, 3, found.labels) == 1);
  CHECK(problem.worst(found.bases) < twice_the_error);
  CHECK_FALSE(found.agreement);
  options.whiten = Choice::no;
  CHECK_FALSE(recover_union(problem.X, 3, 2, options).model.coordinates().whitening);
}

TEST_CASE("a screening leaves outliers out of the search") {
  const auto problem = planes(0, 1e-3, 9);
  UnionOptions options;
  options.start = UnionStart::farthest;  // which outliers would mislead
  options.screen = Choice::yes;
  const auto found = recover_union(problem.X, 3, 2, options);
  CHECK(problem.worst(found.bases) < twice_the_error);
  CHECK(right(problem.labels, 3, found.labels) == 1);
  CHECK(arma::accu(found.history.back().members) == 240);  // the samples without the outliers
  options.screen = Choice::no;
  const auto all = recover_union(problem.X, 3, 2, options);
  CHECK(arma::accu(all.history.back().members) == 320);
}

TEST_CASE("a spectral start leads to all subspaces, also with missing entries") {
  for (const double missing : {0.0, 0.3}) {
    const auto problem = planes(missing, 1e-3, 10);
    UnionOptions options;
    options.start = UnionStart::spectral;
    const auto found = recover_union(problem.X, 3, 2, options);
    CHECK_FALSE(found.agreement);
    CHECK(found.converged());
    CHECK(problem.worst(found.bases) < twice_the_error);
    CHECK(right(problem.labels, 3, found.labels) == 1);
  }
}

TEST_CASE("a number of clusters that does not suit the data is doubted") {
  const auto problem = planes(0, 1e-3, 11);
  CHECK(recover_union(problem.X, 2, 2).status == Status::too_few_clusters);
  CHECK(recover_union(problem.X, 4, 2).status == Status::too_many_clusters);
}

TEST_CASE("a stream starts beside the data, with the model of its subspaces") {
  const auto problem = planes(0.2, 0, 12);
  const AnyView<double> data{DenseView<double>(problem.X)};
  const gasg21::AdaptiveStep rule;
  UnionFit<KSubspaces<double>> fit(data, {3, {2}}, rule, rule, gasg21::CovarianceScaling{}, {});
  Unobserved nobody;
  fit.start({}, nobody);
  CHECK(problem.worst(fit.model().subspaces()) < 1);  // of the candidates, each is near to one
  for (uword k = 0; k < 3; ++k) {
    CHECK(same_bits(fit.model().bases()[k], fit.stream().basis(k)));
    CHECK(same_bits(fit.found().bases[k], fit.stream().basis(k)));
  }
  CHECK(fit.found().history.empty());
}

TEST_CASE("numbers that do not suit the data are refused") {
  const auto problem = planes(0, 0, 13);
  const auto complaint = [&](const UnionOrder& order) {
    Unobserved nobody;
    return support::complaint([&] {
      recover_union<double>(DenseView<double>(problem.X), order, UnionOptions{}, nobody);
    });
  };
  CHECK(support::contains(complaint({3, {2, 2}}), "there are 2 dimensions for n_clusters=3"));
  CHECK(support::contains(complaint({3, {40}}), "d = 40 must be in [1, n - 1]"));
  CHECK(support::contains(complaint({3, {2, 0, 2}}), "d = 0 must be in [1, n - 1]"));
  CHECK(support::contains(complaint({0, {}}), "there must be at least one dimension"));
}
