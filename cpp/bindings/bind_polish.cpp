// The polish for Python: block by block, without the GIL, on several threads.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <gasg21/gasg21.hpp>
#include <memory>

#include "array_view.hpp"
#include "module.hpp"
#include "watch.hpp"

namespace gasg21::bindings {

namespace {

template <class T>
class PyPolisher {
 public:
  PyPolisher(const py::array& components, uword n_samples, unsigned n_threads)
      : core_(copy(as_basis<T>(components, "components")), n_samples), n_threads_(n_threads) {}

  void fit(const py::object& samples, const py::object& mask, uword first, const HeldOut* held) {
    over(samples, mask, held, [&](const auto& v, const Parallel& p) { core_.fit(v, first, p); });
  }

  void add(const py::object& samples, const py::object& mask, uword first, const HeldOut* held) {
    over(samples, mask, held, [&](const auto& v, const Parallel& p) { core_.add(v, first, p); });
  }

  void weigh() {
    const py::gil_scoped_release nogil;
    core_.weigh();
  }

  double update() {
    const py::gil_scoped_release nogil;
    return core_.update(Parallel(n_threads_));
  }

  py::array_t<T> components() const { return to_components(core_.basis()); }
  double estimated_angle() const { return core_.estimated_angle(); }

  py::array_t<double> scatter() const {
    const arma::mat& C = core_.scatter().C;
    return py::array_t<double>({py::ssize_t(C.n_rows), py::ssize_t(C.n_cols)}, C.memptr());
  }

  py::array_t<double> residuals() const {
    const auto& fits = core_.fits();
    py::array_t<double> out(py::ssize_t(fits.r2.n_elem));
    for (uword j = 0; j < fits.r2.n_elem; ++j)
      out.mutable_data()[j] = fits.count[j] > 0 ? std::sqrt(fits.r2[j]) : arma::datum::nan;
    return out;
  }

 private:
  static arma::Mat<T> copy(const arma::Mat<T>& U) { return {U.memptr(), U.n_rows, U.n_cols}; }

  template <class Work>
  void over(const py::object& samples, const py::object& mask, const HeldOut* held, Work&& work) {
    const AnyView<T> view = as_view<T>(samples, mask, core_.basis().n_rows, held);
    Watch watch{py::none(), 1e6};  // each task is a good deal of work
    {
      const py::gil_scoped_release nogil;
      const Parallel parallel(n_threads_, [&] { return watch.tick(); });
      std::visit([&](const auto& v) { work(v, parallel); }, view);
    }
    watch.finish();
  }

  Polisher<T> core_;
  unsigned n_threads_;
};

template <class T>
void bind_for(py::module_& m, const char* name) {
  using Class = PyPolisher<T>;
  py::class_<Class>(m, name)
      .def(py::init<const py::array&, uword, unsigned>(), py::arg("components"),
           py::arg("n_samples"), py::arg("n_threads") = 1)
      .def("fit", &Class::fit, py::arg("samples"), py::arg("mask"), py::arg("first"),
           py::arg("held_out") = py::none())
      .def("weigh", &Class::weigh)
      .def("add", &Class::add, py::arg("samples"), py::arg("mask"), py::arg("first"),
           py::arg("held_out") = py::none())
      .def("update", &Class::update, "Returns the angle by which the subspace moved.")
      .def("components", &Class::components)
      .def("scatter", &Class::scatter)
      .def("residuals", &Class::residuals)
      .def_property_readonly("estimated_angle", &Class::estimated_angle);
}

}  // namespace

void bind_polish(py::module_& m) {
  bind_for<double>(m, "Polisher64");
  bind_for<float>(m, "Polisher32");
}

}  // namespace gasg21::bindings
