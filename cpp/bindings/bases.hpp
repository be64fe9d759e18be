// Lists of bases, and labels, between the two worlds.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <gasg21/gasg21.hpp>
#include <vector>

#include "array_view.hpp"
#include "tracker_state.hpp"
#include "watch.hpp"

namespace gasg21::bindings {

/// A list of C-ordered (d_k, n) arrays -> n x d_k matrices, copied.
template <class T>
std::vector<arma::Mat<T>> copy_bases(const py::list& list) {
  std::vector<arma::Mat<T>> bases;
  for (const auto& item : list)
    bases.push_back(copy_basis<T>(py::cast<py::array>(item), "subspaces"));
  return bases;
}

template <class T>
py::list to_list(const std::vector<arma::Mat<T>>& bases) {
  py::list list;
  for (const auto& U : bases) list.append(to_components(U));
  return list;
}

/// Labels, -1 for those that have none (the number of clusters inside).
inline py::array_t<py::ssize_t> to_labels(const arma::uvec& labels, uword n_clusters) {
  py::array_t<py::ssize_t> out(py::ssize_t(labels.n_elem));
  for (uword j = 0; j < labels.n_elem; ++j)
    out.mutable_data()[j] = labels[j] < n_clusters ? py::ssize_t(labels[j]) : -1;
  return out;
}

/// Runs work(view, parallel) without the GIL on several threads, answering signals meanwhile.
template <class T, class Work>
void without_gil(const AnyView<T>& view, unsigned n_threads, Work&& work) {
  Watch watch{py::none(), 1e6};  // each task is a good deal of work
  try {
    const py::gil_scoped_release nogil;
    const Parallel parallel(n_threads, [&] { return watch.tick(); });
    std::visit([&](const auto& v) { work(v, parallel); }, view);
  } catch (const Stopped&) {
  }
  watch.finish();
}

}  // namespace gasg21::bindings
