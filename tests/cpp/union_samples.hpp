// Samples of a union of random subspaces, for the tests of union/.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <gasg21/union/matching.hpp>
#include <vector>

#include "support.hpp"

namespace support {

struct UnionShape {
  uword n, K, d, per_cluster;
  double noise;
  std::uint64_t seed;
};

struct UnionSamples {
  arma::mat X;  // n x m, in random order
  arma::uvec labels;
  std::vector<arma::mat> bases;
};

inline UnionSamples union_samples(const UnionShape& shape) {
  Random random(shape.seed);
  const uword m = shape.K * shape.per_cluster;
  UnionSamples made{arma::mat(shape.n, m), arma::uvec(m), {}};
  for (uword k = 0; k < shape.K; ++k)
    made.bases.push_back(gasg21::random_basis<double>(shape.n, shape.d, random));
  const arma::uvec order = random.permutation(m);
  for (uword i = 0; i < m; ++i) {
    const uword j = order[i], k = i % shape.K;
    made.labels[j] = k;
    made.X.col(j) = made.bases[k] * gaussian<double>(shape.d, random) +
                    shape.noise * gaussian<double>(shape.n, random);
  }
  return made;
}

/// Clusters that share a common direction, as motions and images do. If it is as strong as by
/// default, one subspace explains nearly all. Each lies near a subspace of 3 dimensions. The last
/// 40 samples are outliers, with the label K.
inline UnionSamples close_subspaces(uword K, double strength = 20) {
  constexpr uword n = 40, per = 60, outliers = 40;
  Random random(3);
  UnionSamples made{{}, arma::uvec(K * per + outliers, arma::fill::value(K)), {}};
  const arma::mat common = strength * gasg21::random_basis<double>(n, 1, random);
  for (uword k = 0; k < K; ++k) {
    const arma::mat U = gasg21::random_basis<double>(n, 2, random);
    arma::mat own = U * gaussian<double>(2, per, random);
    for (uword j = 0; j < per; ++j) own.col(j) += (1 + random.uniform()) * common;
    made.X = arma::join_rows(made.X, own + 0.01 * gaussian<double>(n, per, random));
    made.labels.subvec(k * per, (k + 1) * per - 1).fill(k);
    made.bases.push_back(arma::orth(arma::join_rows(common, U)));
  }
  const double size = std::sqrt(arma::accu(arma::square(made.X)) / double(made.X.n_elem));
  made.X = arma::join_rows(made.X, size * gaussian<double>(n, outliers, random));
  return made;
}

/// The members that noise cannot bring near to another subspace than their own.
inline arma::uvec clear_members(const UnionSamples& made) {
  constexpr double far = 0.01;  // residual at unit length
  std::vector<uword> clear;
  for (uword j = 0; j < made.X.n_cols; ++j) {
    if (made.labels[j] == made.bases.size()) continue;
    const arma::vec x = arma::normalise(arma::vec(made.X.col(j)));
    double nearest = 1;
    for (uword k = 0; k < made.bases.size(); ++k)
      if (k != made.labels[j])
        nearest = std::min(nearest, arma::norm(x - made.bases[k] * (made.bases[k].t() * x)));
    if (nearest > far) clear.push_back(j);
  }
  return arma::conv_to<arma::uvec>::from(clear);
}

}  // namespace support
