// Which instruction set the kernels use: the best that this machine has, chosen once, so that one
// binary is fast everywhere. A kernel is written once, for a register of so many bytes, and
// compiled for each set (for_each_set.hpp).
//
// By the compiler's own vectors (GCC, Clang) rather than a library: the kernels need little but +,
// *, a comparison and a selection, measured equal to intrinsics, and an embedding program gets no
// further dependency. Other compilers get one plain implementation, by arrays.
#pragma once

#include <atomic>

#include "gasg21/support/config.hpp"

#if defined(__GNUC__) && defined(__x86_64__)
#define GASG21_X86 1
#else
#define GASG21_X86 0
#endif

// Kernels must be inlined into the function that is called, and loops over registers unrolled:
// an array that is indexed at run time lives in memory, which costs four times the sums.
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

// What is read through the pointer after this is read again: in a loop the compiler would otherwise
// keep it in registers, and store the sums, which change, in their place.
#if defined(__GNUC__)
#define GASG21_READ_AGAIN(pointer) __asm__("" : "+r"(pointer))
#else
#define GASG21_READ_AGAIN(pointer) ((void)(pointer))
#endif

/// Returns what `call` gives in the namespace of the instruction set in use.
#if GASG21_X86
#define GASG21_DISPATCH(call)                   \
  switch (::gasg21::instruction_set()) {        \
    case ::gasg21::InstructionSet::avx512:      \
      return ::gasg21::kernels::avx512::call;   \
    case ::gasg21::InstructionSet::avx2:        \
      return ::gasg21::kernels::avx2::call;     \
    default:                                    \
      return ::gasg21::kernels::baseline::call; \
  }
#else
#define GASG21_DISPATCH(call) return ::gasg21::kernels::baseline::call
#endif

namespace gasg21 {

/// `baseline` is what every machine of the architecture has: SSE2 on x86-64, NEON on aarch64.
enum class InstructionSet { baseline, avx2, avx512 };

namespace detail {

inline bool has(InstructionSet set) {
#if GASG21_X86
  if (set == InstructionSet::avx2)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (set == InstructionSet::avx512)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
           has(InstructionSet::avx2);
#endif
  return set == InstructionSet::baseline;
}

inline std::atomic<InstructionSet>& chosen_set() {
  static std::atomic<InstructionSet> chosen = has(InstructionSet::avx512) ? InstructionSet::avx512
                                              : has(InstructionSet::avx2)
                                                  ? InstructionSet::avx2
                                                  : InstructionSet::baseline;
  return chosen;
}

}  // namespace detail

/// The instruction set in use.
inline InstructionSet instruction_set() {
  return detail::chosen_set().load(std::memory_order_relaxed);
}

/// Uses another one from now on, everywhere in the program: for tests and benchmarks. Results agree
/// to rounding, not to the bit. False, and nothing happens, when this machine has not got it.
inline bool use_instruction_set(InstructionSet set) {
  if (!detail::has(set)) return false;
  detail::chosen_set() = set;
  return true;
}

}  // namespace gasg21
