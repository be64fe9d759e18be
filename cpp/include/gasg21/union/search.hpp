// The search for the subspaces of a union: one run or a consensus, in the coordinates that the
// options or the data ask for.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gasg21/data/dense_samples.hpp"
#include "gasg21/data/views.hpp"
#include "gasg21/fit/assign.hpp"
#include "gasg21/recovery/report.hpp"
#include "gasg21/recovery/sampling.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/union/cluster_dimensions.hpp"
#include "gasg21/union/ensemble.hpp"
#include "gasg21/union/fit_screening.hpp"
#include "gasg21/union/number_doubts.hpp"
#include "gasg21/union/one_run.hpp"
#include "gasg21/union/options.hpp"
#include "gasg21/union/quick_labels.hpp"
#include "gasg21/union/refit.hpp"
#include "gasg21/union/second_opinion.hpp"
#include "gasg21/union/whitening.hpp"
#include "gasg21/union/working_samples.hpp"

namespace gasg21 {

/// The subspaces that a search has found, in the working coordinates, and how it went.
template <class Stream>
struct UnionFound {
  using T = typename Stream::value_type;
  using Rule = typename UnionRun<Stream>::Rule;

  std::optional<Stream> stream;
  std::optional<Rule> stream_rule;  // for streams that continue from here
  std::vector<arma::Mat<T>> bases;
  UnionCoordinates<T> coordinates;
  Status status = Status::interrupted;
  arma::vec estimated_angles;
  std::vector<PassRecord> history;
  UnionTimings timings;
  Counters counters;
  std::optional<double> agreement;  // of different representations; empty = none was asked
  bool by_consensus = false;
  std::vector<uword> left_out;  // samples that took no part in the consensus

  UnionFound() = default;
  explicit UnionFound(UnionRun<Stream>& run)
      : stream(run.stream()),
        stream_rule(run.stream_rule()),
        bases(run.bases()),
        status(run.status()),
        estimated_angles(run.estimated_angles()),
        history(run.history()),
        timings(run.timings()),
        counters(stream->counters()) {}

  /// Lets the stream begin anew elsewhere. The report of the run before remains.
  void start_from(UnionRun<Stream>& run) {
    stream.emplace(run.stream());
    stream_rule.emplace(run.stream_rule());
    bases = run.bases();
  }
};

/// Searches for subspaces of given dimensions. The view is lifted for affine subspaces, and then
/// the dimensions are of lifted samples, too.
template <class Stream>
class UnionSearch {
 public:
  using T = typename Stream::value_type;
  using Run = UnionRun<Stream>;
  using Rule = typename Run::Rule;
  using Metric = typename Run::Metric;
  using Bases = std::vector<arma::Mat<T>>;

  /// The rules and the metric as for UnionRun.
  UnionSearch(Rule fit_rule, Rule stream_rule, Metric metric, const UnionOptions& options)
      : fit_rule_(std::move(fit_rule)),
        stream_rule_(std::move(stream_rule)),
        metric_(std::move(metric)),
        options_(options) {}

  void set_data(const AnyView<T>& view, std::shared_ptr<const Lift<T>> lift) {
    data_ = {{view, {std::move(lift), nullptr}, nullptr}};
  }
  void set_dimensions(std::vector<uword> dimensions) { dimensions_ = std::move(dimensions); }
  const std::vector<uword>& dimensions() const { return dimensions_; }

  /// Finds the subspaces, from given ones if there are any. Throws Stopped if it was stopped before
  /// there were subspaces.
  template <class Observer>
  UnionFound<Stream> find(const Bases& given, Observer& observer) {
    if (options_.may_seek_consensus() && given.empty()) return find_by_evidence(observer);
    const WorkingSamples<T> good = prepare(observer);
    const bool joins = options_.n_ensemble > 1 && dimensions_.size() > 1 && given.empty();
    return joins ? join(good, observer) : run_once(good, given, observer);
  }

  /// Finds the subspaces that a stream starts from.
  template <class Observer>
  UnionFound<Stream> start(const Bases& given, Observer& observer) {
    const WorkingSamples<T> good = prepare(observer);
    Run run = make_run();
    run.start(good.view, given.empty() ? start_of(good, observer) : given, observer, true);
    UnionFound<Stream> found(run);
    found.coordinates = good.coordinates;
    return found;
  }

  /// The dimension of each cluster that was found, by its members in the working coordinates.
  template <class Observer>
  std::vector<uword> found_dimensions(const UnionFound<Stream>& found, Observer& observer) const {
    const Parallel threads = parallel(observer);
    const auto& whitening = found.coordinates.whitening;
    if (!whitening) return cluster_dimensions(found.bases, view(), options_.seed, threads);
    const WorkingSamples<T> working =
        copied_samples(view(), part_of(view(), 0, view().n_cols).columns, found.coordinates,
                       [&](const arma::mat& X) { return whitening->apply(X, threads); });
    return cluster_dimensions(found.bases, working.view, options_.seed, threads);
  }

 private:
  // Samples that are whitened, compared with other representations, or clustered by them.
  static constexpr uword examined = 3000;

  const AnyView<T>& view() const { return data_->view; }

  template <class Observer>
  Parallel parallel(Observer& observer) const {
    return Parallel(options_.n_threads, [&observer] { return observer.poll(); });
  }

  /// One run, unless other representations contradict it and it is not clear at sight.
  template <class Observer>
  UnionFound<Stream> find_by_evidence(Observer& observer) {
    UnionFound<Stream> found = run_once(*data_, {}, observer);
    if (found.status == Status::interrupted || dimensions_.size() == 1) return found;
    try {
      const Parallel threads = parallel(observer);
      // A run that the data leaves open may have all clusters in one subspace, and outliers in the
      // others: these, too, are told apart at sight.
      if (is_converged(found.status) && is_clear(found.bases, view(), options_.seed, threads))
        return found;
      observer.stage("compare representations");
      SecondOpinion opinion = ask_second_opinion(
          found.bases, view(), examined_columns(view().n_cols), options_, threads);
      found.agreement = opinion.agreement;
      found.left_out = std::move(opinion.left_out);
      if (opinion.consensus) follow(std::move(*opinion.consensus), found, observer);
    } catch (const Stopped&) {
      found.status = Status::interrupted;
    }
    return found;
  }

  /// The stream starts anew from the subspaces of a consensus.
  template <class Observer>
  void follow(ConsensusStart consensus, UnionFound<Stream>& found, Observer& observer) {
    const auto points = arma::conv_to<arma::Mat<T>>::from(consensus.points);
    Run run(dimensions_, fit_rule_, stream_rule_, metric_, options_);
    run.start(AnyView<T>(DenseView<T>(points)), converted(consensus.bases), observer, true);
    found.start_from(run);
    found.coordinates.whitening = std::move(consensus.whitening);
    found.by_consensus = true;
  }

  std::vector<uword> examined_columns(uword m) const {
    return random_columns(m, examined, options_.seed);
  }

  static Bases converted(const std::vector<arma::mat>& bases) {
    Bases all;
    for (const arma::mat& U : bases) all.push_back(arma::conv_to<arma::Mat<T>>::from(U));
    return all;
  }

  /// The samples and the coordinates that the options ask for: whitened, or without outliers.
  template <class Observer>
  WorkingSamples<T> prepare(Observer& observer) {
    const Parallel threads = parallel(observer);
    const uword K = dimensions_.size();
    const bool whitens = options_.whiten == Choice::yes;
    if (!whitens && options_.screen != Choice::yes) return *data_;
    const arma::mat some = dense_samples(view(), examined_columns(view().n_cols));
    if (!whitens) {
      const Screening screening = fit_screening(some, dimensions_, options_.seed, threads);
      const auto inliers = inlier_columns(
          view(), K, [&](const arma::mat& X) { return screening.overall.is_outlier(X, threads); });
      return copied_samples(view(), inliers, data_->coordinates,
                            [](const arma::mat& X) { return X; });
    }
    const auto whitening =
        std::make_shared<const Whitening>(fit_whitening(some, dimensions_, options_.seed, threads));
    const auto inliers = inlier_columns(
        view(), K, [&](const arma::mat& X) { return whitening->is_outlier(X, threads); });
    return copied_samples(view(), inliers, UnionCoordinates<T>{data_->coordinates.lift, whitening},
                          [&](const arma::mat& X) { return whitening->apply(X, threads); });
  }

  UnionRunOptions run_options() const {
    UnionRunOptions options = options_;
    const bool whitened = options_.whiten == Choice::yes;
    // Whitening leaves outliers out, which density avoids.
    const bool farthest = options_.start == UnionStart::farthest || whitened;
    options.seeding = farthest ? Seeding::farthest : Seeding::density;
    if (whitened && options.n_neighbors == 0)
      options.n_neighbors = 2 * *std::max_element(dimensions_.begin(), dimensions_.end()) + 2;
    return options;
  }

  Run make_run() const { return Run(dimensions_, fit_rule_, stream_rule_, metric_, run_options()); }

  template <class Observer>
  UnionFound<Stream> run_once(const WorkingSamples<T>& good, const Bases& given,
                              Observer& observer) {
    Run run = make_run();
    run.run(good.view, given.empty() ? start_of(good, observer) : given, observer);
    run.hand_back();
    UnionFound<Stream> found(run);
    found.coordinates = good.coordinates;
    return found;
  }

  /// The subspaces of a spectral start; none for other starts.
  template <class Observer>
  Bases start_of(const WorkingSamples<T>& good, Observer& observer) {
    if (options_.start != UnionStart::spectral || dimensions_.size() == 1) return {};
    const Parallel threads = parallel(observer);
    arma::mat X = dense_samples(good.view, examined_columns(good.view.n_cols));
    if (X.has_nan() || options_.screens(dimensions_, X.n_rows))
      X = inside(X, fit_screening(X, dimensions_, options_.seed, threads), threads);
    return converted(spectral_start(X, dimensions_, options_.seed, threads));
  }

  /// Several runs joined by what they agree on, and each cluster fitted by itself.
  template <class Observer>
  UnionFound<Stream> join(const WorkingSamples<T>& good, Observer& observer) {
    const Parallel threads = parallel(observer);
    observer.stage("join the runs");
    const auto is_near = [&](const Bases& bases) {
      return near_own(bases, assign(SubspaceBank<T>(bases), good.view, threads), good.view);
    };
    const JoinedRuns<T> joined =
        join_runs<PaperStream<T>>(good.view, dimensions_, AdaptiveStep::paper(), NoScaling{},
                                  run_options(), options_.n_ensemble, is_near, threads);
    Run run = make_run();
    run.start(good.view, joined.best, observer);
    UnionFound<Stream> found(run);
    found.coordinates = good.coordinates;
    found.counters = joined.counters;
    found.status = Status::undetermined;
    if (joined.joined.empty()) return found;
    std::vector<arma::mat> members;
    for (const arma::uvec& own : members_of(joined.labels, dimensions_.size()))
      members.push_back(dense_samples(
          good.view, arma::conv_to<std::vector<uword>>::from(joined.joined.elem(own))));
    Refitted<T> refitted{found.bases, found.estimated_angles};
    refit(refitted, members, {options_.tol, options_.seed}, threads);
    found.bases = std::move(refitted.bases);
    found.estimated_angles = refitted.estimated_angles;
    found.status = status_of_refit<T>(Status::noise_floor, found.estimated_angles, options_.tol);
    continue_from(*found.stream, found.bases, found.estimated_angles, *found.stream_rule);
    return found;
  }

  Rule fit_rule_, stream_rule_;
  Metric metric_;
  UnionOptions options_;
  std::optional<WorkingSamples<T>> data_;
  std::vector<uword> dimensions_;
};

}  // namespace gasg21
