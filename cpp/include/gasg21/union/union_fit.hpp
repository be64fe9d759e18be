// A fit of a union from the data to the subspaces: the lift of affine data, the numbers that the
// data decides, one run or a consensus, the clusters fitted each by itself, doubts.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gasg21/data/dense_samples.hpp"
#include "gasg21/data/views.hpp"
#include "gasg21/recovery/sampling.hpp"
#include "gasg21/seeding/choose_lift.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/union/cluster_dimensions.hpp"
#include "gasg21/union/ensemble.hpp"
#include "gasg21/union/model_order.hpp"
#include "gasg21/union/number_doubts.hpp"
#include "gasg21/union/one_run.hpp"
#include "gasg21/union/options.hpp"
#include "gasg21/union/quick_labels.hpp"
#include "gasg21/union/refit.hpp"
#include "gasg21/union/second_opinion.hpp"
#include "gasg21/union/union.hpp"
#include "gasg21/union/whitening.hpp"

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

  /// Lets the stream begin anew elsewhere. The report remains that of the run before.
  void start_from(UnionRun<Stream>& run) {
    stream.emplace(run.stream());
    stream_rule.emplace(run.stream_rule());
    bases = run.bases();
  }
};

template <class Stream>
class UnionFit {
 public:
  using T = typename Stream::value_type;
  using Run = UnionRun<Stream>;
  using Rule = typename Run::Rule;
  using Metric = typename Run::Metric;
  using Bases = std::vector<arma::Mat<T>>;

  /// The rules and the metric as for UnionRun.
  UnionFit(const AnyView<T>& data, UnionOrder order, Rule fit_rule, Rule stream_rule, Metric metric,
           const UnionOptions& options)
      : data_(data),
        view_(data),
        order_(std::move(order)),
        fit_rule_(std::move(fit_rule)),
        stream_rule_(std::move(stream_rule)),
        metric_(std::move(metric)),
        options_(options) {
    order_.check(data.n_rows);
    require(!data.lift, "the data is lifted already");
  }

  /// Runs from the data to the end, or until the observer stops it. Throws Stopped if it was
  /// stopped before there were subspaces.
  template <class Observer>
  void run(const Bases& given, Observer& observer) {
    begin(observer);
    found_ = find(given, observer);
    if (order_.chooses_dimensions() && !is_interrupted()) choose_dimensions(given, observer);
    finish(observer);
  }

  /// Finds the subspaces that a stream starts from.
  template <class Observer>
  void start(const Bases& given, Observer& observer) {
    begin(observer);
    const Prepared good = prepare(observer);
    Run run = make_run();
    run.start(good.view, given.empty() ? start_of(good, observer) : given, observer, true);
    found_ = UnionFound<Stream>(run);
    found_.coordinates = good.coordinates;
    make_model();
  }

  const Union<T>& model() const { return *model_; }
  const UnionFound<Stream>& found() const { return found_; }
  Stream& stream() { return *found_.stream; }
  const std::optional<Selection>& selection() const { return selection_; }
  /// The subspace of each sample; their number = none.
  const arma::uvec& labels() const { return assigned_.labels; }
  const arma::Col<T>& residuals() const { return assigned_.residuals; }

 private:
  // Samples that are whitened, compared with other representations, or clustered by them.
  static constexpr uword examined = 3000;

  /// The samples that take part in a run, in their coordinates.
  struct Prepared {
    AnyView<T> view;
    UnionCoordinates<T> coordinates;
    std::shared_ptr<const arma::Mat<T>> memory;  // behind the view, if it is not the data itself
  };

  bool is_interrupted() const { return found_.status == Status::interrupted; }
  uword more() const { return lift_ ? lift_->n_appended() : 0; }

  template <class Observer>
  Parallel parallel(Observer& observer) const {
    return Parallel(options_.n_threads, [&observer] { return observer.poll(); });
  }

  /// The lift, and the numbers that are left to the data.
  template <class Observer>
  void begin(Observer& observer) {
    if (options_.center) {
      lift_ = std::make_shared<const Lift<T>>(choose_lift<T>(data_, constant_share_of_union));
      view_ = lifted<T>(data_, *lift_);
    }
    dimensions_ = order_.is_given() ? given_dimensions() : chosen_dimensions(observer);
    for (uword& d : dimensions_) d += more();
  }

  /// Chooses the numbers that are left to the data.
  template <class Observer>
  std::vector<uword> chosen_dimensions(Observer& observer) {
    const Parallel threads = parallel(observer);
    if (!order_.chooses_dimensions()) {
      selection_ =
          choose_n_clusters<T>(view_, order_.dimensions[0] + more(), options_.seed, threads);
    } else {
      std::optional<uword> count;
      if (!order_.chooses_clusters()) count = order_.n_clusters;
      selection_ = choose_order<T>(view_, count, options_.seed, threads);
    }
    for (uword& d : selection_->n_components) d = std::max<uword>(d, more() + 1) - more();
    return selection_->n_components;
  }

  std::vector<uword> given_dimensions() const {
    if (order_.dimensions.size() == order_.n_clusters) return order_.dimensions;
    return std::vector<uword>(order_.n_clusters, order_.dimensions[0]);
  }

  /// Searches again if the clusters that were found have other dimensions than assumed.
  template <class Observer>
  void choose_dimensions(const Bases& given, Observer& observer) {
    std::vector<uword> own = found_dimensions(observer);
    for (uword& d : own) d = std::max<uword>(d, more() + 1);
    if (own == dimensions_) return;
    dimensions_ = own;
    for (uword& d : own) d -= more();
    selection_->n_components = std::move(own);
    found_ = find(given, observer);
  }

  /// The dimension of each cluster that was found, in the working coordinates.
  template <class Observer>
  std::vector<uword> found_dimensions(Observer& observer) {
    const Parallel threads = parallel(observer);
    if (!found_.coordinates.whitening)
      return cluster_dimensions(found_.bases, view_, options_.seed, threads);
    Prepared working{view_, found_.coordinates, nullptr};
    keep_inliers(
        working, [](const arma::mat& X) { return std::vector<bool>(X.n_cols, false); },
        [&](const arma::mat& X) { return working.coordinates.whitening->apply(X, threads); });
    return cluster_dimensions(found_.bases, working.view, options_.seed, threads);
  }

  template <class Observer>
  UnionFound<Stream> find(const Bases& given, Observer& observer) {
    if (options_.may_seek_consensus() && given.empty()) return find_by_evidence(observer);
    const Prepared good = prepare(observer);
    const bool joins = options_.n_ensemble > 1 && dimensions_.size() > 1 && given.empty();
    return joins ? join(good, observer) : run_once(good, given, observer);
  }

  /// One run, unless other representations contradict it and it is not clear at sight.
  template <class Observer>
  UnionFound<Stream> find_by_evidence(Observer& observer) {
    UnionFound<Stream> found = run_once({view_, {lift_, nullptr}, nullptr}, {}, observer);
    if (found.status == Status::interrupted || dimensions_.size() == 1) return found;
    try {
      const Parallel threads = parallel(observer);
      // A run that the data leaves open may have all clusters in one subspace, and outliers in the
      // others: these, too, are told apart at sight.
      if (is_converged(found.status) && is_clear(found.bases, view_, options_.seed, threads))
        return found;
      observer.stage("compare representations");
      SecondOpinion opinion =
          ask_second_opinion(found.bases, view_, examined_columns(view_.n_cols), options_, threads);
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
  Prepared prepare(Observer& observer) {
    Prepared all{view_, {lift_, nullptr}, nullptr};
    const Parallel threads = parallel(observer);
    const std::vector<uword> some = examined_columns(view_.n_cols);
    if (options_.whiten == Choice::yes) {
      all.coordinates.whitening = std::make_shared<const Whitening>(
          fit_whitening(dense_samples(view_, some), dimensions_, options_.seed, threads));
      const auto is_outlier = [&](const arma::mat& X) {
        return all.coordinates.whitening->is_outlier(X, threads);
      };
      keep_inliers(all, is_outlier, [&](const arma::mat& X) {
        return all.coordinates.whitening->apply(X, threads);
      });
    } else if (options_.screen == Choice::yes && !options_.may_seek_consensus()) {
      const Screening screening =
          fit_screening(dense_samples(view_, some), dimensions_, options_.seed, threads);
      const auto is_outlier = [&](const arma::mat& X) {
        return screening.overall.is_outlier(X, threads);
      };
      keep_inliers(all, is_outlier, [](const arma::mat& X) { return X; });
    }
    return all;
  }

  /// Copies the samples in other coordinates; only the inliers, if there are enough of them.
  template <class IsOutlier, class Apply>
  void keep_inliers(Prepared& all, const IsOutlier& is_outlier, const Apply& apply) const {
    constexpr uword block = 1024;
    std::vector<arma::Mat<T>> good, every;
    uword n_good = 0;
    for (uword from = 0; from < view_.n_cols; from += block) {
      const uword to = std::min(view_.n_cols, from + block);
      const arma::mat X = dense_samples(view_, part_of(view_, from, to).columns);
      const std::vector<bool> out = is_outlier(X);
      std::vector<uword> kept;
      for (uword j = 0; j < X.n_cols; ++j)
        if (!out[j]) kept.push_back(j);
      n_good += kept.size();
      every.push_back(arma::conv_to<arma::Mat<T>>::from(apply(X)));
      good.push_back(every.back().cols(arma::conv_to<arma::uvec>::from(kept)));
    }
    const bool enough = n_good >= dimensions_.size();
    all.memory = std::make_shared<const arma::Mat<T>>(beside_each_other(enough ? good : every));
    all.view = AnyView<T>(DenseView<T>(*all.memory));
  }

  static arma::Mat<T> beside_each_other(const std::vector<arma::Mat<T>>& parts) {
    uword count = 0;
    for (const auto& part : parts) count += part.n_cols;
    arma::Mat<T> all(parts[0].n_rows, count);
    uword at = 0;
    for (const auto& part : parts) {
      std::copy(part.begin(), part.end(), all.colptr(at));
      at += part.n_cols;
    }
    return all;
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
  UnionFound<Stream> run_once(const Prepared& good, const Bases& given, Observer& observer) {
    Run run = make_run();
    run.run(good.view, given.empty() ? start_of(good, observer) : given, observer);
    run.hand_back();
    UnionFound<Stream> found(run);
    found.coordinates = good.coordinates;
    return found;
  }

  /// The subspaces of a spectral start; none for other starts.
  template <class Observer>
  Bases start_of(const Prepared& good, Observer& observer) {
    if (options_.start != UnionStart::spectral || dimensions_.size() == 1) return {};
    const Parallel threads = parallel(observer);
    arma::mat X = dense_samples(good.view, examined_columns(good.view.n_cols));
    if (X.has_nan() || options_.screens(dimensions_, X.n_rows))
      X = inside(X, fit_screening(X, dimensions_, options_.seed, threads), threads);
    return converted(spectral_start(X, dimensions_, options_.seed, threads));
  }

  /// Several runs joined by what they agree on, and each cluster fitted by itself.
  template <class Observer>
  UnionFound<Stream> join(const Prepared& good, Observer& observer) {
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

  void make_model() {
    const auto& whitening = found_.coordinates.whitening;
    Bases subspaces;
    for (const auto& U : found_.bases)
      subspaces.push_back(whitening ? found_.coordinates.original(U) : U);
    model_.emplace(std::move(subspaces), found_.bases, found_.coordinates);
  }

  /// From the subspaces to the answer: refits, doubts, labels. An interrupted fit gets its labels,
  /// whatever the observer says.
  template <class Observer>
  void finish(Observer& observer) {
    follow_stream();
    make_model();
    if (!is_interrupted()) try {
        const Parallel threads = parallel(observer);
        assigned_ = model_->assign(view_, threads);
        const arma::uvec members = members_to_refit();
        refit_subspaces(members, threads);
        doubt(members, threads);
        decide(threads);
        return;
      } catch (const Stopped&) {
        found_.status = Status::interrupted;
      }
    const Parallel threads(options_.n_threads);
    assigned_ = model_->assign(view_, threads);
    decide(threads);
  }

  /// The stream goes on from here, beside some of the samples.
  void follow_stream() {
    const bool settled = is_converged(found_.status);
    if (!found_.coordinates.whitening)
      return stream().follow_after_fit(options_.following, view_, settled);
    const auto some = about(view_, stream().samples_to_follow());
    const auto points = arma::conv_to<arma::Mat<T>>::from(
        found_.coordinates.whitening->apply(dense_samples(view_, some.columns)));
    stream().follow_after_fit(options_.following, DenseView<T>(points), settled);
  }

  /// The labels of the samples near their subspaces that took part in the search.
  arma::uvec members_to_refit() const {
    const uword none = dimensions_.size();
    arma::uvec members = assigned_.labels;
    const std::vector<bool> near = model_->near(view_, assigned_);
    for (uword j = 0; j < members.n_elem; ++j)
      if (!near[j]) members[j] = none;
    for (const uword j : found_.left_out) members[j] = none;
    return members;
  }

  /// Fits each cluster by itself in the data's own coordinates, or its flat.
  void refit_subspaces(const arma::uvec& members, const Parallel& threads) {
    const auto& whitening = found_.coordinates.whitening;
    if (!whitening && (!lift_ || !options_.polish)) return;
    arma::uvec inside = members;
    if (whitening) inside = model_->without_outside_span(view_, members, threads);
    Refitted<T> refitted{model_->subspaces(), found_.estimated_angles};
    refit_in_data(refitted, data_, inside, lift_.get(), {options_.tol, options_.seed}, threads);
    found_.status = status_of_refit<T>(found_.status, refitted.estimated_angles, options_.tol);
    found_.estimated_angles = refitted.estimated_angles;
    model_.emplace(std::move(refitted.bases), found_.bases, found_.coordinates);
  }

  /// Changes the status if a cluster has too few members, or if their number does not suit the
  /// data.
  void doubt(const arma::uvec& members, const Parallel& threads) {
    if (!options_.polish || !is_converged(found_.status)) return;
    if (selection_ && selection_->is_indistinct()) found_.status = Status::indistinct;
    if (dimensions_.size() == 1) return;
    const std::vector<bool> few = held_by_few(members, dimensions_);
    for (uword k = 0; k < few.size(); ++k) {
      if (!few[k]) continue;
      found_.estimated_angles[k] = arma::datum::pi / 2;
      found_.status = Status::undetermined;
    }
    if (is_converged(found_.status) && options_.may_seek_consensus() && !selection_)
      found_.status = status_by_number(members, threads);
  }

  Status status_by_number(const arma::uvec& members, const Parallel& threads) const {
    constexpr double told_apart = 0.8;  // least agreement of the representations
    switch (doubt_number(model_->subspaces(), view_, members, options_.seed, threads)) {
      case NumberDoubt::too_few_clusters:
        return Status::too_few_clusters;
      case NumberDoubt::too_many_clusters:
        return Status::too_many_clusters;
      default:
        return found_.by_consensus && *found_.agreement < told_apart ? Status::indistinct
                                                                     : found_.status;
    }
  }

  /// The labels of the answer, none for outliers if they are to be rejected.
  void decide(const Parallel& threads) {
    if (!options_.reject_outliers) return;
    model_ = model_->with_split(model_->find_split(view_, assigned_, threads));
    assigned_.labels = model_->reject(view_, assigned_, threads);
  }

  AnyView<T> data_, view_;  // view_: lifted for affine subspaces
  UnionOrder order_;
  std::vector<uword> dimensions_;  // of the subspaces, with those that the lift adds
  Rule fit_rule_, stream_rule_;
  Metric metric_;
  UnionOptions options_;
  std::shared_ptr<const Lift<T>> lift_;
  std::optional<Selection> selection_;
  UnionFound<Stream> found_;
  std::optional<Union<T>> model_;
  Assignment<T> assigned_;
};

}  // namespace gasg21
