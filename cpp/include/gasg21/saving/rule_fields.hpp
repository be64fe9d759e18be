// The fields of step rules, losses and metrics: "type", then parameters and state.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "gasg21/loss.hpp"
#include "gasg21/metric.hpp"
#include "gasg21/saving/fields.hpp"
#include "gasg21/step_size.hpp"

namespace gasg21::saving {

template <>
struct Fields<AdaptiveStepOptions> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("eta0", s.eta0);
    v("mu_max", s.mu_max);
    v("mu_min", s.mu_min);
    v("f_min", s.f_min);
    v("f_max", s.f_max);
    v("omega", s.omega);
    v("max_level", s.max_level);
    v("steady", s.steady);
  }
};

template <>
struct Fields<MultiLevelStepOptions> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("first_angle", s.first_angle);
    v("mu_max", s.mu_max);
    v("mu_min", s.mu_min);
    v("f_min", s.f_min);
    v("f_max", s.f_max);
    v("omega", s.omega);
    v("max_level", s.max_level);
    v("max_angle", s.max_angle);
  }
};

template <>
struct Fields<L1AdmmOptions> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("rho", s.rho);
    v("max_iter", s.max_iter);
    v("tol", s.tol);
  }
};

/// The part that all types have in common that say which they are. `Self` has `type`,
/// `write(v, t)` and `read(v)`.
template <class T, class Self>
struct TypedCodec {
  static Value to(const T& t) {
    Struct fields;
    WriteFields v{fields};
    v("type", std::string(Self::type));
    Self::write(v, t);
    return {std::move(fields)};
  }
  static T from(const Value& value, const std::string& name) {
    ReadFields v{get<Struct>(value, name)};
    std::string type;
    v("type", type);
    demand(type == Self::type, "'", name, "' is a ", type, ", not a ", Self::type);
    return Self::read(v);
  }
};

template <>
struct Codec<AdaptiveStep> : TypedCodec<AdaptiveStep, Codec<AdaptiveStep>> {
  static constexpr const char* type = "AdaptiveStep";
  static void write(WriteFields& v, const AdaptiveStep& rule) {
    Fields<AdaptiveStepOptions>::visit(v, rule.options());
    v("mu", rule.mu());
    v("level", rule.level());
  }
  static AdaptiveStep read(ReadFields& v) {
    AdaptiveStepOptions options;
    double mu = 0;
    std::int64_t level = 0;
    Fields<AdaptiveStepOptions>::visit(v, options);
    v("mu", mu);
    v("level", level);
    return {options, mu, level};
  }
};

template <>
struct Codec<DiminishingStep> : TypedCodec<DiminishingStep, Codec<DiminishingStep>> {
  static constexpr const char* type = "DiminishingStep";
  static void write(WriteFields& v, const DiminishingStep& rule) {
    v("eta0", rule.eta0());
    v("taken", rule.taken());
  }
  static DiminishingStep read(ReadFields& v) {
    double eta0 = 0;
    std::int64_t taken = 0;
    v("eta0", eta0);
    v("taken", taken);
    return DiminishingStep(eta0, taken);
  }
};

template <>
struct Codec<ConstantStep> : TypedCodec<ConstantStep, Codec<ConstantStep>> {
  static constexpr const char* type = "ConstantStep";
  static void write(WriteFields& v, const ConstantStep& rule) { v("eta0", rule.eta()); }
  static ConstantStep read(ReadFields& v) {
    double eta0 = 0;
    v("eta0", eta0);
    return ConstantStep(eta0);
  }
};

template <>
struct Codec<MultiLevelStep> : TypedCodec<MultiLevelStep, Codec<MultiLevelStep>> {
  static constexpr const char* type = "MultiLevelStep";
  static void write(WriteFields& v, const MultiLevelStep& rule) {
    Fields<MultiLevelStepOptions>::visit(v, rule.options());
    v("scale", rule.scale());
    v("mu", rule.mu());
    v("level", rule.level());
    v("eta", rule.eta());
  }
  static MultiLevelStep read(ReadFields& v) {
    MultiLevelStepOptions options;
    double scale = 0, mu = 0, eta = 0;
    std::int64_t level = 0;
    Fields<MultiLevelStepOptions>::visit(v, options);
    v("scale", scale);
    v("mu", mu);
    v("level", level);
    v("eta", eta);
    return {options, scale, mu, level, eta};
  }
};

template <>
struct Codec<GreedyStep> : TypedCodec<GreedyStep, Codec<GreedyStep>> {
  static constexpr const char* type = "GreedyStep";
  static void write(WriteFields& v, const GreedyStep& rule) { v("eta", rule.eta()); }
  static GreedyStep read(ReadFields& v) {
    double eta = 0;
    v("eta", eta);
    return GreedyStep(eta);
  }
};

template <>
struct Codec<L21Loss> : TypedCodec<L21Loss, Codec<L21Loss>> {
  static constexpr const char* type = "L21Loss";
  static void write(WriteFields& /*v*/, const L21Loss& /*loss*/) {}
  static L21Loss read(ReadFields& /*v*/) { return {}; }
};

template <>
struct Codec<SquaredLoss> : TypedCodec<SquaredLoss, Codec<SquaredLoss>> {
  static constexpr const char* type = "SquaredLoss";
  static void write(WriteFields& /*v*/, const SquaredLoss& /*loss*/) {}
  static SquaredLoss read(ReadFields& /*v*/) { return {}; }
};

template <>
struct Codec<L1Loss> : TypedCodec<L1Loss, Codec<L1Loss>> {
  static constexpr const char* type = "L1Loss";
  static void write(WriteFields& v, const L1Loss& loss) {
    Fields<L1AdmmOptions>::visit(v, loss.options);
  }
  static L1Loss read(ReadFields& v) {
    L1Loss loss;
    Fields<L1AdmmOptions>::visit(v, loss.options);
    loss.make_fit<double>(2, 1);  // checks the options
    return loss;
  }
};

template <>
struct Codec<NoScaling> : TypedCodec<NoScaling, Codec<NoScaling>> {
  static constexpr const char* type = "NoScaling";
  static void write(WriteFields& /*v*/, const NoScaling& /*metric*/) {}
  static NoScaling read(ReadFields& /*v*/) { return {}; }
};

template <>
struct Codec<CovarianceScaling> : TypedCodec<CovarianceScaling, Codec<CovarianceScaling>> {
  static constexpr const char* type = "CovarianceScaling";
  static void write(WriteFields& v, const CovarianceScaling& metric) {
    v("forgetting", metric.forgetting());
    v("factor", metric.factor());
    v("weight", metric.weight());
    v("trace", metric.trace());
  }
  static CovarianceScaling read(ReadFields& v) {
    double forgetting = 0, weight = 0, trace = 0;
    arma::mat factor;
    v("forgetting", forgetting);
    v("factor", factor);
    v("weight", weight);
    v("trace", trace);
    return {forgetting, std::move(factor), weight, trace};
  }
};

}  // namespace gasg21::saving
