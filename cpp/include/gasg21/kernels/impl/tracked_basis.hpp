// The kernels of tracked_basis.hpp for one instruction set; included once for each set.
// clang-format off: the others use the first
#include "gasg21/kernels/impl/geodesic.hpp"
#include "gasg21/kernels/impl/residual.hpp"
#include "gasg21/kernels/impl/gram_tiles.hpp"
#include "gasg21/kernels/impl/gram_many_columns.hpp"
#include "gasg21/kernels/impl/gram_rows.hpp"
#include "gasg21/kernels/impl/minority_collector.hpp"
#include "gasg21/kernels/impl/gram_minority.hpp"
#include "gasg21/kernels/impl/gram.hpp"
// clang-format on

namespace gasg21::kernels::GASG21_SET {

template <class T, uword D>
struct TrackedBasisTable {
  static T sums(const SumsTask<T>& task) { return sums_of<T, D>(task); }
  static void residual(const T* U, uword n_blocks, uword d, const T* w, const T* x, const T* e,
                       T* r, T* q, T* products) {
    if constexpr (D != 0 && bytes == 64)
      residual_in_registers<T, D>(U, n_blocks, w, x, e, r, q, products);
    else if constexpr (D != 0)
      residual_by_four<T, D>(U, n_blocks, w, x, e, r, q, products);
    else
      residual_of_many<T>(U, n_blocks, d, w, x, e, r, q, products);
  }
  static constexpr TrackedBasisKernels<T> kernels{sums, residual, apply_step<T>, finds_direction<D>,
                                                  subtracts<D>};
};

/// Kernels for a fixed number of columns, up to D; others for any number.
template <class T, uword D>
const TrackedBasisKernels<T>& tracked_basis_kernels_up_to(uword d) {
  if (d == D) return TrackedBasisTable<T, D>::kernels;
  if constexpr (D > 1) return tracked_basis_kernels_up_to<T, D - 1>(d);
  return TrackedBasisTable<T, 0>::kernels;
}
template <class T>
const TrackedBasisKernels<T>& tracked_basis_kernels(uword d) {
  return tracked_basis_kernels_up_to<T, max_fixed>(d);
}

}  // namespace gasg21::kernels::GASG21_SET
