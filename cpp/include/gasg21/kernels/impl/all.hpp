// All kernels for one instruction set; included once for each set.
// clang-format off: the others use the first
#include "gasg21/kernels/impl/simd.hpp"
#include "gasg21/kernels/impl/ldl_lanes.hpp"
#include "gasg21/kernels/impl/ldl_many_columns.hpp"
#include "gasg21/kernels/impl/observe.hpp"
#include "gasg21/kernels/impl/row_major_basis.hpp"
#include "gasg21/kernels/impl/tracked_basis.hpp"
#include "gasg21/kernels/impl/subspace_bank.hpp"
#include "gasg21/kernels/impl/coordinate_sums.hpp"
#include "gasg21/kernels/impl/sample_sums.hpp"
#include "gasg21/kernels/impl/dense.hpp"
// clang-format on
