// The kernels of kernels/tracked_basis.hpp for one instruction set; included once for each.
// clang-format off: the others use the first
#include "gasg21/kernels/impl/geodesic.hpp"
#include "gasg21/kernels/impl/residual.hpp"
#include "gasg21/kernels/impl/gram_tiles.hpp"
#include "gasg21/kernels/impl/gram.hpp"
// clang-format on

namespace gasg21::kernels::GASG21_SET {

template <class T, uword D>
struct BlockTable {
  static T sums(T* U, uword n_blocks, uword d, const Move<T>* move, const T* e, const T* x,
                const T* next, T* G, T* b, T* scratch) {
    return sums_of<T, D>(U, n_blocks, d, move, e, x, next, G, b, scratch);
  }
  static void residual(const T* U, uword n_blocks, uword d, const T* w, const T* x, const T* e,
                       T* r, T* q, T* products) {
    if constexpr (D != 0 && bytes == 64)
      residual_in_registers<T, D>(U, n_blocks, w, x, e, r, q, products);
    else if constexpr (D != 0)
      residual_by_four<T, D>(U, n_blocks, w, x, e, r, q, products);
    else
      residual_of_many<T>(U, n_blocks, d, w, x, e, r, q, products);
  }
  static constexpr TrackedBasisKernels<T> kernels{sums, residual, carry_out<T>};
};

/// Those for up to D columns are made for their number.
template <class T, uword D>
const TrackedBasisKernels<T>& tracked_basis_kernels_up_to(uword d) {
  if (d == D) return BlockTable<T, D>::kernels;
  if constexpr (D > 1) return tracked_basis_kernels_up_to<T, D - 1>(d);
  return BlockTable<T, 0>::kernels;
}
template <class T>
const TrackedBasisKernels<T>& tracked_basis_kernels(uword d) {
  return tracked_basis_kernels_up_to<T, max_fixed>(d);
}

}  // namespace gasg21::kernels::GASG21_SET
