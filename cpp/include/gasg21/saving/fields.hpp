// The fields of each state in a model file: one line per field, in one place. To save a further
// member, add a line: `v(name, member)`, or `v.later(name, member)` if files without it must still
// load, in which case the member keeps its default.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "gasg21/inliers/subspace.hpp"
#include "gasg21/loss.hpp"
#include "gasg21/metric.hpp"
#include "gasg21/saving/codec.hpp"
#include "gasg21/step_size.hpp"
#include "gasg21/tracker.hpp"

namespace gasg21::saving {

/// Writes the members that it is shown.
struct WriteFields {
  Struct& fields;

  template <class Member>
  void operator()(const char* name, const Member& member) {
    fields.push_back({name, to_value(member)});
  }
  template <class Member>
  void later(const char* name, const Member& member) {
    (*this)(name, member);
  }
};

/// Sets the members that it is shown.
struct ReadFields {
  const Struct& fields;

  template <class Member>
  void operator()(const char* name, Member& member) {
    member = from_value<Member>(get_field(fields, name), name);
  }
  template <class Member>
  void later(const char* name, Member& member) {
    if (find(fields, name)) (*this)(name, member);
  }
};

/// `visit(v, s)` shows the members of s to v.
template <class S>
struct Fields;

/// A struct with `Fields`.
template <class S>
struct Codec<S, std::void_t<decltype(&Fields<S>::template visit<WriteFields, const S>)>> {
  static Value to(const S& s) {
    Struct fields;
    Fields<S>::visit(WriteFields{fields}, s);
    return {std::move(fields)};
  }
  static S from(const Value& value, const std::string& name) {
    if constexpr (std::is_default_constructible_v<S>) {
      S s;
      Fields<S>::visit(ReadFields{get<Struct>(value, name)}, s);
      return s;
    } else {
      S s = Fields<S>::empty();
      Fields<S>::visit(ReadFields{get<Struct>(value, name)}, s);
      return s;
    }
  }
};

// ---- what a stream needs to go on

template <class T, class StepRule, class Metric>
struct Fields<TrackerState<T, StepRule, Metric>> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("U", s.U);
    v("rule", s.rule);
    v("metric", s.metric);
    v("previous", s.previous);
    v("random", s.random);
    v("counters", s.counters);
    v("entries_used", s.entries_used);
    v("steps_since_check", s.steps_since_check);
    v("layout", s.layout);
    v("recent", s.recent);
    v("lift", s.lift);
    v("following", s.following);
  }
};

template <class T, class StepRule, class Metric>
struct Fields<FollowerState<T, StepRule, Metric>> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("options", s.options);
    v("detector", s.detector);
    v("reservoir", s.reservoir);
    v("near", s.near);
    v("backup", s.backup);
  }
};

template <>
struct Fields<Following> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("replay", s.replay);
    v("restart", s.restart);
    v("watch", s.watch);
    v("null_level", s.null_level);
  }
};

template <>
struct Fields<Fitness> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("typical", s.typical);
    v("evidence", s.evidence);
  }
};

template <class T, class StepRule, class Metric>
struct Fields<Backup<T, StepRule, Metric>> {
  static Backup<T, StepRule, Metric> empty() {
    return {arma::Mat<T>(), StepRule(), Metric(), Fitness{}, RecentFits(0)};
  }
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("U", s.U);
    v("rule", s.rule);
    v("metric", s.metric);
    v("fitness", s.fitness);
    v("recent", s.recent);
  }
};

template <>
struct Fields<DetectorState> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("fitness", s.fitness);
    v("trend", s.trend);
    v("near_fit", s.near_fit);
    v("n_near", s.n_near);
    v("gone", s.gone);
    v("returns", s.returns);
    v("misses", s.misses);
    v("surprise", s.surprise);
    v("settled", s.settled);
    v("changed", s.changed);
    v("seen", s.seen);
    v("searching", s.searching);
    v("n_changes", s.n_changes);
    v("changes", s.changes);
  }
};

template <class T>
struct Fields<ReservoirState<T>> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("n", s.n);
    v("capacity", s.capacity);
    v("kept", s.kept);
    v("previous", s.previous);
    v("arrived", s.arrived);
    v("likeness", s.likeness);
    v("compared", s.compared);
    v("primed", s.primed);
    v("drawing", s.drawing);
    v("until_test", s.until_test);
    v("random", s.random);
  }
};

/// A class that is made of its state.
template <class C, class State>
struct StateCodec {
  static Value to(const C& c) { return to_value(c.state()); }
  static C from(const Value& value, const std::string& name) {
    return C(from_value<State>(value, name));
  }
};
template <>
struct Codec<Detector> : StateCodec<Detector, DetectorState> {};
template <class T>
struct Codec<Reservoir<T>> : StateCodec<Reservoir<T>, ReservoirState<T>> {};

template <class T>
struct Fields<RankOneGradient<T>> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("e", s.e);
    v("w", s.w);
    v("weight", s.weight);
  }
};

template <class T>
struct Fields<BasisLayout<T>> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("by_rows", s.by_rows);
    v("streak", s.streak);
    v("Ue", s.Ue);
  }
};

template <class T>
struct Fields<RowMajorState<T>> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("rows", s.rows);
    v("A", s.A);
    v("inverse", s.inverse);
    v("steps", s.steps);
  }
};

template <class T>
struct Fields<Lift<T>> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("centre", s.centre);
    v("constant", s.constant);
  }
};

template <>
struct Fields<Counters> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    for (std::size_t o = 0; o < n_outcomes; ++o) {
      auto count = std::as_const(s)[StepOutcome(o)];
      v(to_string(StepOutcome(o)), count);
      if constexpr (!std::is_const_v<S>) s[StepOutcome(o)] = count;
    }
  }
};

template <>
struct Codec<Random> {
  static Value to(const Random& random) { return to_value(random.state()); }
  static Random from(const Value& value, const std::string& name) {
    return Random(from_value<Random::State>(value, name));
  }
};

template <>
struct Codec<RecentFits> {
  static Value to(const RecentFits& recent) {
    Struct fields;
    WriteFields v{fields};
    v("d", recent.d());
    v("values", recent.values());
    v("next", recent.next());
    return {std::move(fields)};
  }
  static RecentFits from(const Value& value, const std::string& name) {
    ReadFields v{get<Struct>(value, name)};
    uword d = 0, next = 0;
    std::vector<double> values;
    v("d", d);
    v("values", values);
    v("next", next);
    demand(d <= values.size() || values.empty(), "the recent fits have ", d, " weights each");
    return RecentFits::resumed(d, std::move(values), next);
  }
};

// ---- what is known about the inliers

template <>
struct Fields<Fitted> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("n", s.n);
    v("W", s.W);
    v("r2", s.r2);
    v("count", s.count);
    v("norm", s.norm);
  }
};

template <>
struct Fields<WeightPrior> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("C", s.C);
    v("s", s.s);
    v("noise", s.noise);
  }
};

template <>
struct Fields<EntryRange> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("low", s.low);
    v("high", s.high);
    v("largest", s.largest);
  }
};

template <>
struct Fields<Evidence> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("fits", s.fits);
    v("prior", s.prior);
    v("range", s.range);
  }
};

template <>
struct Fields<FitKind> {
  template <class V, class S>
  static void visit(V&& v, S& s) {
    v("exact", s.exact);
    v("in_sample", s.in_sample);
    v("rotate", s.rotate);
  }
};

// ---- rules, losses and metrics: "type", then parameters and state

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
