// NumPy arrays as borrowed views and matrices, and back. The only file that knows both worlds.
// Samples are never converted: a layout that cannot be borrowed is refused, and the Python side
// converts. What is borrowed is held.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <cstring>
#include <gasg21/data/views.hpp>
#include <gasg21/support/error.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gasg21::bindings {

namespace py = pybind11;

/// The array itself. A list would need a converted copy without an owner.
inline py::array as_array(const py::handle& given, const char* name) {
  if (!py::isinstance<py::array>(given))
    require(false, name, " must be a NumPy array, not a ",
            std::string(py::str(py::type::of(given).attr("__name__"))));
  return py::reinterpret_borrow<py::array>(given);
}

template <class T>
void require_native(const py::array& a, const char* name) {
  if (!py::isinstance<py::array_t<T>>(a))  // checked first: formatting a dtype takes microseconds
    require(false, name, " must be a native ", sizeof(T) * 8, "-bit array, not ",
            std::string(py::str(a.dtype())));
}

/// For memory that is borrowed. A misaligned array passes NumPy's own layout flags, and reading it
/// is undefined behaviour.
template <class T>
void require_borrowable(const py::array& a, const char* name) {
  require_native<T>(a, name);
  require((a.flags() & py::detail::npy_api::NPY_ARRAY_ALIGNED_) != 0, name, " must be aligned");
}

/// Keeps borrowed arrays alive, and where they are: NumPy refuses to resize an array that has a
/// weak reference, even with refcheck=False. It is made and destroyed with the GIL.
class Hold {
 public:
  void add(const py::array& array) {
    if (!array.owndata()) kept_.push_back(array.base());
    kept_.push_back(array);
    kept_.push_back(py::weakref(py::handle(array), py::handle()));
  }

 private:
  std::vector<py::object> kept_;
};

/// (m, n) samples by features, features contiguous, samples at any stride -> n x m.
template <class T>
DenseView<T> as_columns(const py::array& a, const char* name) {
  require_borrowable<T>(a, name);
  require(a.ndim() == 2, name, " must be 2-d, not ", a.ndim(), "-d");
  require(a.shape(1) <= 1 || a.strides(1) == py::ssize_t(sizeof(T)), name,
          " must have contiguous rows");
  require(a.strides(0) % py::ssize_t(sizeof(T)) == 0, name, " must have rows at whole elements");
  return {static_cast<const T*>(a.data()), uword(a.shape(1)), uword(a.shape(0)),
          a.strides(0) / py::ssize_t(sizeof(T))};
}

template <class T>
DenseView<T> as_columns(const py::array& a, const py::object& mask, Hold& hold) {
  DenseView<T> view = as_columns<T>(a, "samples");
  hold.add(a);
  if (mask.is_none()) return view;
  const py::array m = as_array(mask, "mask");
  require(py::isinstance<py::array_t<bool>>(m), "mask must be boolean");
  require(m.ndim() == 2 && m.shape(0) == a.shape(0) && m.shape(1) == a.shape(1),
          "mask must have the shape of the samples");
  require(m.shape(1) <= 1 || m.strides(1) == 1, "mask must have contiguous rows");
  hold.add(m);
  view.mask = static_cast<const unsigned char*>(m.data());
  view.mask_stride = m.strides(0);
  return view;
}

/// C-ordered (m, n) array -> n x m matrix, copied.
template <class T>
arma::Mat<T> copy_matrix(const py::array& a, const char* name) {
  require_native<T>(a, name);
  require(a.ndim() == 2 && (a.flags() & py::array::c_style) != 0, name,
          " must be 2-d and C-ordered");
  arma::Mat<T> copy(uword(a.shape(1)), uword(a.shape(0)));
  if (copy.n_elem > 0) std::memcpy(copy.memptr(), a.data(), copy.n_elem * sizeof(T));
  return copy;
}

inline void require_basis(const py::array& a, const char* name) {
  require(a.ndim() == 2 && a.shape(0) >= 1 && a.shape(1) >= 1 && a.shape(0) <= a.shape(1), name,
          " must be 2-d with at least one row, and no more rows than columns");
}

/// C-ordered (d, n) components -> n x d basis, copied.
template <class T>
arma::Mat<T> copy_basis(const py::array& a, const char* name) {
  require_basis(a, name);
  return copy_matrix<T>(a, name);
}

/// C-ordered (d, n) components as an n x d basis: borrowed, or copied if they are not aligned.
template <class T>
class Basis {
 public:
  Basis(const py::array& a, const char* name) : U_(as_matrix(a, name)) { hold_.add(a); }
  operator const arma::Mat<T>&() const { return U_; }  // NOLINT: stands for the matrix

 private:
  static arma::Mat<T> as_matrix(const py::array& a, const char* name) {
    if ((a.flags() & py::detail::npy_api::NPY_ARRAY_ALIGNED_) == 0) return copy_basis<T>(a, name);
    require_native<T>(a, name);
    require_basis(a, name);
    require((a.flags() & py::array::c_style) != 0, name, " must be C-ordered");
    return {const_cast<T*>(static_cast<const T*>(a.data())), uword(a.shape(1)), uword(a.shape(0)),
            false, true};
  }

  arma::Mat<T> U_;
  Hold hold_;
};

/// An array to write to, C-ordered (rows, columns), held.
template <class T>
class Output {
 public:
  Output(py::array a, uword rows, uword columns) : array_(std::move(a)) {
    require_borrowable<T>(array_, "out");
    require(array_.ndim() == 2 && uword(array_.shape(0)) == rows &&
                uword(array_.shape(1)) == columns && (array_.flags() & py::array::c_style) != 0,
            "out must be C-ordered with the shape of the samples");
    require(array_.writeable(), "out must be writeable");
    hold_.add(array_);
  }
  T* data() { return static_cast<T*>(array_.mutable_data()); }

 private:
  py::array array_;
  Hold hold_;
};

inline void require_vector(const py::array& a, uword count, const char* name) {
  require(a.ndim() == 1 && (a.flags() & py::array::c_style) != 0 && uword(a.shape(0)) == count,
          name, " must be contiguous with ", count, " entries");
}

/// One-dimensional, contiguous, borrowed.
template <class T>
const T* as_vector(const py::array& a, uword count, const char* name) {
  require_borrowable<T>(a, name);
  require_vector(a, count, name);
  return static_cast<const T*>(a.data());
}

/// One-dimensional, contiguous, copied.
template <class T>
arma::Col<T> copy_vector(const py::array& a, uword count, const char* name) {
  require_native<T>(a, name);
  require_vector(a, count, name);
  arma::Col<T> copy(count);
  if (count > 0) std::memcpy(copy.memptr(), a.data(), count * sizeof(T));
  return copy;
}

/// The arrays of a canonical CSR matrix of samples by rows -> n x m.
template <class T, class Index>
SparseView<T, Index> as_sparse_columns(const py::array& values, const py::array& indices,
                                       const py::array& indptr, uword n) {
  require(indptr.ndim() == 1 && indptr.shape(0) >= 1, "indptr must not be empty");
  require(values.ndim() == 1, "data must be 1-d");
  const uword m = uword(indptr.shape(0)) - 1;
  const Index* offsets = as_vector<Index>(indptr, m + 1, "indptr");
  const uword stored = uword(values.shape(0));
  require(offsets[0] == 0 && offsets[m] >= 0 && uword(offsets[m]) <= stored,
          "indptr does not fit the data");
  for (uword j = 0; j < m; ++j) require(offsets[j] <= offsets[j + 1], "indptr must not fall");
  return {as_vector<T>(values, stored, "data"), as_vector<Index>(indices, stored, "indices"),
          offsets, n, m};
}

template <class T>
AnyView<T> as_any_view(const py::object& samples, const py::object& mask, uword n, Hold& hold) {
  if (!py::isinstance<py::tuple>(samples)) {
    const DenseView<T> view = as_columns<T>(as_array(samples, "samples"), mask, hold);
    require(view.n_rows == n, "samples have ", view.n_rows, " features, not ", n);
    return view;
  }
  require(mask.is_none(), "mask must be None for sparse samples");
  const auto parts = py::reinterpret_borrow<py::tuple>(samples);
  require(parts.size() == 3 || parts.size() == 4, "sparse samples are (data, indices, indptr)");
  const py::array data = as_array(parts[0], "data"), indices = as_array(parts[1], "indices"),
                  indptr = as_array(parts[2], "indptr");
  for (const py::array& each : {data, indices, indptr}) hold.add(each);
  const auto finish = [&](auto view) -> AnyView<T> {
    view.rest_is_zero = parts.size() == 4 && parts[3].cast<bool>();
    return view;
  };
  if (indices.itemsize() == 4)
    return finish(as_sparse_columns<T, std::int32_t>(data, indices, indptr, n));
  return finish(as_sparse_columns<T, std::int64_t>(data, indices, indptr, n));
}

/// Samples from Python: an array with an optional mask, or (data, indices, indptr) with an optional
/// fourth item, whether the entries that are not stored are zero. The view holds what it borrows.
template <class T>
AnyView<T> as_view(const py::object& samples, const py::object& mask, uword n) {
  constexpr uword most = uword(1) << 40;  // sums and products of sizes stay far below 2^64
  require(n >= 1 && n <= most, "n=", n, " must be in [1, 2^40]");
  const auto hold = std::shared_ptr<Hold>(new Hold, [](Hold* held) {
    const py::gil_scoped_acquire gil;
    delete held;
  });
  AnyView<T> view = as_any_view<T>(samples, mask, n, *hold);
  view.owner = hold;
  return view;
}

/// The array whose dtype decides in which precision the core computes.
inline py::array values_of(const py::object& samples) {
  if (!py::isinstance<py::tuple>(samples)) return as_array(samples, "samples");
  const auto parts = py::reinterpret_borrow<py::tuple>(samples);
  require(parts.size() >= 1, "sparse samples are (data, indices, indptr)");
  return as_array(parts[0], "data");
}

/// Calls work(T{}) with T = float for a float32 array, else with double. The one place that
/// chooses.
template <class Work>
auto in_precision_of(const py::array& a, Work&& work) {
  if (py::isinstance<py::array_t<float>>(a)) return work(float{});
  return work(double{});
}

/// Numbers of samples, copied.
inline arma::uvec as_order(const py::object& order) {
  const py::array a = as_array(order, "order");
  const auto copy = copy_vector<std::uint64_t>(a, uword(a.size()), "order");
  return arma::uvec(reinterpret_cast<const uword*>(copy.memptr()), copy.n_elem);
}

inline void require_order(const arma::uvec& order, uword n_samples) {
  require(order.empty() || order.max() < n_samples, "order names a sample beyond the ", n_samples,
          " there are");
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

template <class T>
py::array_t<T> to_column_array(const arma::Col<T>& v) {
  return py::array_t<T>(py::ssize_t(v.n_elem), v.memptr());
}

/// A list of C-ordered (d_k, n) arrays -> n x d_k matrices, copied.
template <class T>
std::vector<arma::Mat<T>> copy_bases(const py::list& list) {
  std::vector<arma::Mat<T>> bases;
  for (const auto& item : list)
    bases.push_back(copy_basis<T>(as_array(item, "subspaces"), "subspaces"));
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
