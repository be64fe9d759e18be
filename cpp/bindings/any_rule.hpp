// One type each for the step rules, the losses with their fits, and the metrics: Python chooses at
// run time what C++ chooses by template. This costs one visit per update.
#pragma once

#include <cstdint>
#include <gasg21/loss.hpp>
#include <gasg21/metric.hpp>
#include <gasg21/step_size.hpp>
#include <string>
#include <variant>

namespace gasg21::bindings {

struct AnyStep {
  std::variant<AdaptiveStep, DiminishingStep, ConstantStep, MultiLevelStep, GreedyStep> rule;

  double next(const GradientSummary& gradient) {
    return std::visit([&](auto& r) { return r.next(gradient); }, rule);
  }
  double eta() const {
    return std::visit([](const auto& r) { return r.eta(); }, rule);
  }
  std::int64_t level() const {
    return std::visit([](const auto& r) { return r.level(); }, rule);
  }
};

/// A rule as Python passes it.
using Rule = decltype(AnyStep::rule);

/// As for the rules themselves.
inline AnyStep rule_after_fit(const AnyStep& stream_rule, const AnyStep& current, double angle) {
  if (const auto* adaptive = std::get_if<AdaptiveStep>(&stream_rule.rule))
    return AnyStep{adaptive->at_angle(angle)};
  return current;
}
inline AnyStep at_start(const AnyStep& rule) {
  return std::visit([](const auto& r) { return AnyStep{gasg21::at_start(r)}; }, rule.rule);
}
inline AnyStep with_first_step(const AnyStep& rule, double eta0) {
  if (const auto* adaptive = std::get_if<AdaptiveStep>(&rule.rule))
    return AnyStep{adaptive->with_eta0(eta0)};
  return rule;
}

template <class T>
struct AnyFit {
  std::variant<TrackedFit<T>, L1Admm<T>> fit;

  Solved solve(TrackedBasis<T>& U, const Observation<T>& x) {
    return std::visit([&](auto& f) { return f.solve(U, x); }, fit);
  }
  const arma::Col<T>& w() const {
    return std::visit([](const auto& f) -> const arma::Col<T>& { return f.w(); }, fit);
  }
  T residual() const {
    return std::visit([](const auto& f) { return f.residual(); }, fit);
  }
  T distance() const {
    return std::visit([](const auto& f) { return f.distance(); }, fit);
  }
  T length() const {
    return std::visit([](const auto& f) { return f.length(); }, fit);
  }
  T size() const {
    return std::visit([](const auto& f) { return f.size(); }, fit);
  }
  double overlap() const {
    return std::visit([](const auto& f) { return f.overlap(); }, fit);
  }
  bool exact() const {
    return std::visit([](const auto& f) { return f.exact(); }, fit);
  }
  void move(TrackedBasis<T>& U, Observation<T>& x, const arma::Col<T>& v, double theta) {
    std::visit([&](auto& f) { f.move(U, x, v, theta); }, fit);
  }
};

/// The fit of a loss in a fixed basis.
template <class T>
struct AnyFixedFit {
  std::variant<FixedFit<T>, L1Admm<T>> fit;

  Solved solve(const arma::Mat<T>& U, const Observation<T>& x) {
    return std::visit([&](auto& f) { return f.solve(U, x); }, fit);
  }
  const arma::Col<T>& w() const {
    return std::visit([](const auto& f) -> const arma::Col<T>& { return f.w(); }, fit);
  }
  T residual() const {
    return std::visit([](const auto& f) { return f.residual(); }, fit);
  }
  T distance() const {
    return std::visit([](const auto& f) { return f.distance(); }, fit);
  }
};

/// How Python names a loss: "l21", "squared", or an L1Loss with its constants.
using LossName = std::variant<std::string, L1Loss>;

struct AnyLoss {
  std::variant<L21Loss, SquaredLoss, L1Loss> loss;

  AnyLoss() = default;
  explicit AnyLoss(const LossName& given) {
    if (std::holds_alternative<L1Loss>(given)) {
      loss = std::get<L1Loss>(given);
      return;
    }
    const auto& name = std::get<std::string>(given);
    require(name == "l21" || name == "squared", "loss='", name,
            "' must be 'l21', 'squared' or an L1Loss");
    if (name == "squared") loss = SquaredLoss{};
  }
  LossName name() const {
    if (std::holds_alternative<L1Loss>(loss)) return std::get<L1Loss>(loss);
    return std::holds_alternative<L21Loss>(loss) ? "l21" : "squared";
  }
  template <class T>
  AnyFit<T> make_fit(uword n, uword d) const {
    return std::visit([&](const auto& l) { return AnyFit<T>{l.template make_fit<T>(n, d)}; }, loss);
  }
  template <class T>
  AnyFixedFit<T> make_fixed_fit(const arma::Mat<T>& U) const {
    return std::visit(
        [&](const auto& l) { return AnyFixedFit<T>{l.template make_fixed_fit<T>(U)}; }, loss);
  }
  bool is_least_squares() const {
    return std::visit([](const auto& l) { return l.is_least_squares(); }, loss);
  }
  /// Passes over a sample that a fit in a fixed basis makes, at most.
  double passes() const {
    const auto* l1 = std::get_if<L1Loss>(&loss);
    return l1 ? double(l1->options.max_iter) : 1;
  }
  double weight(double residual) const {
    return std::visit([&](const auto& l) { return l.weight(residual); }, loss);
  }
};

struct AnyMetric {
  std::variant<NoScaling, CovarianceScaling> metric;

  template <class Gradient>
  void learn(const Gradient& g, double residual, double eta) {
    std::visit([&](auto& m) { m.learn(g, residual, eta); }, metric);
  }
  void forget() {
    std::visit([](auto& m) { m.forget(); }, metric);
  }
  bool fits(uword d) const {
    return std::visit([&](const auto& m) { return m.fits(d); }, metric);
  }
  bool scaled() const {
    return std::visit([](const auto& m) { return m.scaled(); }, metric);
  }
  template <class Gradient>
  double agreement(const Gradient& previous, const Gradient& g, double overlap) const {
    return std::visit([&](const auto& m) { return m.agreement(previous, g, overlap); }, metric);
  }
  template <class Gradient, class Column>
  double step(const Gradient& g, double eta, Column& v) const {
    return std::visit([&](const auto& m) { return m.step(g, eta, v); }, metric);
  }
};

/// A metric as Python passes it.
using Metric = decltype(AnyMetric::metric);

}  // namespace gasg21::bindings
