// A start that is closer than a random subspace.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>

#include "gasg21/data/observation.hpp"
#include "gasg21/geometry/grassmann.hpp"
#include "gasg21/kernels/plain.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/random.hpp"

namespace gasg21 {

/// The d leading directions of the samples, scaled to unit length, with zeros for missing entries;
/// some 20 d samples are enough. Up to 20 times closer than a random start, but it solves no case
/// that a random start fails in. Directions that the samples do not span are random. When `stop`
/// returns true, the current basis is returned.
template <class T, class Data>
arma::Mat<T> spherical_pca_basis(const Data& data, uword d, Random& random,
                                 const std::function<bool()>& stop = {}) {
  const uword n = data.n_rows;
  require(data.n_cols > 0, "a start needs at least one sample");
  arma::Mat<T> sample(n, data.n_cols, arma::fill::zeros);
  Observation<T> x(n);
  for (uword j = 0; j < data.n_cols; ++j) {
    if (x.read(data.sample(j)) != Usable::yes) continue;
    for (uword k = 0; k < x.count(); ++k) sample(x.rows()[k], j) = x.values()[k];
  }
  // A few rounds of orthogonal iteration with sample sample' + ridge suffice for a start. The ridge
  // keeps random directions where the samples span none.
  arma::Mat<T> U = random_basis<T>(n, d, random);
  constexpr uword at_once = 4;  // samples: they stay in the cache for all directions
  T weights[at_once];
  for (int round = 0; round < 10; ++round) {
    if (stop && stop()) return U;
    arma::Mat<T> next = T(1e-4) * U;
    for (uword j = 0; j < data.n_cols; j += at_once) {
      const uword here = std::min(at_once, data.n_cols - j);
      for (uword c = 0; c < d; ++c) {
        kernels::transpose_times(sample.colptr(j), n, here, U.colptr(c), weights);
        kernels::add_times(sample.colptr(j), n, here, weights, T(1), next.colptr(c));
      }
    }
    if (!orthonormalize(next)) throw NumericalError("the spherical PCA start is not a basis");
    U = std::move(next);
  }
  return U;
}

}  // namespace gasg21
