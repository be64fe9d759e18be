// gasg21: robust subspace recovery by adaptive stochastic gradient on the Grassmannian.
// Include this one; it includes the others.
#pragma once

#include <gasg21/version.hpp>  // written by CMake

#include "gasg21/k_subspaces.hpp"
#include "gasg21/loss.hpp"
#include "gasg21/metric.hpp"
#include "gasg21/model_file.hpp"
#include "gasg21/recover.hpp"
#include "gasg21/recover_union.hpp"
#include "gasg21/recovery/block_sums.hpp"
#include "gasg21/step_size.hpp"
#include "gasg21/tracker.hpp"
