// The polish for K subspaces: assign all samples, polish each subspace on its members, repeat.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "gasg21/data/views.hpp"
#include "gasg21/fit/assign.hpp"
#include "gasg21/fit/subspace_bank.hpp"
#include "gasg21/polish/coordinate_sums.hpp"
#include "gasg21/polish/polisher.hpp"
#include "gasg21/polish/sample_fits.hpp"
#include "gasg21/polish/standard_error.hpp"
#include "gasg21/polish/tyler_scatter.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/parallel.hpp"

namespace gasg21 {

struct KPolishOptions {
  double tol = 1e-6;  // a subspace has settled when a step moves it by no more than this, or by
                      // stop_share of its estimated error
  int steps = 5;      // per round and subspace, at most
};

/// What the polish knows about one subspace.
struct ClusterFit {
  Scatter scatter;
  uword members = 0;
  double change = arma::datum::pi / 2;           // by the first step of the last round
  double estimated_angle = arma::datum::pi / 2;  // standard error of the largest angle
  bool settled = false;                          // that first step was small enough
};

template <class T>
class KPolisher {
 public:
  explicit KPolisher(std::vector<arma::Mat<T>> bases)
      : bases_(std::move(bases)), clusters_(bases_.size()) {}

  /// Assigns all samples and polishes each subspace on its members. A subspace with too few members
  /// stays. Throws Stopped if it is stopped; the subspaces stay usable.
  template <class Data>
  void round(const Data& data, const KPolishOptions& options, const Parallel& parallel) {
    const arma::uvec labels = assign_labels(SubspaceBank<T>(bases_), data, parallel);
    std::vector<std::vector<uword>> members(size());
    for (uword j = 0; j < data.n_cols; ++j)
      if (labels[j] < size()) members[labels[j]].push_back(j);
    parallel.for_all(
        size(), [] { return 0; },
        [&](uword k, int&) {
          polish_one(k, SubsetView<Data>(data, std::move(members[k])), options);
        });
  }

  /// Replaces a subspace. Nothing is known about the new one.
  void replace(uword k, arma::Mat<T> U) {
    bases_[k] = std::move(U);
    clusters_[k] = ClusterFit{};
  }

  bool settled() const {
    return std::all_of(clusters_.begin(), clusters_.end(),
                       [](const ClusterFit& c) { return c.settled; });
  }

  uword size() const { return bases_.size(); }
  const std::vector<arma::Mat<T>>& bases() const { return bases_; }
  const std::vector<ClusterFit>& clusters() const { return clusters_; }

 private:
  template <class Data>
  void polish_one(uword k, const Data& data, const KPolishOptions& options) {
    arma::Mat<T>& U = bases_[k];
    ClusterFit& cluster = clusters_[k];
    const uword n = U.n_rows, d = U.n_cols;
    const Parallel alone;
    const double tol = std::max(options.tol, 10.0 * std::numeric_limits<T>::epsilon());
    cluster.members = data.n_cols;
    cluster.settled = data.n_cols <= d;  // any subspace can be put through d samples
    for (int step = 0; step < options.steps && data.n_cols > d; ++step) {
      SampleFits<T> fits(d, data.n_cols);
      fit_samples(U, data, fits, alone);
      if (fits.W.is_zero()) {  // no member can be fitted, or all are orthogonal to U
        cluster.settled = true;
        return;
      }
      cluster.estimated_angle = standard_error(fits, n);
      weigh(cluster.scatter, fits);
      CoordinateSums<T> sums(n, d);
      add_samples(U, data, fits, sums, alone);
      const double change = update_coordinates(U, sums, cluster.scatter, alone);
      const bool small = change <= std::max(tol, stop_share * cluster.estimated_angle);
      if (step == 0) {
        cluster.change = change;
        cluster.settled = small;
      }
      if (small) return;
    }
  }

  static void weigh(Scatter& scatter, SampleFits<T>& fits) {
    const bool first = scatter.C.empty();
    scatter.weigh(fits, first ? Scatter::first_iterations : Scatter::later_iterations,
                  softness(fits.W.n_rows, count_near(fits)));
  }

  std::vector<arma::Mat<T>> bases_;
  std::vector<ClusterFit> clusters_;
};

}  // namespace gasg21
