// Vectors of one register, for each instruction set of a header-only program.
#pragma once

#include "gasg21/kernels/impl/lane_orders.hpp"

#define GASG21_KERNELS "gasg21/kernels/impl/simd.hpp"
#include "gasg21/kernels/impl/for_each_set.hpp"
#undef GASG21_KERNELS
