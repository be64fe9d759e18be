// NumPy arrays as borrowed views and matrices, and back. The only file that knows both worlds.
// Nothing here converts: a layout that cannot be borrowed is refused, and the Python side converts.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <gasg21/data/views.hpp>
#include <gasg21/support/error.hpp>
#include <string>
#include <vector>

namespace gasg21::bindings {

namespace py = pybind11;

template <class T>
void require_native(const py::array& a, const char* name) {
  if (!py::isinstance<py::array_t<T>>(a))  // checked first: formatting a dtype takes microseconds
    require(false, name, " must be a native ", sizeof(T) * 8, "-bit array, not ",
            std::string(py::str(a.dtype())));
  // A misaligned array passes NumPy's own layout flags, and reading it is undefined behaviour.
  require((a.flags() & py::detail::npy_api::NPY_ARRAY_ALIGNED_) != 0, name, " must be aligned");
}

/// (m, n) samples by features, features contiguous, samples at any stride -> n x m.
template <class T>
DenseView<T> as_columns(const py::array& a, const char* name) {
  require_native<T>(a, name);
  require(a.ndim() == 2, name, " must be 2-d, not ", a.ndim(), "-d");
  require(a.shape(1) <= 1 || a.strides(1) == py::ssize_t(sizeof(T)), name,
          " must have contiguous rows");
  require(a.strides(0) % py::ssize_t(sizeof(T)) == 0, name, " must have rows at whole elements");
  return {static_cast<const T*>(a.data()), uword(a.shape(1)), uword(a.shape(0)),
          a.strides(0) / py::ssize_t(sizeof(T))};
}

template <class T>
DenseView<T> as_columns(const py::array& a, const py::object& mask) {
  DenseView<T> view = as_columns<T>(a, "samples");
  if (mask.is_none()) return view;
  const auto m = py::cast<py::array>(mask);
  require(py::isinstance<py::array_t<bool>>(m), "mask must be boolean");
  require(m.ndim() == 2 && m.shape(0) == a.shape(0) && m.shape(1) == a.shape(1),
          "mask must have the shape of the samples");
  require(m.shape(1) <= 1 || m.strides(1) == 1, "mask must have contiguous rows");
  view.mask = static_cast<const unsigned char*>(m.data());
  view.mask_stride = m.strides(0);
  return view;
}

/// C-ordered (d, n) components -> n x d basis, borrowed.
template <class T>
arma::Mat<T> as_basis(const py::array& a, const char* name) {
  require_native<T>(a, name);
  require(a.ndim() == 2 && (a.flags() & py::array::c_style) != 0, name,
          " must be 2-d and C-ordered");
  return {const_cast<T*>(static_cast<const T*>(a.data())), uword(a.shape(1)), uword(a.shape(0)),
          false, true};
}

/// One-dimensional, contiguous, borrowed.
template <class T>
const T* as_vector(const py::array& a, uword count, const char* name) {
  require_native<T>(a, name);
  require(a.ndim() == 1 && (a.flags() & py::array::c_style) != 0 && uword(a.shape(0)) == count,
          name, " must be contiguous with ", count, " entries");
  return static_cast<const T*>(a.data());
}

/// The arrays of a canonical CSR matrix of samples by rows -> n x m.
template <class T, class Index>
SparseView<T, Index> as_sparse_columns(const py::array& values, const py::array& indices,
                                       const py::array& indptr, uword n) {
  require(indptr.ndim() == 1 && indptr.shape(0) >= 1, "indptr must not be empty");
  const uword m = uword(indptr.shape(0)) - 1;
  const Index* offsets = as_vector<Index>(indptr, m + 1, "indptr");
  const uword stored = uword(values.shape(0));
  require(offsets[0] == 0 && uword(offsets[m]) <= stored, "indptr does not fit the data");
  for (uword j = 0; j < m; ++j) require(offsets[j] <= offsets[j + 1], "indptr must not fall");
  return {as_vector<T>(values, stored, "data"), as_vector<Index>(indices, stored, "indices"),
          offsets, n, m};
}

/// Samples from Python: an array with an optional mask, or (data, indices, indptr) with an optional
/// fourth item, whether the entries that are not stored are zero.
template <class T>
AnyView<T> as_view(const py::object& samples, const py::object& mask, uword n) {
  if (!py::isinstance<py::tuple>(samples)) {
    const DenseView<T> view = as_columns<T>(py::cast<py::array>(samples), mask);
    require(view.n_rows == n, "samples have ", view.n_rows, " features, not ", n);
    return view;
  }
  const auto parts = py::cast<py::tuple>(samples);
  require(parts.size() == 3 || parts.size() == 4, "sparse samples are (data, indices, indptr)");
  const auto data = py::cast<py::array>(parts[0]);
  const auto indices = py::cast<py::array>(parts[1]), indptr = py::cast<py::array>(parts[2]);
  const auto finish = [&](auto view) -> AnyView<T> {
    view.rest_is_zero = parts.size() == 4 && parts[3].cast<bool>();
    return view;
  };
  if (indices.itemsize() == 4)
    return finish(as_sparse_columns<T, std::int32_t>(data, indices, indptr, n));
  return finish(as_sparse_columns<T, std::int64_t>(data, indices, indptr, n));
}

/// The array whose dtype decides in which precision the core computes.
inline py::array values_of(const py::object& samples) {
  if (!py::isinstance<py::tuple>(samples)) return py::cast<py::array>(samples);
  const auto parts = py::cast<py::tuple>(samples);
  require(parts.size() >= 1, "sparse samples are (data, indices, indptr)");
  return py::cast<py::array>(parts[0]);
}

/// Calls work(T{}) with T = float for a float32 array, else with double. The one place that
/// chooses.
template <class Work>
auto in_precision_of(const py::array& a, Work&& work) {
  if (py::isinstance<py::array_t<float>>(a)) return work(float{});
  return work(double{});
}

/// Numbers of samples, borrowed.
inline arma::uvec as_order(const py::object& order) {
  const auto a = order.cast<py::array>();
  const uword* at =
      reinterpret_cast<const uword*>(as_vector<std::uint64_t>(a, uword(a.size()), "order"));
  return arma::uvec(const_cast<uword*>(at), uword(a.size()), false, true);
}

inline py::array_t<std::uint64_t> to_array(const arma::uvec& order) {
  return py::array_t<std::uint64_t>(py::ssize_t(order.n_elem),
                                    reinterpret_cast<const std::uint64_t*>(order.memptr()));
}

/// A new C-ordered (d, n) array with the memory of the n x d basis.
template <class T>
py::array_t<T> to_components(const arma::Mat<T>& U) {
  py::array_t<T> out({py::ssize_t(U.n_cols), py::ssize_t(U.n_rows)});
  std::copy(U.begin(), U.end(), out.mutable_data());
  return out;
}

/// A copy of C-ordered (d, n) components as an n x d basis.
template <class T>
arma::Mat<T> copy_basis(const py::array& a, const char* name) {
  const arma::Mat<T> borrowed = as_basis<T>(a, name);
  return arma::Mat<T>(borrowed.memptr(), borrowed.n_rows, borrowed.n_cols);
}

template <class T>
py::array_t<T> to_column_array(const arma::Col<T>& v) {
  return py::array_t<T>(py::ssize_t(v.n_elem), v.memptr());
}

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

/// Labels; -1 for samples that have none, which the core gives the number of clusters.
inline py::array_t<py::ssize_t> to_labels(const arma::uvec& labels, uword n_clusters) {
  py::array_t<py::ssize_t> out(py::ssize_t(labels.n_elem));
  for (uword j = 0; j < labels.n_elem; ++j)
    out.mutable_data()[j] = labels[j] < n_clusters ? py::ssize_t(labels[j]) : -1;
  return out;
}

}  // namespace gasg21::bindings
