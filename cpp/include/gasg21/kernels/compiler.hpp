// Compiler features that the kernels use, and the instruction sets that a program holds.
#pragma once

#include "gasg21/support/required_compiler.hpp"

#if defined(__GNUC__) && defined(__x86_64__)
#define GASG21_X86 1
#else
#define GASG21_X86 0
#endif

// The library gasg21::kernels holds every instruction set and chooses at run time. A header-only
// program holds only the set that its compiler targets (-march=native, -mavx2 -mfma), which
// compiles three times as fast. Define GASG21_ALL_INSTRUCTION_SETS to have all sets there, too.
#if !GASG21_X86
#define GASG21_HAS_BASELINE 1
#define GASG21_HAS_AVX2 0
#define GASG21_HAS_AVX512 0
#elif defined(GASG21_COMPILED_KERNELS) || defined(GASG21_ALL_INSTRUCTION_SETS)
#define GASG21_HAS_BASELINE 1
#define GASG21_HAS_AVX2 1
#define GASG21_HAS_AVX512 1
#elif defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512VL__) && \
    defined(__AVX512BW__) && defined(__FMA__)
#define GASG21_HAS_BASELINE 0
#define GASG21_HAS_AVX2 0
#define GASG21_HAS_AVX512 1
#elif defined(__AVX2__) && defined(__FMA__)
#define GASG21_HAS_BASELINE 0
#define GASG21_HAS_AVX2 1
#define GASG21_HAS_AVX512 0
#else
#define GASG21_HAS_BASELINE 1
#define GASG21_HAS_AVX2 0
#define GASG21_HAS_AVX512 0
#endif

// Kernels must be inlined into their caller, and loops over registers must be unrolled: the
// compiler puts an array that is indexed at run time into memory, and sums then take four times as
// long.
#if defined(__clang__)
#define GASG21_INLINE inline __attribute__((always_inline))
#define GASG21_UNROLL _Pragma("unroll")
#elif defined(__GNUC__)
#define GASG21_INLINE inline __attribute__((always_inline))
#define GASG21_UNROLL _Pragma("GCC unroll 16")
#else
#define GASG21_INLINE inline
#define GASG21_UNROLL
#endif
#if defined(__GNUC__)
#define GASG21_PREFETCH_L1(address) __builtin_prefetch(address, 0, 3)
#define GASG21_PREFETCH_L2(address) __builtin_prefetch(address, 0, 2)
#else
#define GASG21_PREFETCH_L1(address) ((void)(address))
#define GASG21_PREFETCH_L2(address) ((void)(address))
#endif

// Makes the compiler read through the pointer again. Otherwise it keeps these constants in
// registers during a loop, and spills the sums, which change in each iteration.
#if defined(__GNUC__)
#define GASG21_READ_AGAIN(pointer) __asm__("" : "+r"(pointer))
#else
#define GASG21_READ_AGAIN(pointer) ((void)(pointer))
#endif

#if defined(__GNUC__)
#define GASG21_NOINLINE __attribute__((noinline))
#define GASG21_UNLIKELY(condition) __builtin_expect(bool(condition), false)
#else
#define GASG21_NOINLINE
#define GASG21_UNLIKELY(condition) (condition)
#endif

// Makes the compiler compute the register here. Otherwise it may load the operands here, keep them,
// and compute the value where it is used.
#if GASG21_X86
#define GASG21_COMPUTE_HERE(value) __asm__("" : "+v"(value))
#else
#define GASG21_COMPUTE_HERE(value) ((void)(value))
#endif
