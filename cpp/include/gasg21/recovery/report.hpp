// The report of a fit: one record per pass, and how it ended. And its observer.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gasg21/polish/round.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/tracker.hpp"

namespace gasg21 {

/// How a fit ended. The first two count as converged.
enum class Status {
  converged,       // to the tolerance
  noise_floor,     // as close as the noise allows
  max_passes,      // it still moved in the last pass
  undetermined,    // the data does not determine the subspace
  rank_deficient,  // the inliers do not span d dimensions
  ambiguous,       // another subspace explains the data as well
  // For unions:
  too_few_clusters,   // one more subspace would explain as much as the others do
  too_many_clusters,  // two subspaces share their samples, or one holds hardly any
  indistinct,         // different representations of the data disagree
  interrupted         // the observer stopped it
};

inline const char* to_string(Status status) {
  switch (status) {
    case Status::converged:
      return "converged";
    case Status::noise_floor:
      return "noise_floor";
    case Status::max_passes:
      return "max_passes";
    case Status::undetermined:
      return "undetermined";
    case Status::rank_deficient:
      return "rank_deficient";
    case Status::ambiguous:
      return "ambiguous";
    case Status::too_few_clusters:
      return "too_few_clusters";
    case Status::too_many_clusters:
      return "too_many_clusters";
    case Status::indistinct:
      return "indistinct";
    default:
      return "interrupted";
  }
}

inline bool is_converged(Status status) {
  return status == Status::converged || status == Status::noise_floor;
}

enum class Stage { stream, polish };

/// One pass over the data. `moved`, `estimated_angle` and `members` have one entry per subspace;
/// `members` is empty for a fit of one subspace.
struct PassRecord {
  Stage stage = Stage::stream;
  arma::vec moved;             // angle between the subspaces before and after, radians
  double median_residual = 0;  // of all samples that could be fitted
  uword n_samples = 0;         // that the pass went over
  // The stream only:
  double near_residual = 0;  // median of the residuals below 0.5
  std::uint64_t n_iter = 0;  // vectors used so far
  std::int64_t level = 0;
  double step_size = 0;
  // The polish only:
  arma::vec estimated_angle;
  // K subspaces only:
  arma::uvec members;

  /// For the stop rules.
  double largest_move() const { return moved.max(); }
};

/// An observer that never stops a fit. Derive from it, hide what you need, and pass it to `recover`
/// or `recover_union`.
struct Unobserved {
  /// After each vector of the stream. True = stop.
  bool step(const StepReport& /*report*/) { return false; }
  /// Now and then in the batch stages. True = stop.
  bool poll() { return false; }
  /// After each pass.
  void pass(const PassRecord& /*record*/) {}
  /// Before work that is no pass.
  void stage(const char* /*name*/) {}
  /// False: the next passes only prepare a fit. True: they belong to it again.
  void show_passes(bool /*shown*/) {}
  /// The passes are over. What follows makes their result usable, also after a stop.
  void go_on() {}
};

/// The subspace is lost above this estimated error, in radians.
inline constexpr double lost_angle = 0.22;

/// The status of subspaces that no longer move, by their estimated errors.
template <class T>
Status settled_status(double estimated_angle, double tol) {
  return estimated_angle <= 10 * reachable<T>(tol) ? Status::converged : Status::noise_floor;
}
template <class T>
Status verdict(const arma::vec& estimated_angles, double tol) {
  const double worst = estimated_angles.max();
  return worst > lost_angle ? Status::undetermined : settled_status<T>(worst, tol);
}

}  // namespace gasg21
