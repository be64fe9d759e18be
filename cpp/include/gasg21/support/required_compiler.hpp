// Refuses compilers and flags with which the library does not work.
#pragma once

#if __cplusplus < 201703L && !(defined(_MSVC_LANG) && _MSVC_LANG >= 201703L)
#error "gasg21 needs C++17 or newer: compile with -std=c++17"
#endif

// With these flags the compiler takes no number for NaN or infinite, so missing entries and
// infinities would go into the sums.
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) || \
    defined(_M_FP_FAST)
#error "gasg21 marks missing entries by NaN: compile without -ffast-math and -ffinite-math-only"
#endif
