// Vectors of one register, for each instruction set.
#pragma once

#include <cstring>

#include "dispatch.hpp"

#define GASG21_KERNELS "simd_impl.hpp"
#include "for_each_set.hpp"
#undef GASG21_KERNELS
