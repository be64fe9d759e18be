// Labels by shape interaction alone: a second opinion on a run, and a start of one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "gasg21/geometry/principal.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/union/consensus.hpp"
#include "gasg21/union/principal_coordinates.hpp"
#include "gasg21/union/representations.hpp"

namespace gasg21 {

/// The labels of shape interaction of unit-length samples: in the span of all clusters, then in a
/// narrower one. Each is computed when it is asked for.
class QuickLabels {
 public:
  /// Borrows the principal coordinates of complete samples at unit length.
  QuickLabels(const PrincipalCoordinates& of_unit, std::vector<uword> dimensions,
              std::uint64_t seed, const Parallel& parallel,
              const ConsensusConstants& constants = {})
      : principal_(of_unit),
        plan_{std::move(dimensions), seed},
        parallel_(parallel),
        exponent_(constants.exponents.front()),
        spans_{principal_.n_span(), detail::narrow_span(principal_, constants.n_narrow)} {
    const uword d = *std::max_element(plan_.dimensions.begin(), plan_.dimensions.end());
    if (principal_.rank() <= d + 1) spans_.clear();
  }

  /// The next labels: none after the second ones, or if the rank of the samples is too low.
  std::optional<arma::uvec> next() {
    if (used_ == spans_.size()) return {};
    const arma::fmat points = principal_.whitened<float>(spans_[used_++], 0);
    return cut_cosines(points, exponent_, plan_, parallel_);
  }

 private:
  const PrincipalCoordinates& principal_;
  ClusterPlan plan_;
  Parallel parallel_;
  double exponent_;
  std::vector<uword> spans_;
  uword used_ = 0;
};

/// The subspaces of the clusters that shape interaction finds among complete samples, the columns
/// of X: a start for a run. `X` may have many more features than samples.
inline std::vector<arma::mat> spectral_start(const arma::mat& X,
                                             const std::vector<uword>& dimensions,
                                             std::uint64_t seed, const Parallel& parallel) {
  const uword K = dimensions.size(), d = *std::max_element(dimensions.begin(), dimensions.end());
  std::optional<arma::uvec> labels;
  if (X.n_cols > std::accumulate(dimensions.begin(), dimensions.end(), uword(0))) {
    const PrincipalCoordinates of_unit(unit_columns(X), dimensions, 0, parallel);
    labels = QuickLabels(of_unit, dimensions, seed, parallel).next();
  }
  std::vector<arma::mat> members, bases;
  if (labels)
    for (const arma::uvec& own : members_of(*labels, K))
      members.push_back(unit_columns(arma::mat(X.cols(own))));
  const arma::uvec cluster = labels ? match_dimensions(members, dimensions) : arma::uvec();
  for (uword k = 0; k < K; ++k) {
    require(labels && members[cluster[k]].n_cols >= dimensions[k],
            "init='spectral' needs samples of a rank above n_components=", d,
            " in each of n_clusters=", K, " clusters; use init='density'");
    bases.push_back(principal_axes(members[cluster[k]], dimensions[k]));
  }
  return bases;
}

}  // namespace gasg21
