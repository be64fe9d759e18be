// All kernels, for AVX2 and FMA.
#include "set.hpp"

#if GASG21_HAS_AVX2
#define GASG21_KERNELS "gasg21/kernels/impl/all.hpp"
#include "gasg21/kernels/impl/for_avx2.hpp"

GASG21_INSTANTIATE(avx2, double)
GASG21_INSTANTIATE(avx2, float)
#endif
