// The sums of the polish over blocks of data, for Python.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <gasg21/polish/block_sums.hpp>
#include <optional>

#include "array_view.hpp"
#include "module.hpp"
#include "watch.hpp"

namespace gasg21::bindings {

namespace {

py::array_t<double> to_square(const arma::mat& A) {
  return py::array_t<double>({py::ssize_t(A.n_rows), py::ssize_t(A.n_cols)}, A.memptr());
}

/// A d x d matrix, copied.
arma::mat from_square(const py::array& a, uword d) {
  const arma::mat square = copy_matrix<double>(a, "the scatter");
  require(square.n_rows == d && square.n_cols == d, "the scatter must be ", d, " x ", d);
  return square;
}

template <class T>
py::tuple block_sums_in(const py::array& components, const py::object& samples,
                        const py::object& mask, const Scatter& scatter, unsigned n_threads) {
  const Basis<T> held(components, "components");
  const arma::Mat<T>& U = held;
  const AnyView<T> view = as_view<T>(samples, mask, U.n_rows);
  std::optional<BlockSums<T>> sums;
  without_gil(n_threads, [&](const Parallel& parallel) {
    sums.emplace(block_sums(U, scatter, view, parallel));
  });
  const arma::Mat<T>& coordinates = sums->coordinates.sums;
  py::array_t<T> rows({py::ssize_t(U.n_rows), py::ssize_t(coordinates.n_rows)},
                      coordinates.memptr());
  return py::make_tuple(to_square(sums->scatter.C), sums->scatter.s, sums->scatter.weight, rows,
                        to_square(sums->information));
}

template <class T>
py::tuple next_basis_in(const py::array& components, const py::array& rows, const py::array& C) {
  arma::Mat<T> U = copy_basis<T>(components, "components");
  CoordinateSums<T> sums(U.n_rows, U.n_cols);
  const arma::Mat<T> given = copy_matrix<T>(rows, "rows");
  require(given.n_rows == sums.sums.n_rows && given.n_cols == sums.sums.n_cols,
          "the row sums do not fit the components");
  sums.sums = given;
  Scatter scatter(from_square(C, U.n_cols), 1);
  const double change = update_coordinates(U, sums, scatter, Parallel());
  return py::make_tuple(to_components(U), to_square(scatter.C), change);
}

}  // namespace

void bind_blocks(py::module_& m) {
  m.def(
      "block_sums",
      [](const py::array& components, const py::object& samples, const py::object& mask,
         const py::object& C, double s, unsigned n_threads) {
        require_basis(components, "components");
        Scatter scatter;
        if (!C.is_none())
          scatter = Scatter(from_square(as_array(C, "C"), uword(components.shape(0))), s);
        return in_precision_of(components, [&](auto zero) {
          return block_sums_in<decltype(zero)>(components, samples, mask, scatter, n_threads);
        });
      },
      py::arg("components"), py::arg("samples"), py::arg("mask"), py::arg("C"), py::arg("s"),
      py::arg("n_threads") = 1, "The sums of one block: C, s, weight, rows, information.");
  m.def(
      "next_basis",
      [](const py::array& components, const py::array& rows, const py::array& C) {
        return in_precision_of(components, [&](auto zero) {
          return next_basis_in<decltype(zero)>(components, rows, C);
        });
      },
      py::arg("components"), py::arg("rows"), py::arg("C"),
      "The components, scatter and change that follow from the sums of all blocks.");
  m.def(
      "standard_error",
      [](const py::array& information, uword n) {
        require(information.ndim() == 2 && information.shape(0) >= 1, "information must be 2-d");
        return standard_error(from_square(information, uword(information.shape(0))), n);
      },
      py::arg("information"), py::arg("n"),
      "The standard error of the largest angle to the true subspace, in radians.");
}

}  // namespace gasg21::bindings
