// ldl_lanes.hpp for each instruction set of a header-only program.
#pragma once

#include "gasg21/kernels/impl/simd_of_each_set.hpp"

#define GASG21_KERNELS "gasg21/kernels/impl/ldl_lanes.hpp"
#include "gasg21/kernels/impl/for_each_set.hpp"
#undef GASG21_KERNELS
