// The only file that includes Armadillo. It sets the options that the library needs.
#pragma once

#if !defined(ARMA_64BIT_WORD)
#define ARMA_64BIT_WORD  // n * m can exceed 2^32
#endif

#include <armadillo>

namespace gasg21 {

static_assert(sizeof(arma::uword) == 8,
              "gasg21 needs 64-bit indices: define ARMA_64BIT_WORD before including <armadillo>");

using arma::uword;

}  // namespace gasg21
