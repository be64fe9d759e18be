// The sums of one block of the data, for a round of the polish. Blocks may lie on a disk or on many
// machines; all of them work with the same subspaces and scatters, and their sums add up.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "gasg21/data/views.hpp"
#include "gasg21/fit/assign.hpp"
#include "gasg21/fit/subspace_bank.hpp"
#include "gasg21/polish/coordinate_sums.hpp"
#include "gasg21/polish/round.hpp"
#include "gasg21/polish/sample_fits.hpp"
#include "gasg21/polish/standard_error.hpp"
#include "gasg21/polish/tyler_scatter.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/log_histogram.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/tracker.hpp"

namespace gasg21 {

/// How many samples of a data set had which outcome.
struct Usage {
  Counters counters;
  std::uint64_t entries_used = 0;

  Usage& operator+=(const Usage& other) {
    for (std::size_t o = 0; o < n_outcomes; ++o)
      counters[StepOutcome(o)] += other.counters[StepOutcome(o)];
    entries_used += other.entries_used;
    return *this;
  }
};

/// Why a sample could not be fitted in d dimensions.
template <class T, class Sample>
StepOutcome why_unused(Observation<T>& x, const Sample& sample, uword d) {
  switch (x.read(sample)) {
    case Usable::zero:
      return StepOutcome::zero;
    case Usable::all_missing:
      return StepOutcome::all_missing;
    case Usable::not_finite:
      return StepOutcome::not_finite;
    default:
      return x.count() <= d ? StepOutcome::too_few_entries : StepOutcome::rank_deficient;
  }
}

/// Counts the samples that were fitted, and why the others were not.
template <class T, class Data>
Usage count_usage(const Data& data, const SampleFits<T>& fits, uword d) {
  Usage usage;
  Observation<T> x(data.n_rows);
  for (uword j = 0; j < data.n_cols; ++j) {
    const bool used = fits.is_used(j);
    ++usage.counters[used ? StepOutcome::taken : why_unused(x, data.sample(j), d)];
    if (used) usage.entries_used += std::uint64_t(fits.count[j]);
  }
  return usage;
}

/// Sums over samples for one subspace, in double precision whatever T is.
struct BlockSums {
  ScatterSums scatter;
  arma::mat coordinates;   // as CoordinateSums
  arma::mat information;   // of the samples about each direction
  uword near = 0;          // samples much nearer than a random direction
  LogHistogram residuals;  // of the unit-norm samples
  Usage usage;

  BlockSums(uword n, uword d)
      : scatter(d),
        coordinates(d * (d + 1) / 2 + d, n, arma::fill::zeros),
        information(d, d, arma::fill::zeros) {}

  BlockSums& operator+=(const BlockSums& other) {
    scatter += other.scatter;
    coordinates += other.coordinates;
    information += other.information;
    near += other.near;
    residuals += other.residuals;
    usage += other.usage;
    return *this;
  }

  template <class T>
  CoordinateSums<T> rows() const {
    CoordinateSums<T> rows(coordinates.n_cols, scatter.C.n_rows);
    rows.sums = arma::conv_to<arma::Mat<T>>::from(coordinates);
    return rows;
  }
};

namespace detail {

template <class T, class Data>
BlockSums sums_of_batch(const arma::Mat<T>& U, const Scatter& scatter, const Data& batch,
                        const Parallel& parallel) {
  const uword n = U.n_rows, d = U.n_cols;
  SampleFits<T> fits(d, batch.n_cols);
  fit_samples(U, batch, fits, parallel);
  scatter.set_weights(fits);
  CoordinateSums<T> rows(n, d);
  add_samples(U, batch, fits, rows, parallel);
  BlockSums sums(n, d);
  sums.scatter = ScatterSums(fits);
  sums.coordinates = arma::conv_to<arma::mat>::from(rows.sums);
  sums.information = information(fits, n);
  sums.near = count_near(fits);
  for (uword j = 0; j < batch.n_cols; ++j)
    if (fits.is_used(j)) sums.residuals.add(std::sqrt(fits.r2[j]));
  sums.usage = count_usage(batch, fits, d);
  return sums;
}

}  // namespace detail

/// The sums of one block. Batches of some thousand samples bound the memory, and the rounding error
/// of single precision. An empty block has zeros.
template <class T, class Data>
BlockSums block_sums(const arma::Mat<T>& U, const Scatter& scatter, const Data& block,
                     const Parallel& parallel = Parallel()) {
  constexpr uword batch = 8192;
  BlockSums sums(U.n_rows, U.n_cols);
  for (uword from = 0; from < block.n_cols; from += batch)
    sums += detail::sums_of_batch(
        U, scatter, part_of(block, from, std::min(from + batch, block.n_cols)), parallel);
  return sums;
}

/// Ends a round with the sums over all blocks. Without a scatter the round only finds it. Returns
/// the angle by which the subspace moved; pi / 2 if it only found the scatter.
template <class T>
double end_round(Round<T>& round, const BlockSums& sums, const Parallel& parallel = Parallel()) {
  const bool moves = round.has_scatter();
  round.take(sums.scatter, sums.near, sums.information);
  return moves ? round.advance(sums.rows<T>(), parallel) : arma::datum::pi / 2;
}

/// The sums of one block for several subspaces.
struct UnionSums {
  std::vector<BlockSums> sums;  // per subspace: over its members
  arma::uvec labels;            // of the subspaces; their number = none
  Usage unassigned;             // samples that belong to none
};

/// The sums over the members of each subspace. A label beyond the subspaces marks a sample
/// that belongs to none.
template <class T, class Data>
UnionSums member_sums(const std::vector<arma::Mat<T>>& bases, const std::vector<Scatter>& scatters,
                      const Data& block, arma::uvec labels, const Parallel& parallel = Parallel()) {
  require(!bases.empty() && scatters.size() == bases.size(),
          "there must be one scatter per subspace");
  require(labels.n_elem == block.n_cols, "there must be one label per sample");
  std::vector<std::vector<uword>> members(bases.size() + 1);
  for (uword j = 0; j < block.n_cols; ++j)
    members[std::min<uword>(labels[j], bases.size())].push_back(j);
  const auto sums_of = [&](uword k, const arma::Mat<T>& U, const Scatter& scatter) {
    return block_sums(U, scatter, SubsetView<Data>(block, std::move(members[k])), parallel);
  };
  UnionSums found{{}, std::move(labels), {}};
  for (uword k = 0; k < bases.size(); ++k) found.sums.push_back(sums_of(k, bases[k], scatters[k]));
  found.unassigned = sums_of(bases.size(), bases[0], Scatter()).usage;
  return found;
}

/// The sums over the samples that are nearest to each subspace.
template <class T, class Data>
UnionSums union_sums(const std::vector<arma::Mat<T>>& bases, const std::vector<Scatter>& scatters,
                     const Data& block, const Parallel& parallel = Parallel()) {
  return member_sums(bases, scatters, block, assign_labels(SubspaceBank<T>(bases), block, parallel),
                     parallel);
}

/// Tyler's fixed point on some samples: the scatter that rounds over all blocks start from.
template <class T, class Data>
Scatter start_scatter(const arma::Mat<T>& U, const Data& data,
                      const Parallel& parallel = Parallel()) {
  SampleFits<T> fits(U.n_cols, data.n_cols);
  fit_samples(U, data, fits, parallel);
  Scatter scatter;
  scatter.settle(fits, true);
  return scatter;
}

}  // namespace gasg21
