// Principal coordinates in which no direction dominates, for clusters of real, ill-conditioned
// data.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "gasg21/geometry/grassmann.hpp"
#include "gasg21/geometry/large_products.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
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

}  // namespace gasg21
