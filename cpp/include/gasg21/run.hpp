// The loops over data: `run` over vectors in a given order, `fit` over shuffled passes. Both ask an
// observer, which may stop them; a stop leaves the tracker usable, between two vectors.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "gasg21/geometry/grassmann.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/tracker.hpp"

namespace gasg21 {

/// The sums of one run.
struct RunSummary {
  uword n_seen = 0;
  uword n_used = 0;
  double residual_sum = 0;  // of the used vectors
  bool stopped = false;     // by the observer

  void add(const StepReport& report) {
    ++n_seen;
    if (report.outcome != StepOutcome::taken && report.outcome != StepOutcome::in_subspace) return;
    ++n_used;
    residual_sum += report.residual;
  }
  double mean_residual() const { return residual_sum / double(n_used); }
};

/// An observer that never stops.
struct KeepGoing {
  bool operator()(const StepReport&) const { return false; }
};

/// Updates the tracker with the columns order[0], order[1], ... of the data (a DenseView or a
/// SparseView). `observer(report)` returns true to stop after that vector.
template <class Tracker, class Data, class Observer = KeepGoing>
RunSummary run(Tracker& tracker, const Data& data, const arma::uvec& order,
               Observer&& observer = {}) {
  require(data.n_rows == tracker.n(), "the data has ", data.n_rows, " rows, but n = ", tracker.n());
  require(order.empty() || order.max() < data.n_cols, "order names a column beyond the ",
          data.n_cols, " there are");
  RunSummary summary;
  for (uword i = 0; i < order.n_elem; ++i) {
    if (i + 1 < order.n_elem) tracker.expect(data.sample(order[i + 1]));
    const auto report = tracker.update(data.sample(order[i]));
    summary.add(report);
    if (observer(report)) {
      summary.stopped = true;
      break;
    }
  }
  return summary;
}

/// One pass over the data.
struct PassRecord {
  RunSummary summary;
  double moved = 0;  // largest angle between the subspaces before and after the pass
  double eta = 0;
  std::int64_t level = 0;
};

enum class FitStatus { converged, max_passes, interrupted };

struct FitOptions {
  uword max_passes = 20;
  double tol = 1e-6;  // the angle to aim at, in radians; 0 = run all passes
};

struct FitResult {
  FitStatus status = FitStatus::max_passes;
  std::vector<PassRecord> history;
};

/// One pass over all the data, newly shuffled.
template <class Tracker, class Data, class Observer = KeepGoing>
PassRecord run_pass(Tracker& tracker, const Data& data, Observer&& observer = {}) {
  const auto before = tracker.basis();
  PassRecord record;
  record.summary = run(tracker, data, tracker.random().permutation(data.n_cols), observer);
  record.moved = double(largest_angle(before, tracker.basis()));
  record.eta = tracker.rule().eta();
  record.level = tracker.rule().level();
  return record;
}

/// Shuffled passes until one moves the subspace by no more than tol. (In every noise-free trial
/// that ended so, the angle to the truth was at most 1.3 tol.)
template <class Tracker, class Data, class Observer = KeepGoing>
FitResult fit(Tracker& tracker, const Data& data, const FitOptions& options = {},
              Observer&& observer = {}) {
  using T = typename Tracker::value_type;
  const double tol = std::max(options.tol, 100.0 * std::numeric_limits<T>::epsilon());
  FitResult result;
  while (result.history.size() < options.max_passes) {
    result.history.push_back(run_pass(tracker, data, observer));
    const PassRecord& record = result.history.back();
    if (record.summary.stopped) {
      result.status = FitStatus::interrupted;
      break;
    }
    if (options.tol > 0 && record.moved <= tol && record.summary.n_used > 0) {
      result.status = FitStatus::converged;
      break;
    }
  }
  return result;
}

}  // namespace gasg21
