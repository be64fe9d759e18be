// Where a fit or a stream of one subspace starts: the lift of the samples, and a tracker.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "gasg21/data/views.hpp"
#include "gasg21/geometry/grassmann.hpp"
#include "gasg21/recovery/options.hpp"
#include "gasg21/seeding/choose_lift.hpp"
#include "gasg21/seeding/spherical_pca.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/random.hpp"
#include "gasg21/tracker.hpp"

namespace gasg21 {

/// Samples as a fit reads them: lifted for an affine subspace. Owns the lift that `view` borrows.
template <class T, class Data>
class LiftedData {
 public:
  /// `scaled`: for a metric that is scaled by the covariance of the weights.
  LiftedData(const Data& samples, bool center, bool scaled) : samples_(samples), view_(samples) {
    if (center) move_to(choose_lift<T>(samples, constant_share(scaled)));
  }

  void move_to(Lift<T> lift) {
    lift_ = std::make_shared<const Lift<T>>(std::move(lift));
    view_ = lifted(samples_, *lift_);
  }

  /// Other samples, lifted the same way.
  Data lift_like(const Data& samples) const { return lift_ ? lifted(samples, *lift_) : samples; }

  const Data& view() const { return view_; }
  const std::shared_ptr<const Lift<T>>& lift() const { return lift_; }
  /// Dimensions that the lift adds.
  uword more() const { return lift_ ? lift_->n_appended() : 0; }
  /// Of the samples before the lift.
  uword n_features() const { return lift_ ? lift_->centre.n_elem : view_.n_rows; }

 private:
  Data samples_, view_;
  std::shared_ptr<const Lift<T>> lift_;
};

/// A tracker at its start. Any loss, step rule and metric.
template <class Tracker, class Data, class Rule, class Loss, class Metric, class Observer>
Tracker start_tracker(const Data& data, uword d, const Rule& rule, const Loss& loss,
                      const Metric& metric, Start start, std::uint64_t seed, Observer& observer) {
  using T = typename Tracker::value_type;
  if (start == Start::random) return Tracker(data.n_rows, d, rule, seed, loss, metric);
  const uword count = std::min<uword>(data.n_cols, std::max<uword>(20 * d, 100));
  const arma::uvec order = Random(seed).permutation(data.n_cols);
  std::vector<uword> columns(order.begin(), order.begin() + std::ptrdiff_t(count));
  std::sort(columns.begin(), columns.end());
  Random random(seed);
  arma::Mat<T> U = spherical_pca_basis<T>(SubsetView<Data>(data, std::move(columns)), d, random,
                                          [&] { return observer.poll(); });
  return Tracker(std::move(U), rule, seed, loss, metric);
}

/// How a tracker is composed, and where it starts.
template <class Tracker>
struct TrackerPlan {
  using T = typename Tracker::value_type;
  using Rule = std::decay_t<decltype(std::declval<const Tracker&>().rule())>;
  using Loss = std::decay_t<decltype(std::declval<const Tracker&>().loss())>;
  using Metric = std::decay_t<decltype(std::declval<const Tracker&>().metric())>;

  Rule rule, stream_rule;  // of the fit, and of the stream after it
  Loss loss;
  Metric metric;
  arma::Mat<T> init;  // n x d, where to start; empty = `start` finds it
  Start start = Start::random;
  std::uint64_t seed = 0;

  /// A tracker of d dimensions, and one more for the constant of the lift.
  template <class Data, class Observer>
  Tracker start_on(const LiftedData<T, Data>& data, uword d, Observer& observer) const {
    Tracker tracker = init.empty() ? start_tracker<Tracker>(data.view(), d + data.more(), rule,
                                                            loss, metric, start, seed, observer)
                                   : Tracker(given(data.more()), rule, seed, loss, metric);
    if (data.lift()) tracker.set_lift(*data.lift());
    return tracker;
  }

 private:
  /// The given basis; of lifted samples, it has the axis of the constant, too.
  arma::Mat<T> given(uword more) const {
    arma::Mat<T> U(init.n_rows + more, init.n_cols + more, arma::fill::zeros);
    U.submat(0, 0, init.n_rows - 1, init.n_cols - 1) = init;
    if (more > 0) U(init.n_rows, init.n_cols) = 1;
    arma::Mat<T> tried = U;
    require(orthonormalize(tried), "init must have finite, linearly independent rows");
    return U;
  }
};

}  // namespace gasg21
