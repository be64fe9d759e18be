// A fit of a union from the data to the answer: the lift of affine data, the numbers that the data
// decides, the search, the clusters fitted each by itself, doubts, labels.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gasg21/data/dense_samples.hpp"
#include "gasg21/data/views.hpp"
#include "gasg21/seeding/choose_lift.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/union/model_order.hpp"
#include "gasg21/union/number_doubts.hpp"
#include "gasg21/union/options.hpp"
#include "gasg21/union/refit.hpp"
#include "gasg21/union/search.hpp"
#include "gasg21/union/union.hpp"

namespace gasg21 {

template <class Stream>
class UnionFit {
 public:
  using T = typename Stream::value_type;
  using Search = UnionSearch<Stream>;
  using Rule = typename Search::Rule;
  using Metric = typename Search::Metric;
  using Bases = std::vector<arma::Mat<T>>;

  /// The rules and the metric as for UnionRun.
  UnionFit(const AnyView<T>& data, UnionOrder order, Rule fit_rule, Rule stream_rule, Metric metric,
           const UnionOptions& options)
      : data_(data),
        view_(data),
        order_(std::move(order)),
        options_(options),
        search_(std::move(fit_rule), std::move(stream_rule), std::move(metric), options) {
    order_.check(data.n_rows);
    require(!data.lift, "the data is lifted already");
  }

  /// Runs from the data to the end, or until the observer stops it. Throws Stopped if it was
  /// stopped before there were subspaces.
  template <class Observer>
  void run(const Bases& given, Observer& observer) {
    begin(observer);
    found_ = search_.find(given, observer);
    if (order_.chooses_dimensions() && !is_interrupted()) try {
        choose_dimensions(given, observer);
      } catch (const Stopped&) {  // the first search stands
        found_.status = Status::interrupted;
      }
    finish(observer);
  }

  /// Finds the subspaces that a stream starts from.
  template <class Observer>
  void start(const Bases& given, Observer& observer) {
    begin(observer);
    found_ = search_.start(given, observer);
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
    search_.set_data(view_, lift_);
    std::vector<uword> dimensions =
        order_.is_given() ? given_dimensions() : chosen_dimensions(observer);
    for (uword& d : dimensions) d += more();
    search_.set_dimensions(std::move(dimensions));
  }

  /// Chooses the numbers that are left to the data.
  template <class Observer>
  std::vector<uword> chosen_dimensions(Observer& observer) {
    const Parallel threads = parallel(observer);
    if (!order_.chooses_dimensions()) {
      selection_ = choose_n_clusters<T>(view_, order_.dimensions[0] + more(), options_.seed,
                                        threads, options_.consensus);
    } else {
      std::optional<uword> count;
      if (!order_.chooses_clusters()) count = order_.n_clusters;
      selection_ = choose_order<T>(view_, count, options_.seed, threads, options_.consensus);
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
    std::vector<uword> own = search_.found_dimensions(found_, observer);
    for (uword& d : own) d = std::max<uword>(d, more() + 1);
    if (own == search_.dimensions()) return;
    Search again = search_;
    again.set_dimensions(own);
    found_ = again.find(given, observer);
    search_ = std::move(again);
    for (uword& d : own) d -= more();
    selection_->n_components = std::move(own);
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
    const uword none = search_.dimensions().size();
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
    if (search_.dimensions().size() == 1) return;
    const std::vector<bool> few = held_by_few(members, search_.dimensions());
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
  UnionOptions options_;
  Search search_;
  std::shared_ptr<const Lift<T>> lift_;
  std::optional<Selection> selection_;
  UnionFound<Stream> found_;
  std::optional<Union<T>> model_;
  Assignment<T> assigned_;
};

}  // namespace gasg21
