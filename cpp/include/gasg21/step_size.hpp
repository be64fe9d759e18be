// Step rules: how far to move along the geodesic. A rule is one small value that holds parameters
// and state; `next(gradient)` returns the step for the current gradient. Eqs. (10) to (12), Alg. 2,
// and the rules of the published codes of GRASTA and GROUSE.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "gasg21/support/error.hpp"

namespace gasg21 {

/// The current gradient, as a step rule needs it.
struct GradientSummary {
  double agreement;        // inner product with the previous gradient; 0 without one
  double length;           // a step eta rotates the subspace by eta * length
  double previous_length;  // 0 without a previous gradient
  double slope;       // |r| / |w|, the tangent of the angle between the sample and the subspace
  double chance = 0;  // standard deviation of the agreement of two random directions
  bool near = true;   // this sample and the previous one are nearer than random directions
};

namespace detail {
/// Without an upper bound the angle of a step could be infinite.
inline void check_eta0(double eta0) {
  require(eta0 > 0 && eta0 <= 1e6, "eta0=", eta0, " must be a number in (0, 1e6]");
}
/// Eq. (11).
inline double sigmoid(double x, double f_min, double f_max, double omega) {
  return f_min + (f_max - f_min) / (1 - f_max / f_min * std::exp(-x / omega));
}

inline void check_sigmoid(double f_min, double f_max, double omega) {
  require(f_min < 0 && std::isfinite(f_min), "f_min=", f_min, " must be below 0");
  require(f_max > 0 && std::isfinite(f_max), "f_max=", f_max, " must be above 0");
  require(omega > 0 && std::isfinite(omega), "omega=", omega, " must be above 0");
}
}  // namespace detail

/// The defaults suit a stream on the scaled metric.
struct AdaptiveStepOptions {
  static constexpr std::int64_t unbounded = std::numeric_limits<std::int64_t>::max();

  double eta0 = 1;    // step at level 0
  double mu_max = 6;  // larger = slower to shrink the step, safer on ill-conditioned data
  double mu_min = 0;
  double f_min = -1;   // largest fall of mu in one update
  double f_max = 0.5;  // largest rise of mu
  double omega = 0.1;  // width of the sigmoid
  // How often the step is halved at most. With this bound a converged stream follows a sudden
  // change of the subspace (of well-conditioned data within 2500 vectors), and still reaches 1e-6
  // at condition 1000.
  std::int64_t max_level = 32;
  bool steady = true;  // outliers do not lengthen the step, see AdaptiveStep::steady_vote

  /// The defaults for a metric, and for a stream or a fit, whose steps need no lower bound.
  static AdaptiveStepOptions defaults(bool scaled, bool stream) {
    AdaptiveStepOptions options;
    if (!scaled) options.eta0 = 0.5, options.mu_max = 15;
    if (!scaled || !stream) options.max_level = unbounded;
    options.steady = scaled && stream;
    return options;
  }
};

/// The multi-level constant step of Alg. 2.
class AdaptiveStep {
 public:
  explicit AdaptiveStep(const AdaptiveStepOptions& options = {})
      : AdaptiveStep(options, (options.mu_min + options.mu_max) / 2, 0) {}

  /// Resumes from a saved state.
  AdaptiveStep(const AdaptiveStepOptions& options, double mu, std::int64_t level)
      : options_(options), mu_(mu), level_(level), eta_(options.eta0) {
    detail::check_eta0(options.eta0);
    require(options.mu_min < options.mu_max && std::isfinite(options.mu_max - options.mu_min),
            "mu_max=", options.mu_max, " must exceed mu_min=", options.mu_min);
    detail::check_sigmoid(options.f_min, options.f_max, options.omega);
    require(std::isfinite(mu), "mu=", mu, " must be a number");
    require(options.max_level >= 0, "max_level=", options.max_level, " must not be below 0");
    require(level >= 0 && level <= options.max_level, "level=", level,
            " must be in [0, max_level]");
    set_level(level);
  }

  double next(const GradientSummary& gradient) {
    return take(options_.steady ? steady_vote(gradient) : sigmoid(-gradient.agreement));
  }
  double next(double agreement) { return take(sigmoid(-agreement)); }

  /// The paper's rule, for the paper's metric.
  static AdaptiveStep paper() { return AdaptiveStep(AdaptiveStepOptions::defaults(false, false)); }

  /// The same rule at another level, mu in the middle.
  AdaptiveStep at_level(std::int64_t level) const {
    return AdaptiveStep(options_, middle(), std::clamp<std::int64_t>(level, 0, options_.max_level));
  }

  /// The same rule for a subspace that is off by about `angle`: the step is as long as that.
  AdaptiveStep at_angle(double angle) const {
    return at_level(std::llrint(std::log2(eta_ / std::max(angle, 1e-12))));
  }

  /// The same rule from another first step.
  AdaptiveStep with_eta0(double eta0) const {
    AdaptiveStepOptions options = options_;
    options.eta0 = eta0;
    return AdaptiveStep(options);
  }

  /// Eq. (12).
  double eta() const { return eta_; }
  std::int64_t level() const { return level_; }
  double mu() const { return mu_; }
  const AdaptiveStepOptions& options() const { return options_; }

  /// Eq. (11).
  // Departs from Eq. (11): its f_min is read as F_min, because only then sigmoid(0) = 0, as the
  // paper says; pinned by "the sigmoid vanishes at zero".
  double sigmoid(double x) const {
    return detail::sigmoid(x, options_.f_min, options_.f_max, options_.omega);
  }

 private:
  // Each vote that involves an outlier adds this to mu.
  static constexpr double shorten = 0.01;
  static constexpr double chances = 1.5;  // the least omega, in units of chance

  /// The change of mu by one gradient, Eq. (10) and Eq. (11).
  // Departs from Alg. 2: outliers vote by the odd part of the sigmoid, because F_max < -F_min lets
  // chance agreement of outliers lengthen the step until the subspace is lost; omega is not below
  // what chance explains, for the same reason; pinned by "outliers do not lengthen the step".
  double steady_vote(const GradientSummary& g) const {
    const double omega = std::max(options_.omega, chances * g.chance);
    const auto vote = [&](double x) {
      return detail::sigmoid(x, options_.f_min, options_.f_max, omega);
    };
    return g.near ? vote(-g.agreement) : (vote(-g.agreement) - vote(g.agreement)) / 2 + shorten;
  }

  /// Alg. 2: adds a vote to mu, and changes the level where mu reaches a bound.
  double take(double vote) {
    mu_ = std::max(mu_ + vote, options_.mu_min);  // Eq. (10)
    if (mu_ >= options_.mu_max) {
      set_level(level_ < options_.max_level ? level_ + 1 : level_);
      mu_ = middle();
    } else if (mu_ <= options_.mu_min) {
      // Departs from Alg. 2: the level does not fall below 0, because that only helps where eta0
      // was too small; pinned by "the level never falls below zero".
      set_level(std::max<std::int64_t>(level_ - 1, 0));
      mu_ = middle();
    }
    return eta_;
  }

  double middle() const { return (options_.mu_min + options_.mu_max) / 2; }
  void set_level(std::int64_t level) {
    level_ = level;
    eta_ = std::ldexp(options_.eta0, -int(std::min<std::int64_t>(level, 4096)));
  }

  AdaptiveStepOptions options_;
  double mu_;
  std::int64_t level_;
  double eta_;
};

/// The classic eta_j = eta0 / (1 + j), which the paper calls GASG21-DM. The default eta0 is the
/// smallest power of ten that reached the subspace in every trial.
class DiminishingStep {
 public:
  explicit DiminishingStep(double eta0 = 100, std::int64_t taken = 0) : eta0_(eta0), taken_(taken) {
    detail::check_eta0(eta0);
    require(taken >= 0, "taken=", taken, " must not be below 0");
  }

  double next(const GradientSummary& gradient) { return next(gradient.agreement); }
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

  double next(const GradientSummary& gradient) { return next(gradient.agreement); }
  double next(double /*agreement*/) { return eta0_; }
  double eta() const { return eta0_; }
  std::int64_t level() const { return 0; }

 private:
  double eta0_;
};

/// The constants of the authors' code.
struct MultiLevelStepOptions {
  double first_angle = 0.1;  // the first vector rotates the subspace by this times 1 + mu_min
  double mu_max = 15;
  double mu_min = 1;
  double f_min = -1;
  double f_max = 0.5;
  double omega = 0.1;
  std::int64_t max_level = 20;
  double max_angle = 1;  // largest rotation by one vector, in radians
};

/// The multi-level step as GRASTA's authors coded it: what the paper's figures call GRASTA-ML.
/// It differs from AdaptiveStep (Alg. 2): the first gradient sets the unit; gradients are compared
/// by their cosine, not by their product; angle and level are bounded; mu starts at mu_min and
/// returns to (mu_max - 1) / 2; the level does not fall from 1 to 0; a step uses the level from
/// before it is adapted.
class MultiLevelStep {
 public:
  explicit MultiLevelStep(const MultiLevelStepOptions& options = {})
      : MultiLevelStep(options, 0, options.mu_min, 0, 0) {}

  /// Resumes from a saved state.
  MultiLevelStep(const MultiLevelStepOptions& options, double scale, double mu, std::int64_t level,
                 double eta)
      : options_(options), scale_(scale), mu_(mu), level_(level), eta_(eta) {
    require(options.first_angle > 0 && std::isfinite(options.first_angle),
            "first_angle=", options.first_angle, " must be above 0");
    require(options.max_angle > 0 && std::isfinite(options.max_angle),
            "max_angle=", options.max_angle, " must be above 0");
    require(options.mu_min >= 0 && std::isfinite(options.mu_min), "mu_min=", options.mu_min,
            " must not be below 0");
    require(middle() > options.mu_min && std::isfinite(options.mu_max), "mu_max=", options.mu_max,
            " must exceed 2 mu_min + 1 = ", 2 * options.mu_min + 1);
    detail::check_sigmoid(options.f_min, options.f_max, options.omega);
    require(options.max_level >= 0, "max_level=", options.max_level, " must not be below 0");
    require(scale >= 0 && std::isfinite(scale) && std::isfinite(mu) && std::isfinite(eta) &&
                level >= 0 && level <= options.max_level,
            "not the state of a MultiLevelStep");
  }

  double next(const GradientSummary& gradient) {
    if (scale_ == 0) scale_ = options_.first_angle * (1 + options_.mu_min) / gradient.length;
    mu_ = std::max(
        mu_ + detail::sigmoid(-cosine(gradient), options_.f_min, options_.f_max, options_.omega),
        options_.mu_min);
    eta_ = std::min(std::ldexp(scale_, -int(std::min<std::int64_t>(level_, 4096))),
                    options_.max_angle / gradient.length);
    adapt_level();
    return eta_;
  }

  double eta() const { return eta_; }
  std::int64_t level() const { return level_; }
  double mu() const { return mu_; }
  /// The step at level 0; 0 before the first gradient.
  double scale() const { return scale_; }
  const MultiLevelStepOptions& options() const { return options_; }

 private:
  /// Very short gradients count as unrelated.
  static double cosine(const GradientSummary& gradient) {
    const double lengths = gradient.length * gradient.previous_length;
    return lengths > 1e-5 ? gradient.agreement / lengths : 0;
  }

  void adapt_level() {
    if (mu_ <= options_.mu_min) {
      if (level_ > 1) --level_;
      mu_ = middle();
    } else if (mu_ > options_.mu_max) {
      mu_ = level_ < options_.max_level ? middle() : options_.mu_max;
      level_ = std::min(level_ + 1, options_.max_level);
    }
  }

  double middle() const { return (options_.mu_max - 1) / 2; }

  MultiLevelStepOptions options_;
  double scale_;
  double mu_;
  std::int64_t level_;
  double eta_;
};

/// GROUSE's greedy step (Balzano and Wright): rotates the subspace by the vector's own angle to it,
/// until it contains the observed part of the vector. It has no parameters.
class GreedyStep {
 public:
  /// Resumes; `eta` is the last step.
  explicit GreedyStep(double eta = 0) : eta_(eta) {
    require(eta >= 0 && std::isfinite(eta), "eta=", eta, " must not be below 0");
  }

  double next(const GradientSummary& gradient) {
    eta_ = std::atan(gradient.slope) / gradient.length;
    return eta_;
  }
  double eta() const { return eta_; }
  std::int64_t level() const { return 0; }

 private:
  double eta_;
};

/// The rule with which a stream continues from a fit that is off by about `angle`. A rule without
/// levels stays as it is.
inline AdaptiveStep rule_after_fit(const AdaptiveStep& stream_rule, const AdaptiveStep& /*current*/,
                                   double angle) {
  return stream_rule.at_angle(angle);
}
template <class Rule>
Rule rule_after_fit(const Rule& /*stream_rule*/, const Rule& current, double /*angle*/) {
  return current;
}

/// The rule as it was before its first step.
inline AdaptiveStep at_start(const AdaptiveStep& rule) { return rule.at_level(0); }
inline DiminishingStep at_start(const DiminishingStep& rule) {
  return DiminishingStep(rule.eta0());
}
inline MultiLevelStep at_start(const MultiLevelStep& rule) {
  return MultiLevelStep(rule.options());
}
template <class Rule>
Rule at_start(const Rule& rule) {
  return rule;
}

/// The rule with another first step, if it has one that the data may choose.
inline AdaptiveStep with_first_step(const AdaptiveStep& rule, double eta0) {
  return rule.with_eta0(eta0);
}
template <class Rule>
Rule with_first_step(const Rule& rule, double /*eta0*/) {
  return rule;
}

}  // namespace gasg21
