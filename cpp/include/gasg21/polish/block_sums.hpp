// What one block of the data contributes to a pass of the polish. Blocks may lie on a disk or on
// many machines.
#pragma once

#include <utility>

#include "gasg21/polish/coordinate_sums.hpp"
#include "gasg21/polish/sample_fits.hpp"
#include "gasg21/polish/standard_error.hpp"
#include "gasg21/polish/tyler_scatter.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/parallel.hpp"

namespace gasg21 {

/// What one block contributes to a round of the polish that many machines share: for a subspace and
/// a scatter that all of them know. Sums of blocks add up; `next` makes the new subspace of them.
template <class T>
struct BlockSums {
  ScatterSums scatter;
  CoordinateSums<T> rows;
  arma::mat information;

  BlockSums& operator+=(const BlockSums& other) {
    scatter.C += other.scatter.C;
    scatter.s += other.scatter.s;
    scatter.weight += other.scatter.weight;
    rows += other.rows;
    information += other.information;
    return *this;
  }
};

/// block -> sums.
template <class T, class Data>
BlockSums<T> block_sums(const arma::Mat<T>& U, const Scatter& scatter, const Data& block,
                        const Parallel& parallel = Parallel()) {
  SampleFits<T> fits(U.n_cols, block.n_cols);
  fit_block(U, block, 0, fits, parallel);
  scatter.set_weights(fits);
  BlockSums<T> sums{ScatterSums(fits), CoordinateSums<T>(U.n_rows, U.n_cols),
                    information(fits, U.n_rows)};
  add_block(U, block, 0, fits, sums.rows, parallel);
  return sums;
}

}  // namespace gasg21
