// A fitted subspace as Python holds it: immutable; what the fits say about the inliers is computed
// when it is first asked for.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <gasg21/inliers/subspace.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "array_view.hpp"
#include "lift.hpp"
#include "prior.hpp"

namespace gasg21::bindings {

template <class T>
class PySubspace {
 public:
  PySubspace(arma::Mat<T> U, std::shared_ptr<const Lift<T>> lift, Evidence evidence, FitKind kind)
      : U_(std::move(U)), lift_(std::move(lift)), evidence_(std::move(evidence)), kind_(kind) {}

  const arma::Mat<T>& basis() const { return U_; }
  const std::shared_ptr<const Lift<T>>& lift() const { return lift_; }
  uword n_features() const { return lift_ ? lift_->centre.n_elem : U_.n_rows; }
  uword n_components() const { return U_.n_cols - (lift_ ? lift_->n_appended() : 0); }

  /// Computes it in the first call.
  const Subspace<T>& get() {
    const py::gil_scoped_release nogil;
    std::call_once(once_, [this] { made_.emplace(U_, lift_, evidence_, kind_); });
    return *made_;
  }

  py::tuple get_state() const {
    const Fitted& fits = evidence_.fits;
    return py::make_tuple(to_components(U_), pack(lift_), to_components(arma::mat(fits.W)),
                          to_column_array(fits.r2), to_column_array(fits.count),
                          to_column_array(fits.norm), to_tuple(evidence_.prior),
                          to_tuple(evidence_.range), kind_.exact, kind_.in_sample, kind_.rotate);
  }

  static std::unique_ptr<PySubspace> from_state(const py::tuple& t) {
    require(t.size() == 11, "this pickle holds another version of a subspace");
    arma::Mat<T> U = copy_basis<T>(t[0].cast<py::array>(), "basis");
    arma::mat W = copy_basis<double>(t[2].cast<py::array>(), "weights");
    const auto column = [&](std::size_t i) {
      return arma::vec(as_vector<double>(t[i].cast<py::array>(), W.n_cols, "fits"), W.n_cols);
    };
    require(W.n_rows == U.n_cols, "the fits do not belong to a basis of ", U.n_cols, " columns");
    Evidence evidence{{U.n_rows, W, column(3), column(4), column(5)},
                      as_prior(t[6].cast<PriorTuple>()),
                      as_range(t[7].cast<RangeTuple>())};
    return std::make_unique<PySubspace>(
        std::move(U), unpack_lift<T>(t[1]), std::move(evidence),
        FitKind{t[8].cast<double>(), t[9].cast<bool>(), t[10].cast<bool>()});
  }

 private:
  arma::Mat<T> U_;
  std::shared_ptr<const Lift<T>> lift_;
  Evidence evidence_;
  FitKind kind_;
  std::once_flag once_;
  std::optional<Subspace<T>> made_;
};

}  // namespace gasg21::bindings
