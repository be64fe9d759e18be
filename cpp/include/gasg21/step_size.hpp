// Step rules: how far to go along the geodesic. Each is one small value: parameters and state
// together, `next(agreement)` is the step for the current gradient, where `agreement` is the inner
// product of the previous gradient and this one (0 when there is no previous one). Eqs. (10) to
// (12), Alg. 2.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "error.hpp"

namespace gasg21 {

namespace detail {
/// (A step of a million turns is a mistake; without a bound its angle could be infinite.)
inline void check_eta0(double eta0) {
  require(eta0 > 0 && eta0 <= 1e6, "eta0=", eta0, " must be a number in (0, 1e6]");
}
}  // namespace detail

struct AdaptiveStepOptions {
  double eta0 = 0.5;   // step at level 0
  double mu_max = 15;  // larger = slower to shrink the step, safer on ill-conditioned data
  double mu_min = 0;
  double f_min = -1;   // how much mu falls at most in one update
  double f_max = 0.5;  // how much mu rises at most
  double omega = 0.1;  // width of the sigmoid
  std::int64_t max_level =
      std::numeric_limits<std::int64_t>::max();  // so that a stream stays awake
};

/// The multi-level constant step of Alg. 2.
class AdaptiveStep {
 public:
  explicit AdaptiveStep(const AdaptiveStepOptions& options = {})
      : AdaptiveStep(options, (options.mu_min + options.mu_max) / 2, 0) {}

  /// A rule in the middle of its work, for resuming.
  AdaptiveStep(const AdaptiveStepOptions& options, double mu, std::int64_t level)
      : options_(options), mu_(mu), level_(level) {
    detail::check_eta0(options.eta0);
    require(options.mu_min < options.mu_max && std::isfinite(options.mu_max - options.mu_min),
            "mu_max=", options.mu_max, " must exceed mu_min=", options.mu_min);
    require(options.f_min < 0 && std::isfinite(options.f_min), "f_min=", options.f_min,
            " must be below 0");
    require(options.f_max > 0 && std::isfinite(options.f_max), "f_max=", options.f_max,
            " must be above 0");
    require(options.omega > 0 && std::isfinite(options.omega), "omega=", options.omega,
            " must be above 0");
    require(std::isfinite(mu), "mu=", mu, " must be a number");
    require(options.max_level >= 0, "max_level=", options.max_level, " must not be below 0");
    require(level >= 0 && level <= options.max_level, "level=", level,
            " must be in [0, max_level]");
  }

  double next(double agreement) {
    mu_ = std::max(mu_ + sigmoid(-agreement), options_.mu_min);  // Eq. (10)
    if (mu_ >= options_.mu_max) {
      if (level_ < options_.max_level) ++level_;
      mu_ = middle();
    } else if (mu_ <= options_.mu_min) {
      // Departs from Alg. 2: the level does not fall below 0, because that only helps where eta0
      // was too small; pinned by "the level never falls below zero".
      level_ = std::max<std::int64_t>(level_ - 1, 0);
      mu_ = middle();
    }
    return eta();
  }

  /// The same rule at another level, mu in the middle.
  AdaptiveStep at_level(std::int64_t level) const {
    return AdaptiveStep(options_, middle(), std::clamp<std::int64_t>(level, 0, options_.max_level));
  }

  /// Eq. (12).
  double eta() const {
    return std::ldexp(options_.eta0, -int(std::min<std::int64_t>(level_, 4096)));
  }
  std::int64_t level() const { return level_; }
  double mu() const { return mu_; }
  const AdaptiveStepOptions& options() const { return options_; }

  /// Eq. (11).
  // Departs from Eq. (11): its f_min is read as F_min, because only then sigmoid(0) = 0, as the
  // paper says; pinned by "the sigmoid vanishes at zero".
  double sigmoid(double x) const {
    const auto& o = options_;
    return o.f_min + (o.f_max - o.f_min) / (1 - o.f_max / o.f_min * std::exp(-x / o.omega));
  }

 private:
  double middle() const { return (options_.mu_min + options_.mu_max) / 2; }

  AdaptiveStepOptions options_;
  double mu_;
  std::int64_t level_;
};

/// The classic eta_j = eta0 / (1 + j), which the paper calls GASG21-DM. The default eta0 is the
/// smallest power of ten that reached the subspace in every trial.
class DiminishingStep {
 public:
  explicit DiminishingStep(double eta0 = 100, std::int64_t taken = 0) : eta0_(eta0), taken_(taken) {
    detail::check_eta0(eta0);
    require(taken >= 0, "taken=", taken, " must not be below 0");
  }

  double next(double /*agreement*/) {
    ++taken_;
    return eta();
  }

  double eta() const { return eta0_ / double(std::max<std::int64_t>(taken_, 1)); }
  std::int64_t level() const { return 0; }
  double eta0() const { return eta0_; }
  std::int64_t taken() const { return taken_; }

 private:
  double eta0_;
  std::int64_t taken_;
};

/// The same step for ever.
class ConstantStep {
 public:
  explicit ConstantStep(double eta0 = 0.1) : eta0_(eta0) { detail::check_eta0(eta0); }

  double next(double /*agreement*/) { return eta0_; }
  double eta() const { return eta0_; }
  std::int64_t level() const { return 0; }

 private:
  double eta0_;
};

}  // namespace gasg21
