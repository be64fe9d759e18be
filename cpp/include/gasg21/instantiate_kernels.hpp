// Include it in one file of a program that defines GASG21_EXTERN_KERNELS for all others: the
// kernels are then compiled here and nowhere else.
#pragma once

#undef GASG21_EXTERN_KERNELS
#include "bank_kernels.hpp"
#include "block_kernels.hpp"
#include "gather_kernels.hpp"
#include "row_kernels.hpp"
#include "sample_kernels.hpp"

GASG21_INSTANTIATE_BLOCK_KERNELS()
GASG21_INSTANTIATE_BANK_KERNELS()
GASG21_INSTANTIATE_GATHER_KERNELS()
GASG21_INSTANTIATE_ROW_KERNELS()
GASG21_INSTANTIATE_SAMPLE_KERNELS()
