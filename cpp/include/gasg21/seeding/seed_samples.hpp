// The samples that candidate subspaces are made of.
#pragma once

#include <algorithm>

#include "gasg21/data/observation.hpp"
#include "gasg21/data/views.hpp"
#include "gasg21/kernels/sample_sums.hpp"
#include "gasg21/support/aligned.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/random.hpp"

namespace gasg21 {

/// A copy of some samples, scaled to unit length, with zeros for missing entries. Samples that
/// cannot be used are left out.
template <class T>
class SeedSamples {
 public:
  uword n_rows, n_cols = 0;

  /// Copies the given columns of the data.
  template <class Data>
  SeedSamples(const Data& data, const arma::uvec& columns)
      : n_rows(data.n_rows),
        Z_(whole_blocks<T>(n_rows), columns.n_elem, arma::fill::zeros),
        mask_(n_rows, columns.n_elem, arma::fill::zeros) {
    Observation<T> x(n_rows);
    for (const uword j : columns) {
      if (x.read(data.sample(j)) != Usable::yes) continue;
      for (uword k = 0; k < x.count(); ++k) {
        Z_(x.rows()[k], n_cols) = x.values()[k];
        mask_(x.rows()[k], n_cols) = 1;
      }
      ++n_cols;
    }
  }

  DenseSample<T> sample(uword j) const { return {Z_.colptr(j), mask_.colptr(j)}; }
  const T* column(uword j) const { return Z_.colptr(j); }
  bool observed(uword i, uword j) const { return mask_(i, j) != 0; }
  /// The cosines between sample j and the samples first, first + 1, ..., with zeros for missing
  /// entries. The sign counts: a point and its mirror image are not neighbours. (Without the sign,
  /// results were equal on random subspaces and worse on motions, which lie on affine ones.)
  void cosines(uword j, uword first, uword count, T* out) const {
    kernels::sample_sum_kernels<T>().products(Z_.colptr(first), Z_.n_rows, count, Z_.colptr(j),
                                              out);
    for (uword k = 0; k < count; ++k) out[k] = std::min(T(1), out[k]);
  }

 private:
  arma::Mat<T> Z_;  // padded to whole cache lines
  arma::Mat<unsigned char> mask_;
};

/// At most `count` of m columns, drawn at random.
inline arma::uvec some_columns(uword m, uword count, Random& random) {
  const arma::uvec order = random.permutation(m);
  return m <= count ? arma::regspace<arma::uvec>(0, 1, m - 1)
                    : arma::uvec(arma::sort(order.head(count)));
}

}  // namespace gasg21
