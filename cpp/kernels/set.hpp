// Included by the source of each instruction set: the declarations of all kernels, and a macro
// that compiles them for one type of number.
#pragma once

#include "gasg21/kernels/coordinate_sums.hpp"
#include "gasg21/kernels/dense.hpp"
#include "gasg21/kernels/impl/lane_orders.hpp"
#include "gasg21/kernels/observe.hpp"
#include "gasg21/kernels/row_major_basis.hpp"
#include "gasg21/kernels/sample_sums.hpp"
#include "gasg21/kernels/small_solve.hpp"
#include "gasg21/kernels/subspace_bank.hpp"
#include "gasg21/kernels/tracked_basis.hpp"

#define GASG21_INSTANTIATE(set, T)                                          \
  namespace gasg21::kernels::set {                                          \
  template const CoordinateSumKernels<T>& coordinate_sum_kernels<T>();      \
  template const DenseKernels<T>& dense_kernels<T>();                       \
  template const LdlKernels<T>& ldl_kernels<T>();                           \
  template const ObserveKernels<T>& observe_kernels<T>();                   \
  template const RowMajorKernels<T>& row_major_kernels<T>();                \
  template const SampleSumKernels<T>& sample_sum_kernels<T>();              \
  template const SubspaceBankKernels<T>& subspace_bank_kernels<T>(uword d); \
  template const TrackedBasisKernels<T>& tracked_basis_kernels<T>(uword d); \
  }
