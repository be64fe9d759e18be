// Compiles the file GASG21_KERNELS for AVX2 and FMA.
#define GASG21_SET avx2
#define GASG21_BYTES 32
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#include GASG21_KERNELS
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#undef GASG21_SET
#undef GASG21_BYTES
