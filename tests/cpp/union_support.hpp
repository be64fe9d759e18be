// What the tests of K subspaces share: a union of subspaces with outliers and missing entries.
#pragma once

#include <algorithm>
#include <cstdint>
#include <gasg21/geometry/grassmann.hpp>
#include <vector>

#include "support.hpp"

namespace support {

/// `per` samples of each of K random subspaces, shuffled among outliers; NaN = missing.
template <class T>
struct Union {
  Random random;
  std::vector<arma::Mat<T>> truth;
  arma::Mat<T> X;
  arma::uvec labels;  // K = outlier

  Union(uword n, const std::vector<uword>& dimensions, uword per, uword outliers, double missing,
        double noise, std::uint64_t seed)
      : random(seed) {
    const uword K = dimensions.size(), m = K * per + outliers;
    for (const uword d : dimensions) truth.push_back(gasg21::random_basis<T>(n, d, random));
    const arma::uvec order = random.permutation(m);
    X.set_size(n, m);
    labels.set_size(m);
    for (uword i = 0; i < m; ++i) {
      const uword j = order[i], k = std::min(i / per, K);
      labels[j] = k;
      X.col(j) = k == K ? gaussian<T>(n, random)
                        : arma::Col<T>(truth[k] * gaussian<T>(dimensions[k], random) +
                                       T(noise) * gaussian<T>(n, random));
    }
    for (T& entry : X)
      if (random.uniform() < missing) entry = quiet_nan<T>;
  }

  /// The largest angle between a true subspace and the nearest of those found.
  double worst(const std::vector<arma::Mat<T>>& found) const {
    double largest = 0;
    for (const auto& U : truth) {
      double smallest = 10;
      for (const auto& V : found) smallest = std::min(smallest, gasg21::largest_angle(U, V));
      largest = std::max(largest, smallest);
    }
    return largest;
  }
};

inline std::vector<uword> same(uword K, uword d) { return std::vector<uword>(K, d); }

}  // namespace support
