// Where K subspaces start, step by step: for tests and for the paper's figure of the selection.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <atomic>
#include <gasg21/seeding/seeder.hpp>
#include <memory>
#include <vector>

#include "array_view.hpp"
#include "module.hpp"
#include "watch.hpp"

namespace gasg21::bindings {

namespace {

/// Refuses a call while another thread is in one.
class OneCall {
 public:
  explicit OneCall(std::atomic<bool>& busy) : busy_(busy) {
    require(!busy_.exchange(true), "another thread uses this Seeder");
  }
  OneCall(const OneCall&) = delete;
  OneCall& operator=(const OneCall&) = delete;
  ~OneCall() { busy_ = false; }

 private:
  std::atomic<bool>& busy_;
};

template <class T>
class PySeeder {
 public:
  PySeeder(const py::object& samples, const py::object& mask, uword n, uword at_most,
           std::uint64_t seed, unsigned n_threads)
      : core_(as_view<T>(samples, mask, n), at_most, seed), n_threads_(n_threads) {}

  uword n_samples() const { return core_.n_samples(); }

  void make_candidates(Seeding seeding, const std::vector<uword>& dimensions, uword n_candidates,
                       uword n_neighbors) {
    const OneCall call(busy_);
    without_gil(n_threads_, [&](const Parallel& parallel) {
      core_.make_candidates(seeding, {dimensions, n_candidates, n_neighbors}, parallel);
    });
  }

  void set_candidates(const py::list& candidates) {
    const OneCall call(busy_);
    core_.set_candidates(copy_bases<T>(candidates));
  }
  py::list candidates() {
    const OneCall call(busy_);
    return to_list(core_.candidates());
  }

  std::vector<uword> select(const std::vector<uword>& dimensions, int sweeps) {
    const OneCall call(busy_);
    std::vector<uword> chosen;
    without_gil(n_threads_, [&](const Parallel& parallel) {
      chosen = core_.select(dimensions, sweeps, parallel);
    });
    return chosen;
  }

  py::array_t<T> distances(const py::list& subspaces) {
    const OneCall call(busy_);
    const auto bases = copy_bases<T>(subspaces);
    arma::Col<T> nearest;
    without_gil(n_threads_,
                [&](const Parallel& parallel) { nearest = core_.distances(bases, parallel); });
    return to_column_array(nearest);
  }

 private:
  Seeder<T> core_;
  unsigned n_threads_;
  std::atomic<bool> busy_{false};
};

template <class T>
void bind_seeder_in(py::module_& m, const char* name) {
  using Class = PySeeder<T>;
  const auto maker = [](Seeding seeding) {
    return [seeding](Class& self, const std::vector<uword>& dimensions, uword n_candidates,
                     uword n_neighbors) {
      self.make_candidates(seeding, dimensions, n_candidates, n_neighbors);
    };
  };
  py::class_<Class>(m, name)
      .def(py::init([](const py::object& samples, const py::object& mask, uword n, uword at_most,
                       std::uint64_t seed, unsigned n_threads) {
             return std::make_unique<Class>(samples, mask, n, at_most, seed, n_threads);
           }),
           py::arg("samples"), py::arg("mask"), py::arg("n"), py::arg("at_most"), py::arg("seed"),
           py::arg("n_threads") = 1, "Copy at most so many samples, drawn at random.")
      .def_property_readonly("n_samples", &Class::n_samples, "Samples that can be used.")
      .def("farthest", maker(Seeding::farthest), py::arg("dimensions"), py::arg("n_candidates"),
           py::arg("n_neighbors"))
      .def("density", maker(Seeding::density), py::arg("dimensions"), py::arg("n_candidates"),
           py::arg("n_neighbors"))
      .def("take", &Class::set_candidates, py::arg("candidates"))
      .def("candidates", &Class::candidates)
      .def("select", &Class::select, py::arg("dimensions"), py::arg("sweeps"))
      .def("distances", &Class::distances, py::arg("subspaces"));
}

}  // namespace

void bind_seeding(py::module_& m) {
  bind_seeder_in<double>(m, "Seeder64");
  bind_seeder_in<float>(m, "Seeder32");
}

}  // namespace gasg21::bindings
