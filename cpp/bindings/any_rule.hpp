// The step rules, losses and metrics behind one type each, so that Python chooses at run time what
// C++ chooses by template. One visit an update, against thousands of multiply-adds.
#pragma once

#include <cstdint>
#include <gasg21/gasg21.hpp>
#include <string>
#include <variant>

namespace gasg21::bindings {

struct AnyStep {
  std::variant<AdaptiveStep, DiminishingStep, ConstantStep> rule;

  double next(double agreement) {
    return std::visit([&](auto& r) { return r.next(agreement); }, rule);
  }
  double eta() const {
    return std::visit([](const auto& r) { return r.eta(); }, rule);
  }
  std::int64_t level() const {
    return std::visit([](const auto& r) { return r.level(); }, rule);
  }
};

struct AnyLoss {
  std::variant<L21Loss, SquaredLoss> loss;

  explicit AnyLoss(const std::string& name = "l21") {
    require(name == "l21" || name == "squared", "loss='", name, "' must be 'l21' or 'squared'");
    if (name == "squared") loss = SquaredLoss{};
  }
  std::string name() const { return std::holds_alternative<L21Loss>(loss) ? "l21" : "squared"; }
  double weight(double residual) const {
    return std::visit([&](const auto& l) { return l.weight(residual); }, loss);
  }
};

struct AnyMetric {
  std::variant<NoScaling, CovarianceScaling> metric;

  template <class T>
  void learn(const RankOneGradient<T>& g, double residual, double eta) {
    std::visit([&](auto& m) { m.learn(g, residual, eta); }, metric);
  }
  void forget() {
    std::visit([](auto& m) { m.forget(); }, metric);
  }
  bool fits(uword d) const {
    return std::visit([&](const auto& m) { return m.fits(d); }, metric);
  }
  template <class T>
  double agreement(const RankOneGradient<T>& previous, const RankOneGradient<T>& g) const {
    return std::visit([&](const auto& m) { return m.agreement(previous, g); }, metric);
  }
  template <class T>
  double turn(const RankOneGradient<T>& g, double eta, arma::Col<T>& v) const {
    return std::visit([&](const auto& m) { return m.turn(g, eta, v); }, metric);
  }
};

}  // namespace gasg21::bindings
