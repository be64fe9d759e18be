// Union<T>: a fitted union of K subspaces. It assigns samples to the subspaces, measures residuals,
// rejects outliers, fills in missing entries and scores data, as Subspace<T> does for one.
#pragma once

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "gasg21/data/lift.hpp"
#include "gasg21/data/views.hpp"
#include "gasg21/fit/assign.hpp"
#include "gasg21/fit/subspace_bank.hpp"
#include "gasg21/geometry/affine.hpp"
#include "gasg21/geometry/grassmann.hpp"
#include "gasg21/geometry/products.hpp"
#include "gasg21/inliers/null_bounds.hpp"
#include "gasg21/inliers/residual_split.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/union/near_subspaces.hpp"
#include "gasg21/union/own_subspaces.hpp"
#include "gasg21/union/union_coordinates.hpp"

namespace gasg21 {

/// One subspace of a union in the coordinates of the data: a linear one goes through 0.
template <class T>
struct UnionMember {
  arma::Mat<T> directions;  // n x d, orthonormal
  arma::Col<T> point;       // n
};

/// Immutable. Its methods take a view of samples with n_features() rows, or one that is lifted
/// already. As a label, n_clusters() means no subspace.
template <class T>
class Union {
 public:
  using value_type = T;

  /// Orthonormal bases: `subspaces` in the coordinates of the data, lifted if there is a lift, and
  /// `bases` in the working coordinates, where samples are assigned. They are alike unless the
  /// working coordinates are whitened, or each cluster was fitted again by itself.
  Union(std::vector<arma::Mat<T>> subspaces, std::vector<arma::Mat<T>> bases,
        UnionCoordinates<T> coordinates = {}, ResidualSplit split = {})
      : subspaces_(std::move(subspaces)),
        bases_(std::move(bases)),
        coordinates_(std::move(coordinates)),
        split_(split),
        bank_(bases_) {
    check();
  }
  explicit Union(const std::vector<arma::Mat<T>>& subspaces) : Union(subspaces, subspaces) {}

  uword n_clusters() const { return subspaces_.size(); }
  uword n_features() const { return subspaces_[0].n_rows - coordinates_.n_appended(); }
  /// Of a flat one less than its lifted basis has columns.
  std::vector<uword> dimensions() const {
    std::vector<uword> all = dimensions_of(subspaces_);
    for (uword& d : all) d -= coordinates_.n_appended();
    return all;
  }
  const std::vector<arma::Mat<T>>& subspaces() const { return subspaces_; }
  const std::vector<arma::Mat<T>>& bases() const { return bases_; }
  const UnionCoordinates<T>& coordinates() const { return coordinates_; }
  const ResidualSplit& split() const { return split_; }

  UnionMember<T> subspace(uword k) const {
    const arma::Mat<T>& U = subspaces_.at(k);
    if (!coordinates_.lift) return {U, arma::Col<T>(U.n_rows, arma::fill::zeros)};
    const Lift<T>& lift = *coordinates_.lift;
    const Flat<T> flat = flat_of(U, lift.constant);
    const arma::Mat<T> all = product(U, arma::conv_to<arma::Mat<T>>::from(flat.directions));
    return {all.head_rows(n_features()), lift.centre + flat.nearest};
  }

  /// The union after its stream has moved to other bases. A subspace whose basis has not moved is
  /// kept: it may be better than the image of the basis under the whitening.
  Union moved(std::vector<arma::Mat<T>> bases) const {
    require(bases.size() == n_clusters(), "there must be ", n_clusters(), " bases, not ",
            bases.size());
    std::vector<arma::Mat<T>> subspaces = subspaces_;
    for (uword k = 0; k < n_clusters(); ++k)
      if (!arma::approx_equal(bases[k], bases_[k], "absdiff", T(0)))
        subspaces[k] = coordinates_.original(bases[k]);
    return {std::move(subspaces), std::move(bases), coordinates_, split_};
  }
  Union with_split(ResidualSplit split) const { return {subspaces_, bases_, coordinates_, split}; }

  /// The samples in the whitened coordinates, one per column, for a stream that goes on in them;
  /// NaN where they are not determined.  Pre: the union is whitened.
  template <class Data>
  arma::Mat<T> whitened(const Data& data, const Parallel& parallel = Parallel()) const {
    const Data view = view_of(data);
    arma::Mat<T> all(bases_[0].n_rows, view.n_cols);
    detail::for_blocks(
        view.n_cols, block, parallel, [] { return 0; },
        [&](uword from, uword to, int&) {
          all.cols(from, to - 1) = coordinates_.whitened(view, from, to);
        });
    return all;
  }

  /// The nearest subspace of each sample; none if it is undetermined.
  template <class Data>
  arma::uvec labels(const Data& data, const Parallel& parallel = Parallel()) const {
    arma::uvec labels(data.n_cols);
    each_fitted(data, parallel, [&](uword j, auto& scratch, uword s) {
      labels[j] = bank_.nearest_cluster(scratch, s);
    });
    return labels;
  }

  /// The same with the residuals, in half as much time again.
  template <class Data>
  Assignment<T> assign(const Data& data, const Parallel& parallel = Parallel()) const {
    Assignment<T> all{arma::uvec(data.n_cols), arma::Col<T>(data.n_cols)};
    each_fitted(data, parallel, [&](uword j, auto& scratch, uword s) {
      const Nearest<T> best = bank_.nearest(scratch, s);
      all.labels[j] = best.cluster;
      all.residuals[j] = best.residual;
    });
    return all;
  }

  /// K x m: the residual of each unit-norm sample in each subspace, in the working coordinates; 0
  /// for a sample of zeros, NaN = undetermined.
  template <class Data>
  arma::Mat<T> residuals(const Data& data, const Parallel& parallel = Parallel()) const {
    arma::Mat<T> all(n_clusters(), data.n_cols);
    each_fitted(data, parallel, [&](uword j, auto& scratch, uword s) {
      const Usable usable = scratch.usable(s);
      for (uword k = 0; k < n_clusters(); ++k)
        all(k, j) = usable == Usable::yes    ? bank_.exact_residual(k, scratch, s)
                    : usable == Usable::zero ? T(0)
                                             : std::numeric_limits<T>::quiet_NaN();
    });
    return all;
  }

  /// Whether each sample is nearer to its subspace than a random direction to any.
  template <class Data>
  std::vector<bool> near(const Data& data, const Assignment<T>& assigned) const {
    require(assigned.labels.n_elem == data.n_cols && assigned.residuals.n_elem == data.n_cols,
            "there are ", assigned.labels.n_elem, " labels for ", data.n_cols, " samples");
    const auto& whitening = coordinates_.whitening;
    const arma::uvec counts = whitening ? arma::uvec() : n_observed<T>(view_of(data));
    NearBounds bounds(dimensions_of(bases_));
    std::vector<bool> near(data.n_cols);
    for (uword j = 0; j < data.n_cols; ++j)
      near[j] = bounds.is_near(double(assigned.residuals[j]),
                               whitening ? bases_[0].n_rows : counts[j], assigned.labels[j]);
    return near;
  }

  /// The split of the residuals of those samples that are near to their subspaces.
  template <class Data>
  ResidualSplit find_split(const Data& data, const Assignment<T>& assigned,
                           const Parallel& parallel = Parallel()) const {
    constexpr double deviations = 5;  // above the typical residual, that a member may lie
    arma::vec residuals =
        own_residuals(subspaces_, view_of(data), assigned.labels, parallel).absolute;
    const std::vector<bool> is_near = near(data, assigned);
    for (uword j = 0; j < residuals.n_elem; ++j)
      if (!is_near[j]) residuals[j] = arma::datum::nan;
    return split_residuals(residuals, deviations);
  }

  /// The labels, none for outliers: samples as far from the subspaces as a random direction,
  /// outside the span of all clusters, or above the split of the residuals.
  template <class Data>
  arma::uvec reject(const Data& data, const Assignment<T>& assigned,
                    const Parallel& parallel = Parallel()) const {
    const Data view = view_of(data);
    const std::vector<bool> is_near = near(view, assigned);
    arma::uvec labels = assigned.labels;
    for (uword j = 0; j < labels.n_elem; ++j)
      if (!is_near[j]) labels[j] = n_clusters();
    labels = without_outside_span(view, std::move(labels), parallel);
    if (std::isfinite(split_.cut)) reject_above_split(view, labels, parallel);
    return labels;
  }

  /// The labels, none for samples outside the span of all clusters.
  template <class Data>
  arma::uvec without_outside_span(const Data& data, arma::uvec labels,
                                  const Parallel& parallel = Parallel()) const {
    if (!coordinates_.whitening) return labels;
    const Data view = view_of(data);
    detail::for_blocks(
        view.n_cols, block, parallel, [] { return 0; },
        [&](uword from, uword to, int&) {
          const std::vector<bool> out = coordinates_.is_outlier(view, from, to);
          for (uword j = from; j < to; ++j)
            if (out[j - from]) labels[j] = n_clusters();
        });
    return labels;
  }

  /// Writes the missing entries of the samples, from the subspace that each is nearest to, to
  /// `out`, n_features() x m; NaN where they are not determined. The other entries of `out` keep
  /// their values.
  template <class Data>
  void complete(const Data& data, T* out, const Parallel& parallel = Parallel()) const {
    const Data view = view_of(data);
    arma::uvec nearest(data.n_cols);
    each_fitted(view, parallel, [&](uword j, auto& scratch, uword s) {
      // A sample of zeros lies in every subspace.
      nearest[j] = scratch.usable(s) == Usable::zero ? 0 : bank_.nearest_cluster(scratch, s);
    });
    const T* const centre = coordinates_.lift ? coordinates_.lift->centre.memptr() : nullptr;
    complete_in_own(subspaces_, view, nearest, n_features(), centre, out, parallel);
  }
  /// The same for a matrix, one sample per column; NaN = missing.
  arma::Mat<T> complete(const arma::Mat<T>& X, const Parallel& parallel = Parallel()) const {
    arma::Mat<T> completed = X;
    complete(DenseView<T>(X), completed.memptr(), parallel);
    return completed;
  }

  /// How well entries are predicted from the others of their samples, each from the nearest
  /// subspace: see `held_out_score`. Samples without a nearest subspace do not count.
  template <class Data>
  double score(const Data& data, const Parallel& parallel = Parallel()) const {
    const Data view = view_of(data);
    return score_in_own(subspaces_, view, labels(view, parallel), n_features(), parallel);
  }

 private:
  // Samples whose relative residual is below this lie on a subspace, whatever the residuals of
  // others are.
  static constexpr double small = 0.1;
  static constexpr uword block = 256;  // samples that are whitened together

  using Scratch = typename SubspaceBank<T>::Scratch;

  /// Throws unless the parts belong together.
  void check() const {
    require(subspaces_.size() == bases_.size(), "there are ", subspaces_.size(), " subspaces and ",
            bases_.size(), " bases");
    for (uword k = 0; k < bases_.size(); ++k) {
      const arma::Mat<T>&U = subspaces_[k], &B = bases_[k];
      coordinates_.check(U.n_rows, B.n_rows);
      require(U.n_rows == subspaces_[0].n_rows && U.n_cols == B.n_cols &&
                  U.n_cols > coordinates_.n_appended(),
              "subspace ", k, " and its basis do not belong together");
      require(double(orthonormality_error(U)) < 1e-3 && double(orthonormality_error(B)) < 1e-3,
              "the basis of subspace ", k, " is not orthonormal");
    }
  }

  template <class Data>
  Data view_of(const Data& data) const {
    require(data_rows(data) == n_features(), "the data has ", data_rows(data),
            " rows, but n = ", n_features());
    return coordinates_.lifted_view(data);
  }

  /// Fits all samples to the bases, in the working coordinates, as `for_all_fitted`.
  template <class Data, class Use>
  void each_fitted(const Data& data, const Parallel& parallel, Use&& use) const {
    const Data view = view_of(data);
    if (!coordinates_.whitening) return for_all_fitted(bank_, view, parallel, use);
    detail::for_blocks(
        view.n_cols, block, parallel, [&] { return Scratch(bank_, bank_.samples_at_once()); },
        [&](uword from, uword to, Scratch& scratch) {
          const arma::Mat<T> some = coordinates_.whitened(view, from, to);
          const auto use_one = [&](uword j, Scratch& with, uword s) { use(from + j, with, s); };
          detail::fit_some(bank_, DenseView<T>(some), 0, to - from, scratch, use_one);
        });
  }

  template <class Data>
  void reject_above_split(const Data& view, arma::uvec& labels, const Parallel& parallel) const {
    const OwnResiduals own = own_residuals(subspaces_, view, labels, parallel);
    for (uword j = 0; j < labels.n_elem; ++j)
      if (split_.is_above(own.absolute[j]) && own.relative[j] > small) labels[j] = n_clusters();
  }

  std::vector<arma::Mat<T>> subspaces_, bases_;
  UnionCoordinates<T> coordinates_;
  ResidualSplit split_;
  SubspaceBank<T> bank_;  // of the bases
};

}  // namespace gasg21
