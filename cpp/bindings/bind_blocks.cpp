// The sums of blocks of data, for Python.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <gasg21/recovery/block_sums.hpp>
#include <gasg21/seeding/seeder.hpp>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "array_view.hpp"
#include "block_tuple.hpp"
#include "counters.hpp"
#include "lift.hpp"
#include "module.hpp"
#include "watch.hpp"

namespace gasg21::bindings {

namespace {

/// A block, lifted if there is a lift.
template <class T>
struct Block {
  std::shared_ptr<const Lift<T>> lift;
  AnyView<T> view;

  Block(const py::object& samples, const py::object& mask, const py::object& given_lift, uword rows)
      : lift(unpack_lift<T>(given_lift)),
        view(with_lift(as_view<T>(samples, mask, lift ? lift->centre.n_elem : rows), lift)) {
    require(view.n_rows == rows, "the block has ", view.n_rows, " rows, the components ", rows);
  }
};

template <class T>
py::tuple block_sums_in(const py::array& components, const py::object& samples,
                        const py::object& mask, const py::object& scatter, const py::object& lift,
                        unsigned n_threads) {
  const Basis<T> held(components, "components");
  const arma::Mat<T>& U = held;
  const Block<T> block(samples, mask, lift, U.n_rows);
  const Scatter known = as_scatter(scatter, U.n_cols);
  std::optional<BlockSums> sums;
  without_gil(n_threads, [&](const Parallel& parallel) {
    sums.emplace(block_sums(U, known, block.view, parallel));
  });
  return to_tuple(*sums);
}

/// `labels`: of the subspaces that samples belong to; None = the nearest.
template <class T>
py::tuple union_sums_in(const py::list& subspaces, const py::object& samples,
                        const py::object& mask, const py::list& given, const py::object& labels,
                        const py::object& lift, unsigned n_threads) {
  const auto bases = copy_bases<T>(subspaces);
  const std::vector<Scatter> scatters = as_scatters(given, bases);
  const Block<T> block(samples, mask, lift, bases[0].n_rows);
  const AnyView<T>& view = block.view;
  std::optional<arma::uvec> known;
  if (!labels.is_none()) known = as_order(labels);
  UnionSums found;
  without_gil(n_threads, [&](const Parallel& parallel) {
    found = known ? member_sums(bases, scatters, view, *known, parallel)
                  : union_sums(bases, scatters, view, parallel);
  });
  py::list sums;
  for (const BlockSums& each : found.sums) sums.append(to_tuple(each));
  return py::make_tuple(sums, to_array(found.unassigned), to_labels(found.labels, bases.size()));
}

template <class T>
py::tuple start_scatter_in(const py::array& components, const py::object& samples,
                           const py::object& mask, const py::object& lift, unsigned n_threads) {
  const Basis<T> held(components, "components");
  const arma::Mat<T>& U = held;
  const Block<T> block(samples, mask, lift, U.n_rows);
  Scatter scatter;
  without_gil(n_threads,
              [&](const Parallel& parallel) { scatter = start_scatter(U, block.view, parallel); });
  return to_pair(scatter);
}

/// Replaces subspaces that missed a cluster of the samples. Returns all of them, and which are new.
template <class T>
py::tuple repair_in(const py::list& subspaces, const py::object& samples, const py::object& mask,
                    uword n_candidates, uword n_neighbors, std::uint64_t seed, unsigned n_threads) {
  KPolisher<T> polisher(copy_bases<T>(subspaces));
  require(polisher.size() > 0, "there must be at least one subspace");
  const AnyView<T> view = as_view<T>(samples, mask, polisher.bases()[0].n_rows);
  std::vector<uword> replaced;
  without_gil(n_threads, [&](const Parallel& parallel) {
    Seeder<T> seeder(view, view.n_cols, seed);
    replaced = seeder.repair_into(polisher, n_candidates, n_neighbors, parallel);
  });
  return py::make_tuple(to_list(polisher.bases()), replaced);
}

}  // namespace

void bind_blocks(py::module_& m) {
  m.def(
      "block_sums",
      [](const py::array& components, const py::object& samples, const py::object& mask,
         const py::object& scatter, const py::object& lift, unsigned n_threads) {
        require_basis(components, "components");
        return in_precision_of(components, [&](auto zero) {
          return block_sums_in<decltype(zero)>(components, samples, mask, scatter, lift, n_threads);
        });
      },
      py::arg("components"), py::arg("samples"), py::arg("mask"), py::arg("scatter"),
      py::arg("lift") = py::none(), py::arg("n_threads") = 1, "The sums of one block.");
  m.def(
      "union_sums",
      [](const py::list& subspaces, const py::object& samples, const py::object& mask,
         const py::list& scatters, const py::object& labels, const py::object& lift,
         unsigned n_threads) {
        return in_precision_of(values_of(samples), [&](auto zero) {
          return union_sums_in<decltype(zero)>(subspaces, samples, mask, scatters, labels, lift,
                                               n_threads);
        });
      },
      py::arg("subspaces"), py::arg("samples"), py::arg("mask"), py::arg("scatters"),
      py::arg("labels") = py::none(), py::arg("lift") = py::none(), py::arg("n_threads") = 1,
      "The sums of one block for each subspace, the counts of the rest, and the labels.");
  m.def(
      "scatter_of",
      [](const py::array& C, double s, double weight) {
        require(C.ndim() == 2 && C.shape(0) >= 1, "C must be 2-d");
        ScatterSums sums(uword(C.shape(0)));
        sums.C = from_square(C, uword(C.shape(0)));
        sums.s = s;
        sums.weight = weight;
        return to_pair(Scatter(sums));
      },
      py::arg("C"), py::arg("s"), py::arg("weight"), "The scatter (C, s) of the sums of a block.");
  m.def(
      "diagnostics",
      [](const py::object& counts) {
        const Usage usage = as_usage(counts);
        return to_dict(usage.counters, usage.entries_used);
      },
      py::arg("counts"), "The counts of a block by their names.");
  m.def(
      "start_scatter",
      [](const py::array& components, const py::object& samples, const py::object& mask,
         const py::object& lift, unsigned n_threads) {
        require_basis(components, "components");
        return in_precision_of(components, [&](auto zero) {
          return start_scatter_in<decltype(zero)>(components, samples, mask, lift, n_threads);
        });
      },
      py::arg("components"), py::arg("samples"), py::arg("mask"), py::arg("lift") = py::none(),
      py::arg("n_threads") = 1, "The scatter (C, s) of some samples about a subspace.");
  m.def(
      "repair",
      [](const py::list& subspaces, const py::object& samples, const py::object& mask,
         uword n_candidates, uword n_neighbors, std::uint64_t seed, unsigned n_threads) {
        return in_precision_of(values_of(samples), [&](auto zero) {
          return repair_in<decltype(zero)>(subspaces, samples, mask, n_candidates, n_neighbors,
                                           seed, n_threads);
        });
      },
      py::arg("subspaces"), py::arg("samples"), py::arg("mask"), py::arg("n_candidates"),
      py::arg("n_neighbors"), py::arg("seed"), py::arg("n_threads") = 1,
      "Subspaces without those that missed a cluster, and which were replaced.");
  m.def(
      "quantile",
      [](const py::object& counts, double share) {
        return LogHistogram(as_order(counts)).quantile(share);
      },
      py::arg("residuals"), py::arg("share"),
      "The residual below which a share of them lies, from their histogram.");
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
