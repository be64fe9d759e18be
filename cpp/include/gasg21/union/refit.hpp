// Each cluster fitted by itself, so that labels and subspaces agree: in the working
// coordinates, or in the data's own.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "gasg21/data/dense_samples.hpp"
#include "gasg21/data/lift.hpp"
#include "gasg21/geometry/grassmann.hpp"
#include "gasg21/geometry/principal.hpp"
#include "gasg21/recovery/report.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/support/shared_stop.hpp"
#include "gasg21/union/fit_one_subspace.hpp"
#include "gasg21/union/near_subspaces.hpp"
#include "gasg21/union/principal_coordinates.hpp"
#include "gasg21/union/representations.hpp"

namespace gasg21 {

struct RefitOptions {
  double tol = 1e-6;
  std::uint64_t seed = 0;
};

/// Fits the members of one cluster; none if any subspace could be put through so few. A robust fit
/// of few samples in many coordinates fits some of them exactly: these get their principal axes, of
/// unknown error.
inline std::optional<OneSubspace> fit_members(const arma::mat& X, uword d,
                                              const RefitOptions& options,
                                              const Parallel& parallel = Parallel()) {
  constexpr uword few = 8;  // samples per dimension
  if (X.n_cols <= d + 1) return std::nullopt;
  if (X.n_cols < few * d && X.n_rows > X.n_cols && !X.has_nan())
    return OneSubspace{principal_axes(unit_columns(X), d), arma::datum::nan, 0};
  return fit_one_subspace(X, d, {Start::spherical_pca, options.tol, 20, options.seed}, parallel);
}

/// Fits a flat of d dimensions to the members of one cluster; none if they are too few.
inline std::optional<OneFlat> fit_flat_members(const arma::mat& X, uword d,
                                               const RefitOptions& options,
                                               const Parallel& parallel = Parallel()) {
  if (X.n_cols <= d + 2) return std::nullopt;
  return fit_one_flat(X, d, {Start::random, options.tol, 20, options.seed}, parallel);
}

/// The subspace of lifted samples, (n + 1) x (d + 1), behind a flat.
template <class T>
arma::Mat<T> lifted_basis(const OneFlat& flat, const Lift<T>& lift) {
  const uword n = flat.point.n_elem, d = flat.directions.n_cols;
  arma::mat U(n + 1, d + 1, arma::fill::zeros);
  U.submat(0, 0, n - 1, d - 1) = flat.directions;
  U.col(d).head(n) = flat.point - arma::conv_to<arma::vec>::from(lift.centre);
  U(n, d) = double(lift.constant);
  require(orthonormalize(U), "the directions of a flat are not independent");
  return arma::conv_to<arma::Mat<T>>::from(U);
}

/// The samples at unit length, with zeros for missing entries.
inline arma::mat filled_unit_columns(arma::mat X) {
  X.replace(arma::datum::nan, 0.0);
  scale_to_unit_columns(X);
  return X;
}

/// Subspaces and the standard errors of their angles, which are NaN where they are not known.
template <class T>
struct Refitted {
  std::vector<arma::Mat<T>> bases;
  arma::vec estimated_angles;
};

namespace detail {

/// Calls fit(k, parallel) for each cluster, several at a time. Throws Stopped if it was stopped.
template <class Fit>
void for_clusters(uword n_clusters, const Parallel& parallel, Fit&& fit) {
  SharedStop stop(parallel);
  parallel.for_all(
      n_clusters, [&] { return stop.alone(); },
      [&](uword k, const Parallel& alone) { fit(k, alone); });
}

}  // namespace detail

/// Fits each of the clusters to its members. `found` are the subspaces so far: of clusters with
/// too few members they stay, with an angle of pi / 2.
template <class T>
void refit(Refitted<T>& found, const std::vector<arma::mat>& members, const RefitOptions& options,
           const Parallel& parallel = Parallel()) {
  const std::vector<uword> dimensions = dimensions_of(found.bases);
  std::vector<arma::mat> unit;
  for (const arma::mat& X : members) unit.push_back(filled_unit_columns(X));
  const arma::uvec order = match_dimensions(unit, dimensions);
  found.estimated_angles.set_size(dimensions.size());
  found.estimated_angles.fill(arma::datum::pi / 2);
  detail::for_clusters(dimensions.size(), parallel, [&](uword k, const Parallel& alone) {
    const auto one = fit_members(members[order[k]], dimensions[k], options, alone);
    if (!one) return;
    found.bases[k] = arma::conv_to<arma::Mat<T>>::from(one->basis);
    found.estimated_angles[k] = one->estimated_angle;
  });
}

/// Fits each cluster in the coordinates of the data, which whitening leaves out in part; its flat
/// if there is a lift: then `data` are the samples before the lift. `labels`: the number of
/// clusters = none. Clusters with too few members stay.
template <class T, class Data>
void refit_in_data(Refitted<T>& found, const Data& data, const arma::uvec& labels,
                   const Lift<T>* lift, const RefitOptions& options,
                   const Parallel& parallel = Parallel()) {
  const uword K = found.bases.size();
  require(found.estimated_angles.n_elem == K, "there are ", found.estimated_angles.n_elem,
          " estimated angles of ", K, " subspaces");
  std::vector<std::vector<uword>> members(K);
  for (uword j = 0; j < labels.n_elem; ++j)
    if (labels[j] < K) members[labels[j]].push_back(j);
  detail::for_clusters(K, parallel, [&](uword k, const Parallel& alone) {
    const arma::mat X = dense_samples(data, members[k]);
    const uword d = found.bases[k].n_cols;
    if (lift) {
      const auto flat = fit_flat_members(X, d - 1, options, alone);
      if (!flat) return;
      found.bases[k] = lifted_basis(*flat, *lift);
      found.estimated_angles[k] = flat->estimated_angle;
    } else if (const auto one = fit_members(X, d, options, alone)) {
      found.bases[k] = arma::conv_to<arma::Mat<T>>::from(one->basis);
      found.estimated_angles[k] = one->estimated_angle;
    }
  });
}

/// The status after `refit_in_data`. What a run has found undetermined may be determined by the
/// members that the consensus has given it. Unknown errors do not count; they become pi / 2.
template <class T>
Status status_of_refit(Status before, arma::vec& estimated_angles, double tol) {
  const arma::vec known = estimated_angles.elem(arma::find_finite(estimated_angles));
  estimated_angles.replace(arma::datum::nan, arma::datum::pi / 2);
  if (before != Status::undetermined && before != Status::noise_floor &&
      before != Status::max_passes)
    return before;
  const bool lost = !known.empty() && verdict<T>(known, tol) == Status::undetermined;
  return lost ? Status::undetermined : Status::noise_floor;
}

}  // namespace gasg21
