// What one block of the data contributes to a pass of the polish. Blocks may lie on a disk or on
// many machines; all of them know the same subspace and scatter, and their sums add up.
#pragma once

#include "gasg21/polish/coordinate_sums.hpp"
#include "gasg21/polish/sample_fits.hpp"
#include "gasg21/polish/standard_error.hpp"
#include "gasg21/polish/tyler_scatter.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/parallel.hpp"

namespace gasg21 {

template <class T>
struct BlockSums {
  ScatterSums scatter;
  CoordinateSums<T> coordinates;
  arma::mat information;

  BlockSums& operator+=(const BlockSums& other) {
    scatter.C += other.scatter.C;
    scatter.s += other.scatter.s;
    scatter.weight += other.scatter.weight;
    coordinates += other.coordinates;
    information += other.information;
    return *this;
  }
};

template <class T, class Data>
BlockSums<T> block_sums(const arma::Mat<T>& U, const Scatter& scatter, const Data& block,
                        const Parallel& parallel = Parallel()) {
  SampleFits<T> fits(U.n_cols, block.n_cols);
  fit_samples(U, block, fits, parallel);
  scatter.set_weights(fits);
  BlockSums<T> sums{ScatterSums(fits), CoordinateSums<T>(U.n_rows, U.n_cols),
                    information(fits, U.n_rows)};
  add_samples(U, block, fits, sums.coordinates, parallel);
  return sums;
}

}  // namespace gasg21
