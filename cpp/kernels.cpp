// Compiles the kernels once for the Python module and the tests; for an embedding program they come
// with the headers.
#undef GASG21_EXTERN_KERNELS
#include <gasg21/bank_kernels.hpp>
#include <gasg21/block_kernels.hpp>
#include <gasg21/row_kernels.hpp>
#include <gasg21/sample_kernels.hpp>

GASG21_INSTANTIATE_KERNELS()
GASG21_INSTANTIATE_BANK_KERNELS()
GASG21_INSTANTIATE_ROW_KERNELS()
GASG21_INSTANTIATE_SAMPLE_KERNELS()
