// The index type. The kernels need it without Armadillo, whose headers take seconds to parse.
#pragma once

#include "gasg21/support/required_compiler.hpp"

namespace gasg21 {

/// arma::uword with ARMA_64BIT_WORD; support/config.hpp checks that.
using uword = unsigned long long;

}  // namespace gasg21
