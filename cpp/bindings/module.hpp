// The functions of the binding files, each of which adds its part to the module.
#pragma once

#include <pybind11/pybind11.h>

namespace gasg21::bindings {

void bind_block_fit(pybind11::module_& m);
void bind_blocks(pybind11::module_& m);
void bind_completion(pybind11::module_& m);
void bind_dispatch(pybind11::module_& m);
void bind_geometry(pybind11::module_& m);
void bind_infinite(pybind11::module_& m);
void bind_k_subspaces(pybind11::module_& m);
void bind_model_file(pybind11::module_& m);
void bind_projector(pybind11::module_& m);
void bind_recover(pybind11::module_& m);
void bind_recover_union(pybind11::module_& m);
void bind_rounds(pybind11::module_& m);
void bind_seeding(pybind11::module_& m);
void bind_step_size(pybind11::module_& m);
void bind_subspace(pybind11::module_& m);
void bind_tracker(pybind11::module_& m);
void bind_union(pybind11::module_& m);

}  // namespace gasg21::bindings
