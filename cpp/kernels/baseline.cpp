// All kernels, for what every machine of the architecture has.
#include "set.hpp"

#define GASG21_KERNELS "gasg21/kernels/impl/all.hpp"
#include "gasg21/kernels/impl/for_baseline.hpp"

GASG21_INSTANTIATE(baseline, double)
GASG21_INSTANTIATE(baseline, float)
