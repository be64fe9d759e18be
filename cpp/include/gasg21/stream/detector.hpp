// Detector: tells from the residuals of a stream alone whether it follows its subspace, and when
// the subspace has changed. benchmarks/results/streams.md has measurements of the constants.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "gasg21/support/error.hpp"

namespace gasg21 {

/// How a stream fares.
enum class StreamStatus {
  starting,  // it has not found a subspace yet
  tracking,  // all vectors but the outliers lie near the subspace
  changed,   // the subspace changed, and the new one is not found yet
  lost,      // too few vectors lie near the subspace to call that chance, or none was found in time
};

inline const char* to_string(StreamStatus status) {
  constexpr std::array<const char*, 4> names{"starting", "tracking", "changed", "lost"};
  return names[std::size_t(status)];
}

/// The residuals that fit a subspace, and the evidence that vectors lie near it.
struct Fitness {
  double typical = 0;   // logarithm of the residual that a tenth of the near vectors stay below
  double evidence = 0;  // logarithm of a likelihood ratio, from 0 to `most`

  // One vector that fits counts as much as 128 that do not: 1 in 50 is enough.
  static constexpr double for_fit = 2.303, against_miss = 0.018;
  static constexpr double enough = 6.9, most = 10;

  /// Whether a residual fits: it is nearer than a random direction, and either small or not much
  /// larger, on a logarithmic scale, than what is typical.
  bool fits(double log_residual, bool near) const {
    constexpr double small = -2.303;  // log 0.1
    return near && log_residual < std::max(small, typical / 2);
  }
  void weigh(bool fit) {
    evidence = std::clamp(evidence + (fit ? for_fit : -against_miss), 0.0, most);
  }
};

/// All that a Detector knows. It can be copied and saved.
struct DetectorState {
  Fitness fitness{};
  double trend = 0;        // running mean of `typical`: far below its trend, it is still falling
  double near_fit = 1;     // running share of vectors that fit among those nearer than random ones
  double n_near = 0;       // vectors nearer than random ones since the start
  double gone = 0;         // evidence that the subspace is no longer right
  double returns = 0.5;    // running share of vectors that fit among those that follow a miss
  double misses = 0;       // in a row
  double surprise = 0;     // minus the logarithm of the probability of so many misses in a row
  bool settled = false;    // the subspace is found
  bool changed = false;    // it changed, and is not found again
  std::uint64_t seen = 0;  // vectors
  std::uint64_t searching = 0;  // vectors since the start, or since it was last settled
  std::uint64_t n_changes = 0;
  std::vector<std::uint64_t> changes{};  // the latest values of `seen` at which it changed
};

inline constexpr std::size_t most_changes = 1000;  // that are remembered

/// Appends to the changes, and forgets the oldest if there are too many.
inline void remember_change(std::vector<std::uint64_t>& changes, std::uint64_t seen) {
  if (changes.size() == most_changes) changes.erase(changes.begin());
  changes.push_back(seen);
}

/// One residual per vector, from before its update.
class Detector {
 public:
  Detector() = default;
  /// Resumes.
  explicit Detector(DetectorState state) : state_(std::move(state)) {
    const DetectorState& s = state_;
    for (const double value : {s.fitness.typical, s.fitness.evidence, s.trend, s.near_fit, s.n_near,
                               s.gone, s.returns, s.misses, s.surprise})
      require(std::isfinite(value), "not the state of a detector");
    require(s.changes.size() <= most_changes, "a detector remembers at most ", most_changes,
            " changes");
  }

  /// A detector of a subspace that a fit has found: `log_residuals` of vectors near it.
  static Detector after_fit(std::vector<double> log_residuals) {
    Detector detector;
    if (double(log_residuals.size()) < least_near) return detector;
    DetectorState& s = detector.state_;
    const auto low = log_residuals.begin() + std::ptrdiff_t(log_residuals.size() / 11);
    std::nth_element(log_residuals.begin(), low, log_residuals.end());
    s.fitness = {std::min(*low, 0.0), Fitness::most};
    s.trend = s.fitness.typical;
    s.n_near = least_near;
    s.settled = true;
    return detector;
  }

  /// Takes note of a vector's residual; `null` is the residual that random directions hardly ever
  /// stay below; `in_order`: consecutive vectors are alike, so that they tell less. Returns true if
  /// the subspace has changed: the detector then starts anew.
  bool see(double residual, double null, bool in_order = false) {
    DetectorState& s = state_;
    const bool near = residual < null;
    const double log_residual = std::log(std::max(residual, least_residual));
    const bool fit = s.fitness.fits(log_residual, near);
    ++s.seen;
    s.fitness.weigh(fit);
    if (near) learn(log_residual, fit);
    count_misses(fit);
    if (!s.settled) settle(in_order);
    if (!s.settled || !is_gone()) return false;
    start_anew();
    s.changed = true;
    ++s.n_changes;
    remember_change(s.changes, s.seen);
    return true;
  }

  /// The subspace is found again, and fits as it once did.
  void settle_as(const Fitness& fitness) {
    start_anew();
    state_.fitness = {fitness.typical, Fitness::most};
    state_.trend = fitness.typical;
    state_.n_near = least_near;
    state_.settled = true;
  }

  StreamStatus status() const {
    const DetectorState& s = state_;
    if (s.settled)
      return s.surprise > improbable || s.near_fit < 0.5 ? StreamStatus::lost
                                                         : StreamStatus::tracking;
    if (s.searching > patience) return StreamStatus::lost;
    return s.changed ? StreamStatus::changed : StreamStatus::starting;
  }
  bool is_settled() const { return state_.settled; }
  /// Whether enough vectors lie near the subspace, be it still moving.
  bool is_found() const {
    return state_.fitness.evidence > Fitness::enough && state_.n_near >= least_near &&
           state_.near_fit > 0.5;
  }
  const Fitness& fitness() const { return state_.fitness; }
  std::uint64_t n_changes() const { return state_.n_changes; }
  const std::vector<std::uint64_t>& changes() const { return state_.changes; }
  const DetectorState& state() const { return state_; }

 private:
  static constexpr double least_residual = 1e-16;
  // `typical` falls by `down` or rises by `up`: the share up / (up + down) lies below it.
  static constexpr double down = 0.05, up = 0.005;
  static constexpr double window = 64;  // of running means, in vectors
  // The subspace is found when so many vectors were near it and their typical residual has stopped
  // falling, or is so small that even a weak direction must be found.
  static constexpr double least_near_in_order = 256;
  static constexpr double least_near = 64, still_falling = -0.3, small = -9.21;  // log 1e-4
  // It has changed after so many misses in a row, if that is `impossible` by the share of vectors
  // that fitted before; or when the evidence says so, after 300 misses in any case.
  static constexpr double many_misses = 100, impossible = 20, gone_for_good = 5.4;
  static constexpr double improbable = 6.9;        // a probability of 1e-3
  static constexpr std::uint64_t patience = 3000;  // vectors to find a subspace in

  void learn(double log_residual, bool fit) {
    DetectorState& s = state_;
    double& typical = s.fitness.typical;
    typical = std::min(typical + (log_residual < typical ? -down : up), 0.0);
    s.trend += (typical - s.trend) / window;
    s.near_fit += (double(fit) - s.near_fit) / window;
    ++s.n_near;
  }

  void count_misses(bool fit) {
    DetectorState& s = state_;
    if (s.misses > 0) s.returns += (double(fit) - s.returns) / window;
    s.gone = fit ? std::max(0.0, s.gone - Fitness::for_fit) : s.gone + Fitness::against_miss;
    s.surprise = fit ? 0 : s.surprise + s.returns;
    s.misses = fit ? 0 : s.misses + 1;
  }

  void settle(bool in_order) {
    DetectorState& s = state_;
    ++s.searching;
    const double typical = s.fitness.typical;
    s.settled = is_found() && s.n_near >= (in_order ? least_near_in_order : least_near) &&
                (typical < small || typical - s.trend > still_falling);
    if (s.settled) s.changed = false, s.searching = 0;
  }

  bool is_gone() const {
    return state_.gone >= gone_for_good ||
           (state_.misses >= many_misses && state_.surprise > impossible);
  }

  void start_anew() {
    DetectorState fresh;
    fresh.seen = state_.seen;
    fresh.n_changes = state_.n_changes;
    fresh.changes = std::move(state_.changes);
    state_ = std::move(fresh);
  }

  DetectorState state_;
};

}  // namespace gasg21
