// Samples in a fixed subspace, and the look for infinities at the door.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <atomic>
#include <gasg21/gasg21.hpp>
#include <limits>
#include <string>
#include <type_traits>

#include "any_rule.hpp"
#include "array_view.hpp"
#include "infinite.hpp"
#include "module.hpp"
#include "watch.hpp"
#include "worth.hpp"

namespace gasg21::bindings {

namespace {

/// Runs work(j, sample, scratch) for each sample without the GIL, on several threads if that pays;
/// `cost` is what an entry takes, in multiply-adds.
template <class T, class MakeScratch, class Work>
void each_sample(const AnyView<T>& view, unsigned n_threads, double cost,
                 MakeScratch&& make_scratch, Work&& work) {
  constexpr double task = 1e5;  // some 40 us
  std::visit(
      [&](const auto& v) {
        const uword m = v.n_cols;
        const double all = cost * stored_entries(v), each = std::max(1.0, all / double(m));
        const auto chunk = uword(std::max(1.0, std::min(task / each, double(m))));
        Watch watch{py::none(), double(chunk) * each};
        {
          const py::gil_scoped_release nogil;
          const Parallel parallel(worthwhile(n_threads, all), [&] { return watch.tick(); });
          parallel.for_each((m + chunk - 1) / chunk, make_scratch, [&](uword t, auto& scratch) {
            for (uword j = t * chunk; j < std::min(m, (t + 1) * chunk); ++j)
              work(j, v.sample(j), scratch);
          });
        }
        watch.finish();
      },
      view);
}

/// The first observed infinite entry, as (sample, feature), or None.
template <class T>
py::object find_infinite(const py::object& samples, const py::object& mask, uword n,
                         unsigned n_threads) {
  const AnyView<T> view = as_view<T>(samples, mask, n);
  constexpr uword none = std::numeric_limits<uword>::max();
  std::atomic<uword> row{none};
  const auto infinite_in = [n](const auto& x) {
    if constexpr (std::is_same_v<decltype(x), const DenseSample<T>&>) {
      const uword i = first_infinite(x.values, x.mask, n);
      return i < n ? i : none;
    } else {
      const uword k = first_infinite(x.values, nullptr, x.count);
      return k < x.count ? uword(x.rows[k]) : none;
    }
  };
  struct Nothing {};
  each_sample<T>(
      view, n_threads, 1, [] { return Nothing{}; },
      [&](uword j, const auto& x, Nothing&) {
        uword least = row;
        if (j >= least || infinite_in(x) == none) return;
        while (j < least && !row.compare_exchange_weak(least, j)) continue;
      });
  if (row == none) return py::none();
  const auto column = [&](const auto& v) { return infinite_in(v.sample(row)); };
  return py::make_tuple(row.load(), std::visit(column, view));
}

/// Fits each sample to the components, without the GIL, and calls visit(j, projector). What a
/// sample gives depends on nothing but the sample, so that the threads change no bit.
template <class T, class Visit>
void each_fitted(const arma::Mat<T>& U, const AnyView<T>& view, const LossName& loss,
                 unsigned n_threads, Visit&& visit) {
  const AnyLoss any(loss);
  each_sample<T>(
      view, n_threads, double(U.n_cols) * any.passes(),
      [&] { return Projector<T, AnyStandingFit<T>>(U, any.make_fixed_fit<T>(U)); },
      [&](uword j, const auto& sample, auto& projector) {
        projector.read(sample);
        visit(j, projector);
      });
}

template <class T>
py::tuple project(const py::array& components, const py::object& samples, const py::object& mask,
                  const LossName& loss, unsigned n_threads) {
  const arma::Mat<T> U = as_basis<T>(components, "components");
  const AnyView<T> view = as_view<T>(samples, mask, U.n_rows);
  const auto count = py::ssize_t(std::visit([](const auto& v) { return v.n_cols; }, view));
  py::array_t<T> weights({count, py::ssize_t(U.n_cols)}), residuals(count);
  T *w = weights.mutable_data(), *r = residuals.mutable_data();
  each_fitted(U, view, loss, n_threads, [&](uword j, const auto& fit) {
    fit.weights(w + j * U.n_cols);
    r[j] = fit.residual();
  });
  return py::make_tuple(weights, residuals);
}

template <class T>
void fill_missing(const py::array& components, const py::object& samples, const py::object& mask,
                  py::array_t<T>& out, const LossName& loss, unsigned n_threads) {
  const arma::Mat<T> U = as_basis<T>(components, "components");
  const AnyView<T> view = as_view<T>(samples, mask, U.n_rows);
  const uword count = std::visit([](const auto& v) { return v.n_cols; }, view);
  require(out.ndim() == 2 && uword(out.shape(0)) == count && uword(out.shape(1)) == U.n_rows &&
              (out.flags() & py::array::c_style) != 0,
          "out must be C-ordered with the shape of the samples");
  T* to = out.mutable_data();
  each_fitted(U, view, loss, n_threads,
              [&](uword j, const auto& fit) { fit.fill_missing(to + j * U.n_rows); });
}

template <class T>
void bind_for(py::module_& m, const std::string& bits) {
  m.def(("find_infinite" + bits).c_str(), &find_infinite<T>, py::arg("samples"), py::arg("mask"),
        py::arg("n"), py::arg("n_threads") = 1,
        "The first observed infinite entry as (sample, feature), or None.");
  m.def(("project" + bits).c_str(), &project<T>, py::arg("components"), py::arg("samples"),
        py::arg("mask") = py::none(), py::arg("loss") = "l21", py::arg("n_threads") = 1,
        "Weights (m, d) and relative residuals (m,) of samples in the row space of orthonormal "
        "components. The weights are those of the loss, the residuals those of least squares.");
  m.def(("fill_missing" + bits).c_str(), &fill_missing<T>, py::arg("components"),
        py::arg("samples"), py::arg("mask"), py::arg("out").noconvert(), py::arg("loss") = "l21",
        py::arg("n_threads") = 1,
        "Writes the missing entries of the samples, as the subspace has them, into out.");
}

}  // namespace

void bind_transform(py::module_& m) {
  bind_for<double>(m, "64");
  bind_for<float>(m, "32");
}

}  // namespace gasg21::bindings
