// Reasons not to believe a result that seems to have converged.
#pragma once

#include "gasg21/recovery/ambiguity.hpp"
#include "gasg21/recovery/identifiability.hpp"

namespace gasg21 {

/// Why a fit that seems to have converged is not to be believed, if anything speaks against it.
struct Doubts {
  Identifiability determined;
  OtherAnswer other;
};

}  // namespace gasg21
