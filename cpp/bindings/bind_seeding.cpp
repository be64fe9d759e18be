// Where K subspaces start, and how they are polished and repaired, for Python.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <gasg21/gasg21.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "array_view.hpp"
#include "bases.hpp"
#include "module.hpp"
#include "watch.hpp"

namespace gasg21::bindings {

namespace {

/// The samples that seeding looks at, the candidates made of them, and the random numbers.
template <class T>
class PySeeder {
 public:
  PySeeder(const py::object& samples, const py::object& mask, uword n, uword at_most,
           std::uint64_t seed, unsigned n_threads)
      : random_(seed), n_threads_(n_threads) {
    const AnyView<T> view = as_view<T>(samples, mask, n);
    const py::gil_scoped_release nogil;
    std::visit(
        [&](const auto& v) {
          samples_ = std::make_unique<SeedSamples<T>>(v, some_columns(v.n_cols, at_most, random_));
        },
        view);
  }

  uword n_samples() const { return samples_->n_cols; }

  void farthest(const std::vector<uword>& dimensions, uword n_candidates, uword n_neighbors) {
    run([&](const Parallel& p) {
      candidates_ =
          farthest_candidates(*samples_, {dimensions, n_candidates, n_neighbors}, random_, p);
    });
  }

  void dense(const std::vector<uword>& dimensions, uword n_candidates, uword n_neighbors) {
    run([&](const Parallel& p) {
      candidates_ = density_candidates(*samples_, density(dimensions, p),
                                       {dimensions, n_candidates, n_neighbors}, {}, random_, p);
    });
  }

  /// Takes the candidates of somebody else.
  void take(const py::list& candidates) { candidates_ = {copy_bases<T>(candidates), {}}; }

  py::list candidates() const { return to_list(candidates_.bases); }

  /// The candidates chosen, by their numbers.
  std::vector<uword> select(const std::vector<uword>& dimensions, int sweeps) {
    std::vector<uword> chosen;
    run([&](const Parallel& p) {
      candidates_.measure(*samples_, p);
      chosen = greedy_select(candidates_, dimensions, p);
      swap_select(candidates_, chosen, sweeps, p);
    });
    return chosen;
  }

  /// Distance of each sample to the nearest of some subspaces.
  py::array_t<T> distances(const py::list& subspaces) {
    const auto bases = copy_bases<T>(subspaces);
    arma::Col<T> nearest;
    run([&](const Parallel& p) {
      nearest = arma::sqrt(arma::min(squared_residuals(*samples_, bases, p), 1));
    });
    return to_column_array(nearest);
  }

  std::vector<uword> repair_into(KPolisher<T>& polisher, uword n_candidates, uword n_neighbors) {
    std::vector<uword> exchanged, dimensions;
    for (const auto& U : polisher.bases()) dimensions.push_back(U.n_cols);
    run([&](const Parallel& p) {
      exchanged = repair(polisher, *samples_, density(dimensions, p), n_candidates, n_neighbors,
                         random_, p);
    });
    return exchanged;
  }

 private:
  /// Made when it is first asked for.
  const arma::vec& density(const std::vector<uword>& dimensions, const Parallel& parallel) {
    const uword d = *std::max_element(dimensions.begin(), dimensions.end());
    if (density_.empty()) density_ = densities(*samples_, d + 2, parallel);
    return density_;
  }

  template <class Work>
  void run(Work&& work) {
    require(samples_->n_cols > 0, "no sample can be used");
    Watch watch{py::none(), 1e5};
    try {
      const py::gil_scoped_release nogil;
      work(Parallel(n_threads_, [&] { return watch.tick(); }));
    } catch (const Stopped&) {
    }
    watch.finish();
  }

  Random random_;
  unsigned n_threads_;
  std::unique_ptr<SeedSamples<T>> samples_;
  arma::vec density_;
  Candidates<T> candidates_;
};

template <class T>
class PyKPolisher {
 public:
  PyKPolisher(const py::list& subspaces, unsigned n_threads)
      : core_(copy_bases<T>(subspaces)), n_threads_(n_threads) {}

  void round(const py::object& samples, const py::object& mask, double tol, double share,
             int steps) {
    const AnyView<T> view = as_view<T>(samples, mask, core_.bases()[0].n_rows);
    without_gil<T>(view, n_threads_, [&](const auto& v, const Parallel& p) {
      core_.round(v, {tol, share, steps}, p);
    });
  }

  std::vector<uword> repair(PySeeder<T>& seeder, uword n_candidates, uword n_neighbors) {
    return seeder.repair_into(core_, n_candidates, n_neighbors);
  }

  py::list subspaces() const { return to_list(core_.bases()); }
  bool settled() const { return core_.settled(); }

  template <class Field>
  std::vector<double> each(Field field) const {
    std::vector<double> all;
    for (const ClusterFit& c : core_.clusters()) all.push_back(double(c.*field));
    return all;
  }

 private:
  KPolisher<T> core_;
  unsigned n_threads_;
};

template <class T>
void bind_for(py::module_& m, const std::string& bits) {
  using Seeder = PySeeder<T>;
  py::class_<Seeder>(m, ("Seeder" + bits).c_str())
      .def(py::init<const py::object&, const py::object&, uword, uword, std::uint64_t, unsigned>(),
           py::arg("samples"), py::arg("mask"), py::arg("n"), py::arg("at_most"), py::arg("seed"),
           py::arg("n_threads") = 1, "Copy at most so many samples, drawn at random.")
      .def_property_readonly("n_samples", &Seeder::n_samples, "Samples that can be used.")
      .def("farthest", &Seeder::farthest, py::arg("dimensions"), py::arg("n_candidates"),
           py::arg("n_neighbors"))
      .def("density", &Seeder::dense, py::arg("dimensions"), py::arg("n_candidates"),
           py::arg("n_neighbors"))
      .def("take", &Seeder::take, py::arg("candidates"))
      .def("candidates", &Seeder::candidates)
      .def("select", &Seeder::select, py::arg("dimensions"), py::arg("sweeps"))
      .def("distances", &Seeder::distances, py::arg("subspaces"));
  using Polisher = PyKPolisher<T>;
  py::class_<Polisher>(m, ("KPolisher" + bits).c_str())
      .def(py::init<const py::list&, unsigned>(), py::arg("subspaces"), py::arg("n_threads") = 1)
      .def("round", &Polisher::round, py::arg("samples"), py::arg("mask"), py::arg("tol"),
           py::arg("share") = 0.1, py::arg("steps") = 5)
      .def("repair", &Polisher::repair, py::arg("seeder"), py::arg("n_candidates"),
           py::arg("n_neighbors") = 0, "Returns which subspaces were exchanged.")
      .def("subspaces", &Polisher::subspaces)
      .def_property_readonly("settled", &Polisher::settled)
      .def_property_readonly("changes",
                             [](const Polisher& p) { return p.each(&ClusterFit::change); })
      .def_property_readonly("members",
                             [](const Polisher& p) { return p.each(&ClusterFit::members); })
      .def_property_readonly("estimated_angles", [](const Polisher& p) {
        return p.each(&ClusterFit::estimated_angle);
      });
}

}  // namespace

void bind_seeding(py::module_& m) {
  bind_for<double>(m, "64");
  bind_for<float>(m, "32");
}

}  // namespace gasg21::bindings
