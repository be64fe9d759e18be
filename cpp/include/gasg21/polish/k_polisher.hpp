// The polish for K subspaces: assign all samples, polish each subspace on its members, repeat.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "gasg21/data/views.hpp"
#include "gasg21/fit/assign.hpp"
#include "gasg21/fit/subspace_bank.hpp"
#include "gasg21/polish/polisher.hpp"
#include "gasg21/polish/round.hpp"
#include "gasg21/polish/tyler_scatter.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/parallel.hpp"

namespace gasg21 {

struct KPolishOptions {
  double tol = 1e-6;  // the angle to aim at, radians: see `has_settled`
  int steps = 5;      // per round and subspace, at most
};

/// The state of one subspace in the polish.
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
  // A round makes too few steps on the same members for a secant.
  static RoundOptions round_options() {
    RoundOptions options = RoundOptions::of_cluster();
    options.extrapolate = false;
    return options;
  }

  template <class Data>
  void polish_one(uword k, const Data& data, const KPolishOptions& options) {
    ClusterFit& cluster = clusters_[k];
    cluster.members = data.n_cols;
    cluster.settled = data.n_cols <= bases_[k].n_cols;  // it can be put through d samples
    if (cluster.settled) return;
    const Parallel alone;
    Polisher<T> polisher(Round<T>(bases_[k], round_options(), cluster.scatter), data.n_cols);
    for (int step = 0; step < options.steps; ++step) {
      polisher.fit(data, alone);
      if (polisher.fits().W.is_zero()) {  // no member can be fitted, or all are orthogonal to it
        cluster.settled = true;
        return;
      }
      polisher.weigh();
      polisher.add(data, alone);
      polisher.update(alone);
      take(k, polisher.round());
      const bool settled = polisher.round().has_settled(options.tol);
      if (step == 0) {
        cluster.change = polisher.round().moved();
        cluster.settled = settled;
      }
      if (settled) return;
    }
  }

  void take(uword k, const Round<T>& round) {
    bases_[k] = round.basis();
    clusters_[k].scatter = round.scatter();
    clusters_[k].estimated_angle = round.estimated_angle();
  }

  std::vector<arma::Mat<T>> bases_;
  std::vector<ClusterFit> clusters_;
};

}  // namespace gasg21
