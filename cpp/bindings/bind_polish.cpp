// The polish for Python: block by block, without the GIL, on several threads.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <gasg21/gasg21.hpp>
#include <memory>
#include <string>

#include "array_view.hpp"
#include "module.hpp"
#include "watch.hpp"

namespace gasg21::bindings {

namespace {

py::array_t<double> to_square(const arma::mat& A) {
  return py::array_t<double>({py::ssize_t(A.n_rows), py::ssize_t(A.n_cols)}, A.memptr());
}

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
    Watch watch{py::none(), 1e6};
    {
      const py::gil_scoped_release nogil;
      core_.weigh([&] { return watch.tick(); });
    }
    watch.finish();
  }

  double update() {
    const py::gil_scoped_release nogil;
    return core_.update(Parallel(n_threads_));
  }

  py::array_t<T> components() const { return to_components(core_.basis()); }
  double estimated_angle() const { return core_.estimated_angle(); }

  py::array_t<double> scatter() const { return to_square(core_.scatter().C); }
  py::array_t<double> information() const { return to_square(core_.information()); }

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
      .def("information", &Class::information)
      .def("residuals", &Class::residuals)
      .def_property_readonly("estimated_angle", &Class::estimated_angle);
}

arma::mat from_square(const py::array_t<double, py::array::c_style | py::array::forcecast>& a) {
  require(a.ndim() == 2 && a.shape(0) == a.shape(1), "the scatter must be square");
  return arma::mat(a.data(), uword(a.shape(1)), uword(a.shape(0)));
}

template <class T>
py::tuple block_sums_of(const py::array& components, const py::object& samples,
                        const py::object& mask, const py::object& C, double s, unsigned n_threads) {
  const arma::Mat<T> U = as_basis<T>(components, "components");
  const AnyView<T> view = as_view<T>(samples, mask, U.n_rows);
  Scatter scatter;
  if (!C.is_none()) scatter = Scatter(from_square(C.cast<py::array>()), s);
  const BlockSums<T> sums = [&] {
    const py::gil_scoped_release nogil;
    return std::visit([&](const auto& v) { return block_sums(U, scatter, v, Parallel(n_threads)); },
                      view);
  }();
  py::array_t<T> rows({py::ssize_t(U.n_rows), py::ssize_t(sums.rows.sums.n_rows)},
                      sums.rows.sums.memptr());
  return py::make_tuple(to_square(sums.scatter.C), sums.scatter.s, sums.scatter.weight, rows,
                        to_square(sums.information));
}

template <class T>
py::tuple next_basis(const py::array& components, const py::array& rows, const py::array& C) {
  const arma::Mat<T> borrowed = as_basis<T>(components, "components");
  arma::Mat<T> U(borrowed.memptr(), borrowed.n_rows, borrowed.n_cols);
  CoordinateSums<T> sums(U.n_rows, U.n_cols);
  const arma::Mat<T> given = as_basis<T>(rows, "rows");
  require(given.n_rows == sums.sums.n_rows && given.n_cols == sums.sums.n_cols,
          "the row sums do not fit the components");
  sums.sums = given;
  Scatter scatter(from_square(C), 1);
  const double change = update_coordinates(U, sums, scatter, Parallel());
  return py::make_tuple(to_components(U), to_square(scatter.C), change);
}

template <class T>
void bind_blocks(py::module_& m, const std::string& bits) {
  m.def(("block_sums" + bits).c_str(), &block_sums_of<T>, py::arg("components"), py::arg("samples"),
        py::arg("mask"), py::arg("C"), py::arg("s"), py::arg("n_threads") = 1);
  m.def(("next_basis" + bits).c_str(), &next_basis<T>, py::arg("components"), py::arg("rows"),
        py::arg("C"));
}

}  // namespace

void bind_polish(py::module_& m) {
  bind_blocks<double>(m, "64");
  bind_blocks<float>(m, "32");
  bind_for<double>(m, "Polisher64");
  bind_for<float>(m, "Polisher32");
}

}  // namespace gasg21::bindings
