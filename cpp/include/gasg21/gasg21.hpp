// gasg21: robust subspace recovery by adaptive stochastic gradient on the Grassmannian.
// Include this one; it lists the others.
#pragma once

#include <gasg21/version.hpp>  // written by CMake

#include "bank.hpp"
#include "config.hpp"
#include "error.hpp"
#include "grassmann.hpp"
#include "k_polish.hpp"
#include "k_subspaces.hpp"
#include "kernels.hpp"
#include "l1_fit.hpp"
#include "least_squares.hpp"
#include "linalg.hpp"
#include "loss.hpp"
#include "observation.hpp"
#include "parallel.hpp"
#include "polish.hpp"
#include "random.hpp"
#include "row_sums.hpp"
#include "run.hpp"
#include "scaling.hpp"
#include "scatter.hpp"
#include "seeding.hpp"
#include "start.hpp"
#include "step_size.hpp"
#include "tracker.hpp"
#include "transform.hpp"
