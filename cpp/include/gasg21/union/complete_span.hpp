// A robust fit of one subspace to complete samples by large matrix products: spherical PCA, then
// the weights of the polish. For many dimensions it takes a tenth of the time of `recover`.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "gasg21/geometry/grassmann.hpp"
#include "gasg21/geometry/large_products.hpp"
#include "gasg21/geometry/positive_definite.hpp"
#include "gasg21/geometry/products.hpp"
#include "gasg21/kernels/plain.hpp"
#include "gasg21/polish/coordinate_sums.hpp"
#include "gasg21/polish/sample_fits.hpp"
#include "gasg21/polish/tyler_scatter.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/support/random.hpp"

namespace gasg21 {

namespace detail {

/// Passes of subspace iteration on sum omega x x', for the unit-norm samples x.
class SpanFit {
 public:
  SpanFit(const arma::mat& unit_samples, uword d, std::uint64_t seed, const Parallel& parallel)
      : A_(unit_samples), parallel_(parallel), fits_(d, A_.n_cols) {
    Random random(seed);
    U_ = random_basis<double>(A_.n_rows, d, random);
    for (uword j = 0; j < A_.n_cols; ++j)  // samples of zeros are not used
      fits_.count[j] = kernels::dot(A_.colptr(j), A_.colptr(j), A_.n_rows) > 0
                           ? double(std::max(std::min(A_.n_rows, A_.n_cols), d + 1))
                           : 0;
  }

  /// All samples count alike.
  void pass() {
    project();
    scatter_ = Scatter();
    scatter_.set_weights(fits_);
    step();
  }

  /// Samples count by Tyler's weights. Returns whether the subspace still moved.
  bool robust_pass() {
    project();
    const bool first = scatter_.C.empty();
    scatter_.weigh(fits_, first ? Scatter::first_iterations : Scatter::later_iterations, 1,
                   [this] { return parallel_.is_stopped(); });
    return step();
  }

  const arma::mat& basis() const { return U_; }

 private:
  void project() {
    fits_.W = large_transposed_product(U_, A_, parallel_);
    const uword d = U_.n_cols;
    for (uword j = 0; j < A_.n_cols; ++j)
      fits_.r2[j] = std::max(0.0, 1 - kernels::dot(fits_.W.colptr(j), fits_.W.colptr(j), d));
  }

  /// U becomes an orthonormal basis of sum omega x w'. It is divided by sum omega w w' first, so
  /// that its columns are well conditioned, with a ridge that keeps directions without samples.
  bool step() {
    constexpr double ridge = 1e-12, settled = 1e-6;
    const arma::mat G = weighted_gram(fits_.W, fits_.omega);
    if (!(arma::trace(G) > 0)) return false;
    arma::mat weighted = fits_.W, inverse;
    for (uword j = 0; j < weighted.n_cols; ++j) weighted.col(j) *= fits_.omega[j];
    positive_inverse(G, inverse, ridge);
    const arma::mat solved = large_product(inverse, weighted, parallel_);
    arma::mat next = large_product(A_, arma::mat(solved.t()), parallel_);
    next += ridge * U_;
    if (!orthonormalize(next)) return false;
    const arma::mat cosines = large_transposed_product(U_, next, parallel_);
    const double moved = double(U_.n_cols) - inner_product(cosines, cosines);  // sum of sines^2
    if (!scatter_.C.empty()) rotate(scatter_, U_, next);
    U_ = std::move(next);
    return moved > settled;
  }

  const arma::mat& A_;
  const Parallel& parallel_;
  SampleFits<double> fits_;
  Scatter scatter_;
  arma::mat U_;
};

}  // namespace detail

/// A basis, n x d, of what most of these samples span. They are complete and of unit length, or
/// zero.
inline arma::mat robust_span(const arma::mat& unit_samples, uword d, std::uint64_t seed,
                             const Parallel& parallel = Parallel()) {
  constexpr int plain_passes = 4, robust_passes = 6;
  require(frobenius_norm(unit_samples) > 0, "no sample can be used");
  detail::SpanFit fit(unit_samples, d, seed, parallel);
  for (int pass = 0; pass < plain_passes; ++pass) fit.pass();
  for (int pass = 0; pass < robust_passes && fit.robust_pass(); ++pass) {
  }
  return fit.basis();
}

}  // namespace gasg21
