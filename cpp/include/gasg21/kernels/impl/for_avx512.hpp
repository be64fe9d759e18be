// Compiles the file GASG21_KERNELS for AVX-512 (F, DQ, VL, BW).
#define GASG21_SET avx512
#define GASG21_BYTES 64
#if defined(__clang__)
#pragma clang attribute push( \
    __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,prefer-vector-width=512")
#endif
#include GASG21_KERNELS
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#undef GASG21_SET
#undef GASG21_BYTES
