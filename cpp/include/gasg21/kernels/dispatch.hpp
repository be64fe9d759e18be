// Chooses the instruction set of the kernels: the best one that this machine and this program have.
// Each kernel is written once, for a register of so many bytes, and compiled for each set.
//
// The kernels use the vector types of GCC and Clang, not a library: they need little more than +,
// *, a comparison and a selection, they are as fast as with intrinsics, and an embedding program
// gets no further dependency. Other compilers get one plain implementation, on arrays.
#pragma once

#include <atomic>

#include "gasg21/kernels/compiler.hpp"

/// Declares the kernels of each instruction set, in a namespace named after it.
#define GASG21_IN_EACH_SET(...) \
  namespace baseline {          \
  __VA_ARGS__                   \
  }                             \
  namespace avx2 {              \
  __VA_ARGS__                   \
  }                             \
  namespace avx512 {            \
  __VA_ARGS__                   \
  }

/// Returns `call` in the namespace of the instruction set in use.
#if GASG21_HAS_BASELINE + GASG21_HAS_AVX2 + GASG21_HAS_AVX512 == 3
#define GASG21_DISPATCH(call)                   \
  switch (::gasg21::instruction_set()) {        \
    case ::gasg21::InstructionSet::avx512:      \
      return ::gasg21::kernels::avx512::call;   \
    case ::gasg21::InstructionSet::avx2:        \
      return ::gasg21::kernels::avx2::call;     \
    default:                                    \
      return ::gasg21::kernels::baseline::call; \
  }
#elif GASG21_HAS_AVX512
#define GASG21_DISPATCH(call) return ::gasg21::kernels::avx512::call
#elif GASG21_HAS_AVX2
#define GASG21_DISPATCH(call) return ::gasg21::kernels::avx2::call
#else
#define GASG21_DISPATCH(call) return ::gasg21::kernels::baseline::call
#endif

namespace gasg21 {

/// `baseline` is what every machine of the architecture has: SSE2 on x86-64, NEON on aarch64.
enum class InstructionSet { baseline, avx2, avx512 };

namespace detail {

inline bool machine_has(InstructionSet set) {
#if GASG21_X86
  if (set == InstructionSet::avx2)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (set == InstructionSet::avx512)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
           machine_has(InstructionSet::avx2);
#endif
  return set == InstructionSet::baseline;
}

inline bool program_has(InstructionSet set) {
  switch (set) {
    case InstructionSet::avx512:
      return GASG21_HAS_AVX512;
    case InstructionSet::avx2:
      return GASG21_HAS_AVX2;
    default:
      return GASG21_HAS_BASELINE;
  }
}

inline bool has(InstructionSet set) { return program_has(set) && machine_has(set); }

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

/// Switches the whole program to another instruction set, for tests and benchmarks. Results agree
/// up to rounding, not bit by bit. Returns false, and changes nothing, if the machine or the
/// program does not have the set.
inline bool use_instruction_set(InstructionSet set) {
  if (!detail::has(set)) return false;
  detail::chosen_set() = set;
  return true;
}

}  // namespace gasg21
