// The stream over stored data: shuffled passes until one moves nothing, or gains nothing. For one
// subspace and for K.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "gasg21/geometry/grassmann.hpp"
#include "gasg21/k_subspaces.hpp"
#include "gasg21/recovery/report.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/median.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/tracker.hpp"

namespace gasg21 {

/// Updates a Tracker or KSubspaces with the columns order[0], order[1], ... of the data.
/// `observer(report)` returns true to stop after that vector. Returns whether it was stopped.
template <class Stream, class Data, class Observer>
bool run(Stream& stream, const Data& data, const arma::uvec& order, Observer&& observer) {
  require(data.n_rows == stream.n(), "the data has ", data.n_rows, " rows, but n = ", stream.n());
  require(order.empty() || order.max() < data.n_cols, "order names a column beyond the ",
          data.n_cols, " there are");
  for (uword i = 0; i < order.n_elem; ++i) {
    if (i + 1 < order.n_elem) stream.expect(data.sample(order[i + 1]));
    if (observer(stream.update(data.sample(order[i])))) return true;
  }
  return false;
}

namespace detail {

template <class T, class... Rules>
std::vector<arma::Mat<T>> bases_of(const Tracker<T, Rules...>& tracker) {
  return {tracker.basis()};
}
template <class T, class... Rules>
std::vector<arma::Mat<T>> bases_of(const KSubspaces<T, Rules...>& stream) {
  return stream.bases();
}

/// Counts the vectors that each subspace took. A tracker has nothing to count.
inline void count_member(arma::uvec& /*members*/, const StepReport& /*report*/) {}
inline void count_member(arma::uvec& members, const ClusterReport& report) {
  if (report.cluster < members.n_elem) ++members[report.cluster];
}
template <class T, class... Rules>
arma::uvec no_members(const Tracker<T, Rules...>& /*tracker*/) {
  return {};
}
template <class T, class... Rules>
arma::uvec no_members(const KSubspaces<T, Rules...>& stream) {
  return arma::uvec(stream.size(), arma::fill::zeros);
}

template <class T, class... Rules>
void describe_rule(PassRecord& record, const Tracker<T, Rules...>& tracker) {
  record.level = tracker.rule().level();
  record.step_size = tracker.rule().eta();
}
template <class T, class... Rules>
void describe_rule(PassRecord& /*record*/, const KSubspaces<T, Rules...>& /*stream*/) {}

}  // namespace detail

/// The angles by which the subspaces moved.
template <class T>
arma::vec angles_between(const std::vector<arma::Mat<T>>& before,
                         const std::vector<arma::Mat<T>>& after) {
  arma::vec moved(before.size());
  for (uword k = 0; k < moved.n_elem; ++k) moved[k] = largest_angle(before[k], after[k]);
  return moved;
}

/// One pass over all the data, newly shuffled. Throws Stopped if the observer stops it.
template <class Stream, class Data, class Observer>
PassRecord stream_pass(Stream& stream, const Data& data, Observer& observer) {
  const auto before = detail::bases_of(stream);
  std::vector<double> residuals;
  residuals.reserve(data.n_cols);
  PassRecord record;
  record.members = detail::no_members(stream);
  record.n_samples = data.n_cols;
  const bool stopped =
      run(stream, data, stream.random().permutation(data.n_cols), [&](const auto& report) {
        residuals.push_back(report.residual);
        detail::count_member(record.members, report);
        return observer.step(report);
      });
  if (stopped) throw Stopped{};
  record.n_iter = stream.counters().used();
  require(record.n_iter > 0, "no sample of X could be used: ", stream.counters());
  record.moved = angles_between(before, detail::bases_of(stream));
  record.median_residual = median(residuals);
  residuals.erase(
      std::remove_if(residuals.begin(), residuals.end(), [](double r) { return !(r < 0.5); }),
      residuals.end());
  record.near_residual = residuals.empty() ? 1.0 : median(std::move(residuals));
  detail::describe_rule(record, stream);
  return record;
}

struct StreamOptions {
  uword max_passes = 20;
  double tol = 1e-6;      // stop when a pass moves nothing by more than this; 0 = run all passes
  uword stall_after = 0;  // from this pass on, stop when the residuals no longer fall; 0 = never
};

/// Whether the residuals near the subspace have fallen by less than a tenth in two passes.
inline bool has_stalled(const std::vector<double>& near_residuals) {
  const std::size_t n = near_residuals.size();
  return n > 2 && near_residuals[n - 1] > 0.9 * near_residuals[n - 3];
}

/// Passes until one moves no subspace by more than tol, or gains nothing. Calls after_pass(record).
template <class Stream, class Data, class Observer, class AfterPass>
Status stream_passes(Stream& stream, const Data& data, const StreamOptions& options,
                     Observer& observer, AfterPass&& after_pass) {
  using T = typename Stream::value_type;
  const double rounding = 100.0 * std::numeric_limits<T>::epsilon();
  const double tol = options.tol > 0 ? std::max(options.tol, rounding) : -1.0;
  std::vector<double> near_residuals;
  while (near_residuals.size() < options.max_passes) {
    const PassRecord record = stream_pass(stream, data, observer);
    near_residuals.push_back(record.near_residual);
    after_pass(record);
    if (record.largest_move() <= tol) return Status::converged;
    if (options.stall_after > 0 && near_residuals.size() >= options.stall_after &&
        has_stalled(near_residuals))
      return Status::noise_floor;
  }
  return Status::max_passes;
}

}  // namespace gasg21
