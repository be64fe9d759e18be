// Principal coordinates in which no direction dominates, for clusters of real, ill-conditioned
// data.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "gasg21/geometry/grassmann.hpp"
#include "gasg21/geometry/large_products.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/median.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/union/principal_coordinates.hpp"
#include "gasg21/union/screening.hpp"

namespace gasg21 {

/// The leading principal coordinates, divided by the square root of their singular values.
struct Whitening {
  arma::mat directions;                // n x r, orthonormal
  arma::vec spread;                    // r singular values, falling
  std::optional<Screening> screening;  // finds outliers, fills in missing entries; none = neither

  uword n_rows() const { return directions.n_rows; }
  uword n_coordinates() const { return directions.n_cols; }

  /// The coordinates of the samples, r x m, up to their lengths; NaN where they are not determined.
  arma::mat apply(arma::mat X, const Parallel& parallel = Parallel()) const {
    require(X.n_rows == n_rows(), "samples of ", X.n_rows, " entries cannot be whitened in ",
            n_rows(), " dimensions");
    for (uword j = 0; j < X.n_cols; ++j) {
      double largest = 0;
      for (const double x : X.col(j))
        if (std::abs(x) > largest) largest = std::abs(x);  // not for NaN
      if (largest > 0) X.col(j) /= largest;
    }
    if (screening) X = screening->complete(std::move(X), parallel);
    arma::mat coordinates = large_transposed_product(directions, X, parallel);
    coordinates.each_col() /= arma::sqrt(spread);
    return coordinates;
  }

  /// Whether each sample lies outside the span of all clusters.
  std::vector<bool> is_outlier(const arma::mat& X, const Parallel& parallel = Parallel()) const {
    return screening ? screening->overall.is_outlier(X, parallel) : std::vector<bool>(X.n_cols);
  }

  /// A subspace of the coordinates, r x d, as one of the data, n x d.
  arma::mat original(arma::mat U) const {
    require(U.n_rows == n_coordinates(), "a subspace of ", U.n_rows, " coordinates is not one of ",
            n_coordinates());
    U.each_col() %= arma::sqrt(spread);
    arma::mat basis = large_product(directions, U);
    require(orthonormalize(basis), "the subspace is not one of the data");
    return basis;
  }
};

/// Whether enough entries are observed to tell where a sample lies in the span of all clusters:
/// half of the samples have at least 1.5 sum d_k. With fewer, the coordinates of a whitened sample
/// are guesses.
inline bool may_whiten(const arma::mat& X, const std::vector<uword>& dimensions) {
  if (!X.has_nan()) return true;
  std::vector<double> counts;
  for (uword j = 0; j < X.n_cols; ++j)
    counts.push_back(
        double(detail::count_observed<double>(DenseSample<double>{X.colptr(j)}, X.n_rows)));
  return median(std::move(counts)) >= 1.5 * double(total_of(dimensions));
}

/// For complete samples with these principal coordinates.
inline Whitening whitening_of(const arma::mat& X, const PrincipalCoordinates& principal,
                              const std::vector<uword>& dimensions,
                              std::optional<Screening> screening,
                              const Parallel& parallel = Parallel()) {
  const uword largest = *std::max_element(dimensions.begin(), dimensions.end());
  const uword r = std::min(2 * total_of(dimensions), principal.rank());
  require(r > largest, "whiten=True needs data of a rank above n_components=", largest,
          "; without outliers that of X is ", principal.rank());
  const arma::mat V = principal.vectors().head_rows(r);
  arma::mat directions = large_product(X, arma::mat(V.t()), parallel);
  require(orthonormalize(directions), "the principal directions are not independent");
  return {std::move(directions), principal.singular_values().head(r), std::move(screening)};
}

/// Fits a screening, and the whitening to the inliers of the samples; NaN = missing.
inline Whitening fit_whitening(const arma::mat& X, const std::vector<uword>& dimensions,
                               std::uint64_t seed, const Parallel& parallel = Parallel()) {
  const Screening screening = fit_screening(X, dimensions, seed, parallel);
  const std::vector<bool> kept = screening.keeps(X, parallel);
  const bool enough = uword(std::count(kept.begin(), kept.end(), true)) > total_of(dimensions);
  const arma::mat completed = screening.complete(X, parallel);
  std::vector<uword> good;
  for (uword j = 0; j < X.n_cols; ++j)
    if ((kept[j] || !enough) && completed.col(j).is_finite()) good.push_back(j);
  require(!good.empty(), "whiten=True needs samples whose missing entries can be filled in");
  const arma::mat X_good = completed.cols(arma::conv_to<arma::uvec>::from(good));
  return whitening_of(X_good, PrincipalCoordinates(X_good, dimensions, 0, parallel), dimensions,
                      screening, parallel);
}

}  // namespace gasg21
