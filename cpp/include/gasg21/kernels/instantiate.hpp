// Include it in one file of a program that defines GASG21_EXTERN_KERNELS for all others: the
// kernels are then compiled here and nowhere else.
#pragma once

#undef GASG21_EXTERN_KERNELS
#include "gasg21/kernels/coordinate_sums.hpp"
#include "gasg21/kernels/row_major_basis.hpp"
#include "gasg21/kernels/sample_sums.hpp"
#include "gasg21/kernels/subspace_bank.hpp"
#include "gasg21/kernels/tracked_basis.hpp"

GASG21_INSTANTIATE_TRACKED_BASIS_KERNELS()
GASG21_INSTANTIATE_SUBSPACE_BANK_KERNELS()
GASG21_INSTANTIATE_ROW_MAJOR_KERNELS()
GASG21_INSTANTIATE_COORDINATE_SUM_KERNELS()
GASG21_INSTANTIATE_SAMPLE_SUM_KERNELS()
