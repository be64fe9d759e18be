// All kernels, for AVX-512.
#include "set.hpp"

#if GASG21_HAS_AVX512
#define GASG21_KERNELS "gasg21/kernels/impl/all.hpp"
#include "gasg21/kernels/impl/for_avx512.hpp"

GASG21_INSTANTIATE(avx512, double)
GASG21_INSTANTIATE(avx512, float)
#endif
