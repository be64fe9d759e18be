// How a fit of a union is to go.
#pragma once

#include <algorithm>
#include <vector>

#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/union/consensus.hpp"
#include "gasg21/union/one_run.hpp"
#include "gasg21/union/screening.hpp"

namespace gasg21 {

/// Stands for a number of clusters or a dimension that the data decides.
inline constexpr uword automatic = 0;

/// How many subspaces of which dimensions. One dimension stands for all subspaces.
struct UnionOrder {
  uword n_clusters = automatic;
  std::vector<uword> dimensions{automatic};

  bool chooses_clusters() const { return n_clusters == automatic; }
  bool chooses_dimensions() const { return dimensions[0] == automatic; }
  bool is_given() const { return !chooses_clusters() && !chooses_dimensions(); }

  /// Throws InvalidArgument unless the numbers fit each other and data of n features.
  void check(uword n) const {
    require(dimensions.size() == 1 || dimensions.size() == n_clusters, "there are ",
            dimensions.size(), " dimensions for n_clusters=", n_clusters);
    require(!dimensions.empty(), "there must be at least one dimension");
    const bool all_automatic = dimensions.size() == 1 && chooses_dimensions();
    for (const uword d : dimensions)
      require(all_automatic || (d >= 1 && d < n), "d = ", d, " must be in [1, n - 1]");
  }
};

/// Where the search for the subspaces begins. `by_data` is `density`, and lets a consensus follow.
enum class UnionStart { by_data, density, farthest, spectral };

/// Whether something is done. `by_data` leaves it to the data.
enum class Choice { no, yes, by_data };

struct UnionOptions : UnionRunOptions {
  UnionStart start = UnionStart::by_data;
  Choice whiten = Choice::by_data;  // work in whitened coordinates
  Choice screen = Choice::by_data;  // leave out of the search what lies outside all spans
  uword n_ensemble = 0;             // runs that are joined; 0 = one run, or what a consensus needs
  bool center = false;              // true = affine subspaces
  bool reject_outliers = false;
  ConsensusConstants consensus{};

  /// Whether another representation of the data may replace the run.
  bool may_seek_consensus() const {
    return polish && start == UnionStart::by_data && whiten == Choice::by_data && n_ensemble == 0;
  }
  /// Whether the search leaves out the samples that lie outside the span of all clusters.
  bool screens(const std::vector<uword>& of_dimensions, uword n) const {
    return screen == Choice::yes ||
           (screen == Choice::by_data && Screening::applies(of_dimensions, n));
  }
};

}  // namespace gasg21
