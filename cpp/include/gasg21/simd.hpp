// Vectors of one register, for each instruction set.
#pragma once

#include <cstring>
#include <utility>

#include "dispatch.hpp"

#if GASG21_X86
#include <immintrin.h>
#endif

#define GASG21_KERNELS "simd_impl.hpp"
#include "for_each_set.hpp"
#undef GASG21_KERNELS
