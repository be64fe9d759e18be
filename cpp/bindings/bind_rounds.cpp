// Subspaces between the rounds of the polish over blocks of data, for Python.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <gasg21/polish/round.hpp>
#include <gasg21/recovery/union_rounds.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "array_view.hpp"
#include "block_tuple.hpp"
#include "history.hpp"
#include "module.hpp"

namespace gasg21::bindings {

namespace {

/// One subspace between the rounds: one of several, or a single one.
template <class T>
class PyBlockPolish {
 public:
  PyBlockPolish(const py::array& components, const py::object& scatter)
      : round_(begun(components, scatter)) {}

  /// Ends a round with the sums over all blocks. Returns the angle by which the subspace moved.
  double update(const py::tuple& given) {
    const BlockSums sums = as_sums(given, round_.basis().n_rows, round_.basis().n_cols);
    const py::gil_scoped_release nogil;
    return end_round(round_, sums);
  }

  py::array_t<T> components() const { return to_components(round_.basis()); }
  py::object scatter() const { return to_pair_or_none(round_.scatter()); }

 private:
  static Round<T> begun(const py::array& components, const py::object& scatter) {
    arma::Mat<T> U = copy_basis<T>(components, "components");
    const uword d = U.n_cols;
    return Round<T>(std::move(U), RoundOptions::of_cluster(), as_scatter(scatter, d));
  }

  Round<T> round_;
};

/// K subspaces between the rounds.
template <class T>
class PyUnionRounds {
 public:
  PyUnionRounds(const std::vector<arma::Mat<T>>& bases, const py::list& scatters, double tol)
      : rounds_(bases, as_scatters(scatters, bases), tol) {}

  /// Ends a round with the sums of all blocks for each subspace.
  void update(const py::list& given, uword n_samples) {
    require(given.size() == rounds_.size(), "there are ", given.size(), " sums for ",
            rounds_.size(), " subspaces");
    UnionSums total;
    for (uword k = 0; k < rounds_.size(); ++k) {
      const arma::Mat<T>& U = rounds_[k].basis();
      total.sums.push_back(as_sums(given[k].cast<py::tuple>(), U.n_rows, U.n_cols));
    }
    const py::gil_scoped_release nogil;
    rounds_.end(total, n_samples);
  }

  py::list subspaces() const {
    return each([](const Round<T>& round) { return to_components(round.basis()); });
  }
  py::list scatters() const {
    return each([](const Round<T>& round) { return to_pair_or_none(round.scatter()); });
  }
  const UnionRounds<T>& rounds() const { return rounds_; }

 private:
  template <class Part>
  py::list each(Part&& part) const {
    py::list all;
    for (uword k = 0; k < rounds_.size(); ++k) all.append(part(rounds_[k]));
    return all;
  }

  UnionRounds<T> rounds_;
};

template <class T>
void bind_rounds_in(py::module_& m, const char* polish, const char* rounds) {
  using Polish = PyBlockPolish<T>;
  py::class_<Polish>(m, polish)
      .def("update", &Polish::update, py::arg("sums"), "End a round; returns the angle moved.")
      .def_property_readonly("components", &Polish::components)
      .def_property_readonly("scatter", &Polish::scatter);
  using Rounds = PyUnionRounds<T>;
  py::class_<Rounds>(m, rounds)
      .def("update", &Rounds::update, py::arg("sums"), py::arg("n_samples"), "End a round.")
      .def_property_readonly("subspaces", &Rounds::subspaces)
      .def_property_readonly("scatters", &Rounds::scatters)
      .def_property_readonly("settled", [](const Rounds& r) { return r.rounds().settled(); })
      .def_property_readonly("status",
                             [](const Rounds& r) { return to_string(r.rounds().status()); })
      .def_property_readonly(
          "estimated_angles",
          [](const Rounds& r) { return to_column_array(r.rounds().estimated_angles()); })
      .def_property_readonly("history",
                             [](const Rounds& r) { return to_list(r.rounds().history()); });
}

}  // namespace

void bind_rounds(py::module_& m) {
  bind_rounds_in<double>(m, "BlockPolish64", "UnionRounds64");
  bind_rounds_in<float>(m, "BlockPolish32", "UnionRounds32");
  m.def(
      "block_polish",
      [](const py::array& components, const py::object& scatter) {
        require_basis(components, "components");
        return in_precision_of(components, [&](auto zero) -> py::object {
          return py::cast(std::make_unique<PyBlockPolish<decltype(zero)>>(components, scatter));
        });
      },
      py::arg("components"), py::arg("scatter"), "One subspace between rounds over blocks.");
  m.def(
      "union_rounds",
      [](const py::list& subspaces, const py::list& scatters, double tol) {
        require(!subspaces.empty(), "there must be at least one subspace");
        return in_precision_of(as_array(subspaces[0], "subspaces"), [&](auto zero) -> py::object {
          using T = decltype(zero);
          return py::cast(
              std::make_unique<PyUnionRounds<T>>(copy_bases<T>(subspaces), scatters, tol));
        });
      },
      py::arg("subspaces"), py::arg("scatters"), py::arg("tol"),
      "Several subspaces between rounds over blocks.");
}

}  // namespace gasg21::bindings
