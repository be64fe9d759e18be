// Compiles the file GASG21_KERNELS for each instruction set of this program. The file itself must
// include nothing: the functions of another header would get the instructions of the set, too.
#if GASG21_HAS_BASELINE
#include "gasg21/kernels/impl/for_baseline.hpp"
#endif
#if GASG21_HAS_AVX2
#include "gasg21/kernels/impl/for_avx2.hpp"
#endif
#if GASG21_HAS_AVX512
#include "gasg21/kernels/impl/for_avx512.hpp"
#endif
