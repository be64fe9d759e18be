// The search for infinities in the user's data, for Python.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <atomic>
#include <limits>
#include <variant>

#include "array_view.hpp"
#include "each_sample.hpp"
#include "infinite.hpp"
#include "module.hpp"

namespace gasg21::bindings {

namespace {

constexpr uword none = std::numeric_limits<uword>::max();

/// The feature of the first observed infinite entry of a sample, or `none`.
template <class T>
uword infinite_in(const DenseSample<T>& x, uword n) {
  const uword i = first_infinite(x.values, x.mask, n);
  return i < n ? i : none;
}
template <class T, class Index>
uword infinite_in(const SparseSample<T, Index>& x, uword /*n*/) {
  const uword k = first_infinite(x.values, nullptr, x.count);
  return k < x.count ? uword(x.rows[k]) : none;
}
template <class T>
uword infinite_in(const AnySample<T>& x, uword n) {
  return std::visit([&](const auto& sample) { return infinite_in(sample, n); }, x);
}

template <class T>
py::object find_infinite_in(const py::object& samples, const py::object& mask, uword n,
                            unsigned n_threads) {
  const AnyView<T> view = as_view<T>(samples, mask, n);
  std::atomic<uword> row{none};
  struct Nothing {};
  each_sample<T>(
      view, n_threads, 1, [] { return Nothing{}; },
      [&](uword j, const AnySample<T>& x, Nothing&) {
        uword least = row;
        if (j >= least || infinite_in(x, n) == none) return;
        while (j < least && !row.compare_exchange_weak(least, j)) continue;
      });
  if (row == none) return py::none();
  return py::make_tuple(row.load(), infinite_in(view.sample(row), n));
}

}  // namespace

void bind_infinite(py::module_& m) {
  m.def(
      "find_infinite",
      [](const py::object& samples, const py::object& mask, uword n, unsigned n_threads) {
        return in_precision_of(values_of(samples), [&](auto zero) {
          return find_infinite_in<decltype(zero)>(samples, mask, n, n_threads);
        });
      },
      py::arg("samples"), py::arg("mask"), py::arg("n"), py::arg("n_threads") = 1,
      "The first observed infinite entry as (sample, feature), or None.");
}

}  // namespace gasg21::bindings
