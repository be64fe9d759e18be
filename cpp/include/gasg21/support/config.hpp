// The one place that includes Armadillo, with the settings the library relies on.
#pragma once

#if !defined(ARMA_64BIT_WORD)
#define ARMA_64BIT_WORD  // n * m passes 2^31
#endif

#include <armadillo>

namespace gasg21 {

static_assert(sizeof(arma::uword) == 8,
              "gasg21 needs 64-bit indices: define ARMA_64BIT_WORD before including <armadillo>");

using arma::uword;

}  // namespace gasg21
