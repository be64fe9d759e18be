// Spectral clustering of an affinity matrix W: the leading eigenvectors of D^-1/2 W D^-1/2, with
// rows scaled to unit length (Ng, Jordan and Weiss 2002), then k-means.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "gasg21/geometry/lanczos.hpp"
#include "gasg21/geometry/large_products.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/union/k_means.hpp"

namespace gasg21 {

/// The affinity F'F with 0 on the diagonal. Its products take two thin ones; it is never formed.
struct Factored {
  arma::mat factor;  // r x m, nonnegative
};

namespace detail {

/// The powers of absolute values. Even exponents, which are usual here, by products of squares.
inline void raise(float* values, uword count, double exponent) {
  const double half = exponent / 2;
  if (half != std::floor(half) || half > 8) {
    for (uword i = 0; i < count; ++i) values[i] = float(std::pow(std::abs(values[i]), exponent));
    return;
  }
  for (uword i = 0; i < count; ++i) {
    const float square = values[i] * values[i];
    float product = square;
    for (int k = 1; k < int(half); ++k) product *= square;
    values[i] = product;
  }
}

}  // namespace detail

/// |cosine|^exponent of all pairs of unit columns (r x m), 0 on the diagonal. For independent
/// subspaces and points in the span of all of them the cosines of samples of different clusters
/// vanish: the shape interaction matrix of Costeira and Kanade (1998).
inline arma::fmat shape_interaction(const arma::fmat& points, double exponent,
                                    const Parallel& parallel = Parallel()) {
  require(exponent > 0, "exponent = ", exponent, " must be positive");
  const uword m = points.n_cols;
  arma::fmat W(m, m, arma::fill::zeros);
  add_large_product(columns_of(points), columns_of(points), 1.0F, W.memptr(), m, false, parallel);
  parallel.for_work(double(m) * double(m))
      .for_all(
          m, [] { return 0; },
          [&](uword j, int) {
            detail::raise(W.colptr(j), m, exponent);
            W(j, j) = 0;
          });
  return W;
}

namespace detail {

inline constexpr uword lanczos_from = 400;  // samples: smaller matrices are decomposed sooner
// k-means needs three digits of the eigenvectors.
inline constexpr double spectral_tol = 1e-4;

/// 1 / sqrt(degree), 0 where that is 0.
inline arma::vec inverse_roots(const arma::vec& degrees) {
  arma::vec roots(degrees.n_elem);
  for (uword j = 0; j < roots.n_elem; ++j)
    roots[j] = degrees[j] > 0 ? 1 / std::sqrt(degrees[j]) : 0;
  return roots;
}

/// The sums of the columns of the affinity.
inline arma::vec degrees_of(const Factored& affinity) {
  const arma::mat& F = affinity.factor;
  const arma::vec total = arma::sum(F, 1);
  arma::vec degrees(F.n_cols);
  for (uword j = 0; j < F.n_cols; ++j)
    degrees[j] = std::max(0.0, kernels::dot(F.colptr(j), total.memptr(), F.n_rows) -
                                   kernels::dot(F.colptr(j), F.colptr(j), F.n_rows));
  return degrees;
}
inline arma::vec degrees_of(const arma::fmat& affinity) {
  arma::vec degrees(affinity.n_cols, arma::fill::zeros);
  for (uword j = 0; j < affinity.n_cols; ++j)
    for (uword i = 0; i < affinity.n_rows; ++i) degrees[j] += double(affinity(i, j));
  return degrees;
}

/// D^-1/2 W D^-1/2.
inline arma::mat normalized(const Factored& affinity, const arma::vec& roots) {
  arma::mat F = affinity.factor;
  for (uword j = 0; j < F.n_cols; ++j) F.col(j) *= roots[j];
  arma::mat N = gram(F);
  N.diag().zeros();
  return N;
}
inline arma::mat normalized(const arma::fmat& affinity, const arma::vec& roots) {
  arma::mat N(affinity.n_rows, affinity.n_cols);
  for (uword j = 0; j < N.n_cols; ++j)
    for (uword i = 0; i < N.n_rows; ++i) N(i, j) = roots[i] * double(affinity(i, j)) * roots[j];
  return N;
}

/// Scales the rows of V.
inline void scale_rows(arma::fmat& V, const arma::fvec& by) {
  for (uword c = 0; c < V.n_cols; ++c)
    for (uword i = 0; i < V.n_rows; ++i) V(i, c) *= by[i];
}

/// The leading eigenvectors of D^-1/2 W D^-1/2 by Lanczos, in single precision: a product then
/// reads half of the memory.
template <class Multiply>
std::optional<SymmetricEigen<float>> spectral_lanczos(uword m, uword K, const Multiply& multiply,
                                                      const Parallel& parallel) {
  LanczosOptions options;
  options.tol = spectral_tol;
  return lanczos<float>(m, K, multiply, options, parallel);
}
inline std::optional<SymmetricEigen<float>> spectral_lanczos(const Factored& affinity,
                                                             const arma::vec& roots, uword K,
                                                             const Parallel& parallel) {
  arma::fmat F = arma::conv_to<arma::fmat>::from(affinity.factor);
  arma::fvec diagonal(F.n_cols);
  for (uword j = 0; j < F.n_cols; ++j) {
    F.col(j) *= float(roots[j]);
    diagonal[j] = kernels::dot(F.colptr(j), F.colptr(j), F.n_rows);
  }
  const auto multiply = [&](const arma::fmat& V, arma::fmat& out) {
    out = V;
    scale_rows(out, -diagonal);
    const arma::fmat inner = large_product(F, V, parallel);
    add_large_product(columns_of(F), columns_of(inner), 1.0F, out.memptr(), out.n_rows, false,
                      parallel);
  };
  return spectral_lanczos(F.n_cols, K, multiply, parallel);
}
inline std::optional<SymmetricEigen<float>> spectral_lanczos(const arma::fmat& affinity,
                                                             const arma::vec& roots, uword K,
                                                             const Parallel& parallel) {
  const arma::fvec scale = arma::conv_to<arma::fvec>::from(roots);
  const auto multiply = [&](const arma::fmat& V, arma::fmat& out) {
    arma::fmat scaled = V;
    scale_rows(scaled, scale);
    out = large_transposed_product(affinity, scaled, parallel);
    scale_rows(out, scale);
  };
  return spectral_lanczos(affinity.n_cols, K, multiply, parallel);
}

/// Coordinates of the samples in the K leading eigenvectors (K x m), as columns of unit length.
template <class Affinity>
arma::mat embed(const Affinity& affinity, uword K, const Parallel& parallel) {
  const arma::vec roots = inverse_roots(degrees_of(affinity));
  std::optional<SymmetricEigen<float>> found;
  if (roots.n_elem >= lanczos_from) found = spectral_lanczos(affinity, roots, K, parallel);
  arma::mat points = found ? arma::conv_to<arma::mat>::from(found->vectors.t())
                           : arma::mat(symmetric_eigen(normalized(affinity, roots), K).vectors.t());
  for (uword j = 0; j < points.n_cols; ++j) {
    const double length = std::sqrt(kernels::dot(points.colptr(j), points.colptr(j), K));
    // Without any affinity only rounding would be left, of any direction.
    points.col(j) *= roots[j] > 0 && length > 0 ? 1 / length : 0;
  }
  return points;
}

}  // namespace detail

/// Labels 0, 1, ..., at most K - 1, without gaps, of the samples of a graph. Samples without any
/// affinity fall into the same cluster.
inline arma::uvec spectral_labels(const Factored& affinity, uword K, std::uint64_t seed,
                                  uword n_init, const Parallel& parallel = Parallel()) {
  const uword m = affinity.factor.n_cols;
  require(K > 0 && K <= m, "K = ", K, " must be from 1 to the number of samples, ", m);
  return cluster_points(detail::embed(affinity, K, parallel), K, seed, n_init, parallel);
}

/// The same for a symmetric affinity without negative entries (m x m).
inline arma::uvec spectral_labels(const arma::fmat& affinity, uword K, std::uint64_t seed,
                                  uword n_init, const Parallel& parallel = Parallel()) {
  const uword m = affinity.n_cols;
  require(affinity.n_rows == m, "an affinity cannot have ", affinity.n_rows, " rows and ", m,
          " columns");
  require(K > 0 && K <= m, "K = ", K, " must be from 1 to the number of samples, ", m);
  return cluster_points(detail::embed(affinity, K, parallel), K, seed, n_init, parallel);
}

}  // namespace gasg21
