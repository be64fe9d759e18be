// The ways to do the same updates that are timed against each other.
#pragma once

#include <gasg21/metric.hpp>
#include <gasg21/recovery/stream.hpp>
#include <gasg21/tracker.hpp>
#if __has_include(<gasg21/kernels/dispatch.hpp>)
#include <gasg21/kernels/dispatch.hpp>
#endif

#include <ctime>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "plain.hpp"
#include "problem.hpp"

namespace speed {

/// Seconds of processor time that this thread has had.
inline double thread_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

template <class Work>
double seconds_of(Work&& work) {
  const double start = thread_seconds();
  work();
  return thread_seconds() - start;
}

/// A problem in both precisions, and the first step.
struct Task {
  Problem problem;
  arma::fmat X32;
  double eta0;

  template <class T>
  const arma::Mat<T>& data() const {
    if constexpr (std::is_same_v<T, float>)
      return X32;
    else
      return problem.X;
  }
};

inline Task make_task(Problem problem, double eta0) {
  arma::fmat X32 = arma::conv_to<arma::fmat>::from(problem.X);
  return {std::move(problem), std::move(X32), eta0};
}

/// What one run over the vectors `order` gave.
struct Fit {
  arma::mat basis;
  double seconds;
  double near = 0;  // share of the vectors that lie so near the subspace that r takes a pass
};

struct Variant {
  std::string name;
  bool plain;         // not ours
  bool same_updates;  // must give the subspace that arma::solve gives
  std::function<Fit(const Task&, const arma::uvec& order)> fit;
};

template <class Weights>
Fit fit_plain(const Task& task, const arma::uvec& order) {
  plain::Tracker<Weights> tracker(task.problem.start, task.eta0);
  const double seconds = seconds_of([&] {
    for (const uword j : order) tracker.update(task.problem.X.col(j));
  });
  return {tracker.basis(), seconds};
}

/// (Of external linkage and never inlined, so that callgrind can be told to count this alone.)
template <class Tracker, class T>
[[gnu::noinline]] void counted_run(Tracker& tracker, const arma::Mat<T>& X, const arma::uvec& order,
                                   double& near) {
  gasg21::run(tracker, gasg21::DenseView<T>(X), order, [&](const gasg21::StepReport& step) {
    near += 2 * step.residual * step.residual <= 1;
    return false;
  });
}

template <class T, class Metric>
Fit fit_ours(const Task& task, const arma::uvec& order) {
  auto options = gasg21::AdaptiveStepOptions::defaults(Metric::scaled(), true);
  options.eta0 = task.eta0;
  gasg21::Tracker<T, gasg21::AdaptiveStep, gasg21::L21Loss, Metric> tracker(
      arma::conv_to<arma::Mat<T>>::from(task.problem.start), gasg21::AdaptiveStep(options));
  double near = 0;
  const double seconds = seconds_of([&] { counted_run(tracker, task.data<T>(), order, near); });
  return {arma::conv_to<arma::mat>::from(tracker.basis()), seconds, near / double(order.n_elem)};
}

inline std::vector<Variant> plain_variants(bool complete) {
  std::vector<Variant> variants{{"solve", true, true, fit_plain<plain::Solve>},
                                {"normal", true, true, fit_plain<plain::NormalEquations>}};
  if (complete) variants.push_back({"projection", true, true, fit_plain<plain::Projection>});
  return variants;
}

/// "paper", "scaled" and "float" are what users get; "paper-avx2" and the like are for each
/// instruction set that this machine has.
inline std::vector<Variant> our_variants() {
  std::vector<Variant> variants;
#if __has_include(<gasg21/kernels/dispatch.hpp>)
  using gasg21::InstructionSet;
  const InstructionSet best = gasg21::instruction_set();
  const std::pair<const char*, InstructionSet> sets[] = {{"baseline", InstructionSet::baseline},
                                                         {"avx2", InstructionSet::avx2},
                                                         {"avx512", InstructionSet::avx512}};
  for (const auto& [name, set] : sets) {
    if (!gasg21::use_instruction_set(set)) continue;
    gasg21::use_instruction_set(best);
    const auto in_set = [set = set, best](const Task& task, const arma::uvec& order) {
      gasg21::use_instruction_set(set);
      Fit result = fit_ours<double, gasg21::NoScaling>(task, order);
      gasg21::use_instruction_set(best);
      return result;
    };
    variants.push_back({std::string("paper-") + name, false, true, in_set});
  }
#endif
  variants.push_back({"paper", false, true, fit_ours<double, gasg21::NoScaling>});
  variants.push_back({"scaled", false, false, fit_ours<double, gasg21::CovarianceScaling>});
  variants.push_back({"float", false, false, fit_ours<float, gasg21::NoScaling>});
  return variants;
}

}  // namespace speed
