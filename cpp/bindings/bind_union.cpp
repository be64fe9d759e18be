// A fitted union for Python: what it says about samples, and its parts.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <gasg21/union/union.hpp>
#include <limits>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "array_view.hpp"
#include "lift.hpp"
#include "module.hpp"
#include "prior.hpp"
#include "saved.hpp"
#include "watch.hpp"

namespace gasg21::bindings {

namespace {

/// (components (d, n), estimated angle, bound), and (directions (r, n), spread, screening or None).
using ScreeningTuple = std::tuple<py::array, double, double>;
using WhiteningTuple = std::tuple<py::array, DoubleArray, std::optional<ScreeningTuple>>;

std::shared_ptr<const Whitening> unpack_whitening(const std::optional<WhiteningTuple>& given) {
  if (!given) return nullptr;
  const auto& [directions, spread, screening] = *given;
  Whitening whitening{copy_basis<double>(directions, "directions"), as_vec(spread), {}};
  if (screening)
    whitening.screening = Screening{{copy_basis<double>(std::get<0>(*screening), "components"),
                                     std::get<1>(*screening), std::get<2>(*screening)}};
  return std::make_shared<const Whitening>(std::move(whitening));
}

py::object pack_whitening(const std::shared_ptr<const Whitening>& whitening) {
  if (!whitening) return py::none();
  py::object screening = py::none();
  if (whitening->screening) {
    const OneSubspace& overall = whitening->screening->overall;
    screening =
        py::make_tuple(to_components(overall.basis), overall.estimated_angle, overall.bound);
  }
  return py::make_tuple(to_components(whitening->directions), to_column_array(whitening->spread),
                        screening);
}

template <class T>
std::unique_ptr<Union<T>> make_union(const py::list& subspaces,
                                     const std::optional<py::list>& bases, const py::object& lift,
                                     const std::optional<WhiteningTuple>& whitening, double cut) {
  std::vector<arma::Mat<T>> all = copy_bases<T>(subspaces);
  std::vector<arma::Mat<T>> working = bases ? copy_bases<T>(*bases) : all;
  return std::make_unique<Union<T>>(
      std::move(all), std::move(working),
      UnionCoordinates<T>{unpack_lift<T>(lift), unpack_whitening(whitening)}, ResidualSplit{cut});
}

/// Calls work(view, parallel) without the GIL.
template <class T, class Work>
void with_union_view(const Union<T>& self, const py::object& samples, const py::object& mask,
                     unsigned n_threads, Work&& work) {
  const AnyView<T> view = as_view<T>(samples, mask, self.n_features());
  const double products = view.stored_entries() * double(self.n_clusters());
  without_gil(worthwhile(n_threads, products),
              [&](const Parallel& parallel) { work(view, parallel); });
}

template <class T>
Assignment<T> as_assignment(const Union<T>& self, const py::array& labels,
                            const py::array& residuals) {
  const uword m = uword(labels.size());
  const auto given = copy_vector<py::ssize_t>(labels, m, "labels");
  Assignment<T> assigned{arma::uvec(m), copy_vector<T>(residuals, m, "residuals")};
  for (uword j = 0; j < m; ++j)
    assigned.labels[j] = given[j] < 0 ? self.n_clusters() : uword(given[j]);
  return assigned;
}

template <class T>
py::array union_labels(const Union<T>& self, const py::object& samples, const py::object& mask,
                       unsigned n_threads) {
  arma::uvec labels;
  with_union_view(self, samples, mask, n_threads,
                  [&](const auto&... data) { labels = self.labels(data...); });
  return to_labels(labels, self.n_clusters());
}

/// The nearest subspace of each sample that is near to it.
template <class T>
py::array union_near_labels(const Union<T>& self, const py::object& samples, const py::object& mask,
                            unsigned n_threads) {
  Assignment<T> all;
  with_union_view(self, samples, mask, n_threads, [&](const auto& view, const auto& parallel) {
    all = self.assign(view, parallel);
    const std::vector<bool> near = self.near(view, all);
    for (uword j = 0; j < near.size(); ++j)
      if (!near[j]) all.labels[j] = self.n_clusters();
  });
  return to_labels(all.labels, self.n_clusters());
}

template <class T>
py::tuple union_assign(const Union<T>& self, const py::object& samples, const py::object& mask,
                       unsigned n_threads) {
  Assignment<T> all;
  with_union_view(self, samples, mask, n_threads,
                  [&](const auto&... data) { all = self.assign(data...); });
  return py::make_tuple(to_labels(all.labels, self.n_clusters()), to_column_array(all.residuals));
}

template <class T>
py::array union_residuals(const Union<T>& self, const py::object& samples, const py::object& mask,
                          unsigned n_threads) {
  arma::Mat<T> residuals;
  with_union_view(self, samples, mask, n_threads,
                  [&](const auto&... data) { residuals = self.residuals(data...); });
  return to_components(residuals);
}

template <class T>
py::array union_whitened(const Union<T>& self, const py::object& samples, const py::object& mask,
                         unsigned n_threads) {
  require(self.coordinates().whitening != nullptr, "the union is not whitened");
  arma::Mat<T> coordinates;
  with_union_view(self, samples, mask, n_threads,
                  [&](const auto&... data) { coordinates = self.whitened(data...); });
  return to_components(coordinates);
}

template <class T>
py::array union_reject(const Union<T>& self, const py::object& samples, const py::object& mask,
                       const py::array& labels, const py::array& residuals, unsigned n_threads) {
  const Assignment<T> assigned = as_assignment(self, labels, residuals);
  arma::uvec kept;
  with_union_view(self, samples, mask, n_threads, [&](const auto& view, const auto& parallel) {
    kept = self.reject(view, assigned, parallel);
  });
  return to_labels(kept, self.n_clusters());
}

template <class T>
double union_split(const Union<T>& self, const py::object& samples, const py::object& mask,
                   const py::array& labels, const py::array& residuals, unsigned n_threads) {
  const Assignment<T> assigned = as_assignment(self, labels, residuals);
  ResidualSplit split;
  with_union_view(self, samples, mask, n_threads, [&](const auto& view, const auto& parallel) {
    split = self.find_split(view, assigned, parallel);
  });
  return split.cut;
}

template <class T>
void union_complete(const Union<T>& self, const py::object& samples, const py::object& mask,
                    py::array out, unsigned n_threads) {
  // Opened first: its size must fit before anything is computed.
  const uword m = as_view<T>(samples, mask, self.n_features()).n_cols;
  Output<T> written(std::move(out), m, self.n_features());
  with_union_view(self, samples, mask, n_threads, [&](const auto& view, const auto& parallel) {
    self.complete(view, written.data(), parallel);
  });
}

template <class T>
double union_score(const Union<T>& self, const py::object& samples, const py::object& mask,
                   unsigned n_threads) {
  double score = 0;
  with_union_view(self, samples, mask, n_threads,
                  [&](const auto&... data) { score = self.score(data...); });
  return score;
}

template <class T>
py::list union_directions(const Union<T>& self) {
  py::list all;
  for (uword k = 0; k < self.n_clusters(); ++k)
    all.append(to_components(self.subspace(k).directions));
  return all;
}

template <class T>
py::array union_points(const Union<T>& self) {
  arma::Mat<T> points(self.n_features(), self.n_clusters());
  for (uword k = 0; k < self.n_clusters(); ++k) points.col(k) = self.subspace(k).point;
  return to_components(points);
}

template <class T, class Class>
void bind_parts(Class& cls) {
  using U = Union<T>;
  cls.def_property_readonly("n_clusters", &U::n_clusters)
      .def_property_readonly("n_features", &U::n_features)
      .def_property_readonly("dimensions", &U::dimensions)
      .def_property_readonly("subspaces", [](const U& self) { return to_list(self.subspaces()); })
      .def_property_readonly("bases", [](const U& self) { return to_list(self.bases()); })
      .def_property_readonly("directions", &union_directions<T>)
      .def_property_readonly("points", &union_points<T>)
      .def_property_readonly("lift", [](const U& self) { return pack(self.coordinates().lift); })
      .def_property_readonly(
          "whitening", [](const U& self) { return pack_whitening(self.coordinates().whitening); })
      .def_property_readonly("is_whitened",
                             [](const U& self) { return self.coordinates().whitening != nullptr; })
      .def_property_readonly("cut", [](const U& self) { return self.split().cut; })
      .def(
          "moved",
          [](const U& self, const py::list& bases) {
            return std::make_unique<U>(self.moved(copy_bases<T>(bases)));
          },
          py::arg("bases"), "The union after its stream has moved to these bases.")
      .def(
          "with_cut",
          [](const U& self, double cut) {
            return std::make_unique<U>(self.with_split(ResidualSplit{cut}));
          },
          py::arg("cut"), "The union that rejects samples with residuals above the cut.");
}

template <class T>
void bind_union_in(py::module_& m, const char* name) {
  auto cls = py::class_<Union<T>>(m, name);
  cls.def(py::init(&make_union<T>), py::arg("subspaces"), py::arg("bases") = py::none(),
          py::arg("lift") = py::none(), py::arg("whitening") = py::none(),
          py::arg("cut") = std::numeric_limits<double>::infinity(),
          "From orthonormal (d_k, n) arrays, lifted if there is a lift, and those of the working "
          "coordinates.")
      .def("labels", &union_labels<T>, py::arg("samples"), py::arg("mask") = py::none(),
           py::arg("n_threads") = 1, "The nearest subspace of each sample; -1 if undetermined.")
      .def("near_labels", &union_near_labels<T>, py::arg("samples"), py::arg("mask") = py::none(),
           py::arg("n_threads") = 1,
           "The same, and -1 for samples as far away as random directions.")
      .def("assign", &union_assign<T>, py::arg("samples"), py::arg("mask") = py::none(),
           py::arg("n_threads") = 1, "The same, and the residuals of the unit-norm samples.")
      .def("residuals", &union_residuals<T>, py::arg("samples"), py::arg("mask") = py::none(),
           py::arg("n_threads") = 1, "Residuals (m, K) of the unit-norm samples.")
      .def("whitened", &union_whitened<T>, py::arg("samples"), py::arg("mask") = py::none(),
           py::arg("n_threads") = 1, "The samples in the whitened coordinates, (m, r).")
      .def("reject", &union_reject<T>, py::arg("samples"), py::arg("mask"), py::arg("labels"),
           py::arg("residuals"), py::arg("n_threads") = 1, "The labels, -1 for outliers.")
      .def("find_split", &union_split<T>, py::arg("samples"), py::arg("mask"), py::arg("labels"),
           py::arg("residuals"), py::arg("n_threads") = 1,
           "The residual, in the units of the data, above which samples are outliers.")
      .def("complete", &union_complete<T>, py::arg("samples"), py::arg("mask"), py::arg("out"),
           py::arg("n_threads") = 1,
           "Writes the missing entries of the samples, from their nearest subspaces, into out.")
      .def("score", &union_score<T>, py::arg("samples"), py::arg("mask") = py::none(),
           py::arg("n_threads") = 1, "How well entries are predicted from the others.");
  bind_parts<T>(cls);
  make_picklable(cls);
}

}  // namespace

void bind_union(py::module_& m) {
  bind_union_in<double>(m, "Union64");
  bind_union_in<float>(m, "Union32");
}

}  // namespace gasg21::bindings
