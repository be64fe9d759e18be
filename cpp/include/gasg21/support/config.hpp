// The only file that includes Armadillo, with the settings that the library relies on.
#pragma once

#include "gasg21/support/required_compiler.hpp"  // before Armadillo, which complains less clearly

#if !defined(ARMA_64BIT_WORD)
#define ARMA_64BIT_WORD  // n * m may exceed 2^31
#endif

#include <armadillo>
#include <type_traits>

#include "gasg21/support/index.hpp"

namespace gasg21 {

static_assert(std::is_same_v<uword, arma::uword>,
              "gasg21 needs 64-bit indices: define ARMA_64BIT_WORD before including <armadillo>");

}  // namespace gasg21
