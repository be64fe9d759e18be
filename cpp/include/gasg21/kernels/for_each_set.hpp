// Compiles the file GASG21_KERNELS once for each instruction set, in a namespace named after it.
// What a file includes before must be included already: its functions would get the instructions
// of the set, too.
#define GASG21_SET baseline
#define GASG21_BYTES 16
#include GASG21_KERNELS
#undef GASG21_SET
#undef GASG21_BYTES

#if GASG21_X86

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

#endif
