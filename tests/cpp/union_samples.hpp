// Samples of a union of random subspaces, for the tests of union/.
#pragma once

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

}  // namespace support
