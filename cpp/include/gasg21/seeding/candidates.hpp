// Candidate subspaces: each fits the neighbours of a sampled point. Alg. 3, step 1. All functions
// that take a Parallel throw Stopped when it is stopped.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "gasg21/data/observation.hpp"
#include "gasg21/fit/assign.hpp"
#include "gasg21/fit/least_squares.hpp"
#include "gasg21/fit/subspace_bank.hpp"
#include "gasg21/geometry/grassmann.hpp"
#include "gasg21/geometry/jacobi_svd.hpp"
#include "gasg21/kernels/plain.hpp"
#include "gasg21/seeding/seed_samples.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/support/random.hpp"

namespace gasg21 {

/// The indices of the `count` largest entries, largest first; ties in their order.
template <class T>
std::vector<uword> largest(const arma::Col<T>& values, uword count) {
  std::vector<uword> order(values.n_elem);
  std::iota(order.begin(), order.end(), uword(0));
  count = std::min<uword>(count, order.size());
  std::partial_sort(
      order.begin(), order.begin() + std::ptrdiff_t(count), order.end(),
      [&](uword a, uword b) { return values[a] > values[b] || (values[a] == values[b] && a < b); });
  order.resize(count);
  return order;
}

/// The d leading left singular vectors of A; random directions beyond the rank of A.
template <class T>
arma::Mat<T> leading_directions(const arma::Mat<T>& A, uword d, Random& random) {
  const uword n = A.n_rows, k = A.n_cols;
  arma::Mat<T> G(k, k);
  kernels::gram(A.memptr(), n, k, G.memptr());
  const ThinSvd<T> svd = thin_svd(arma::Mat<T>(arma::symmatl(G)));
  arma::Mat<T> U = random_basis<T>(n, d, random);
  // Directions below the noise of the squared singular values stay random.
  const T noise = 100 * std::numeric_limits<T>::epsilon() * svd.s[0];
  for (uword c = 0; c < std::min(d, k) && svd.s[c] > noise; ++c) {
    U.col(c).zeros();
    kernels::add_times(A.memptr(), n, k, svd.P.colptr(c), T(1), U.colptr(c));
  }
  if (!orthonormalize(U)) throw NumericalError("a candidate subspace is not a basis");
  return U;
}

/// The subspace of dimension d that best fits some samples. Missing entries start at zero; then
/// `rounds` times the subspace imputes them and is fitted again.
template <class T>
arma::Mat<T> local_subspace(const SeedSamples<T>& samples, const std::vector<uword>& members,
                            uword d, int rounds, Random& random) {
  const uword n = samples.n_rows;
  arma::Mat<T> A(n, members.size());
  for (uword k = 0; k < members.size(); ++k)
    std::copy(samples.column(members[k]), samples.column(members[k]) + n, A.colptr(k));
  arma::Mat<T> U = leading_directions(A, d, random);
  Observation<T> x(n);
  LeastSquares<T> fit(n, d);
  for (int round = 0; round < rounds; ++round) {
    bool imputed = false;
    for (uword k = 0; k < members.size(); ++k) {
      x.read(samples.sample(members[k]));
      if (x.full() || fit.solve(U, x) != Solved::yes) continue;
      arma::Col<T> filled(n, arma::fill::zeros);
      kernels::add_times(U.memptr(), n, d, fit.w().memptr(), T(1), filled.memptr());
      for (uword i = 0; i < n; ++i)
        if (!samples.observed(i, members[k])) A(i, k) = filled[i];
      imputed = true;
    }
    if (!imputed) break;
    U = leading_directions(A, d, random);
  }
  return U;
}

/// The `count` largest of m values, smallest first. Few of many are kept, so nearly all are only
/// compared, which takes a fraction of the time of std::nth_element. Pre: 1 <= count <= m.
template <class T>
void keep_largest(const T* values, uword m, uword count, T* kept) {
  constexpr uword at_once = 16;
  std::fill(kept, kept + count, -std::numeric_limits<T>::infinity());
  const auto insert = [&](T value) {
    if (!(value > kept[0])) return;
    uword k = 0;
    for (; k + 1 < count && kept[k + 1] < value; ++k) kept[k] = kept[k + 1];
    kept[k] = value;
  };
  uword j = 0;
  for (; j + at_once <= m; j += at_once) {
    bool any = false;
    for (uword l = 0; l < at_once; ++l) any |= values[j + l] > kept[0];
    if (any) std::for_each(values + j, values + j + at_once, insert);
  }
  std::for_each(values + j, values + m, insert);
}

/// The density around each sample: the mean cosine to its `count` nearest neighbours.
template <class T>
arma::vec densities(const SeedSamples<T>& samples, uword count, const Parallel& parallel) {
  const uword m = samples.n_cols;
  count = std::min(count, m - 1);
  arma::vec density(m, arma::fill::ones);
  if (count == 0) return density;
  // A chunk of samples meets a block of others that stays in the first-level cache.
  constexpr uword chunk = 16, cached = 30'000;
  const uword block = std::clamp<uword>(cached / (samples.n_rows * sizeof(T)) / 4 * 4, 4, 64);
  const auto mean_of_nearest = [&](T* cosines, uword j, T* nearest) {
    cosines[j] = T(-2);
    keep_largest(cosines, m, count, nearest);
    return double(std::accumulate(nearest, nearest + count, T(0))) / double(count);
  };
  parallel.for_all((m + chunk - 1) / chunk, [&] { return std::vector<T>(chunk * m + count); },
                   [&](uword task, std::vector<T>& cosines) {
                     const uword begin = task * chunk, end = std::min(m, begin + chunk);
                     for (uword first = 0; first < m; first += block)
                       for (uword j = begin; j < end; ++j)
                         samples.cosines(j, first, std::min(block, m - first),
                                         cosines.data() + (j - begin) * m + first);
                     for (uword j = begin; j < end; ++j)
                       density[j] = mean_of_nearest(cosines.data() + (j - begin) * m, j,
                                                    cosines.data() + chunk * m);
                   });
  return density;
}

/// The residuals of the samples in each candidate; 1 where they are not determined.
template <class T>
std::vector<arma::Col<T>> residuals_in(const SeedSamples<T>& samples,
                                       const std::vector<arma::Mat<T>>& candidates,
                                       const Parallel& parallel) {
  const SubspaceBank<T> bank(candidates);
  std::vector<arma::Col<T>> r(candidates.size());
  for (auto& column : r) column.set_size(samples.n_cols);  // its pages are touched by the threads
  const double work = double(samples.n_rows) * double(samples.n_cols) * double(bank.work());
  for_all_fitted(bank, samples, parallel.for_work(work),
                 [&](uword j, const auto& scratch, uword s) {
                   const std::vector<T>& r2 = scratch.r2(s);
                   for (uword q = 0; q < r.size(); ++q)
                     r[q][j] = std::isnan(r2[q]) ? T(1) : std::sqrt(r2[q]);
                 });
  return r;
}

struct SeedingOptions {
  std::vector<uword> dimensions;  // d_k of the K subspaces
  uword n_candidates = 0;         // Q, per distinct dimension
  uword n_neighbors = 0;          // samples per candidate, the seed included; 0 = d + 3
};

/// Candidate subspaces, and the distance of each sample to each of them.
template <class T>
struct Candidates {
  std::vector<arma::Mat<T>> bases;
  std::vector<arma::Col<T>> residuals;  // per basis, one entry per sample; see `measure`

  void add(arma::Mat<T> U, arma::Col<T> r) {
    bases.push_back(std::move(U));
    residuals.push_back(std::move(r));
  }

  /// Fits the samples to the candidates that have no residuals yet.
  void measure(const SeedSamples<T>& samples, const Parallel& parallel) {
    const uword known = residuals.size();
    if (known == bases.size()) return;
    const std::vector<arma::Mat<T>> rest(bases.begin() + std::ptrdiff_t(known), bases.end());
    for (auto& r : residuals_in(samples, rest, parallel)) residuals.push_back(std::move(r));
  }
};

namespace detail {

inline std::vector<uword> distinct(std::vector<uword> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

/// The samples nearest to sample j, itself first.
template <class T>
std::vector<uword> neighbours(const arma::Col<T>& cosines, uword j, uword count) {
  arma::Col<T> closeness = cosines;
  closeness[j] = 2;
  return largest(closeness, count);
}

template <class T>
arma::Col<T> cosines_to(const SeedSamples<T>& samples, uword j, const Parallel& parallel) {
  arma::Col<T> cosines(samples.n_cols);
  constexpr uword chunk = 256;
  parallel.for_work(double(samples.n_rows) * double(samples.n_cols))
      .for_all((samples.n_cols + chunk - 1) / chunk, [] { return 0; },
               [&](uword task, int&) {
                 const uword first = task * chunk;
                 samples.cosines(j, first, std::min(chunk, samples.n_cols - first),
                                 cosines.memptr() + first);
               });
  return cosines;
}

}  // namespace detail

/// The paper's candidates. Probabilistic farthest insertion (Ostrovsky et al. 2006) draws the
/// seeds; each gives the subspace of its zero-filled neighbours. Residuals are not measured yet.
template <class T>
Candidates<T> farthest_candidates(const SeedSamples<T>& samples, const SeedingOptions& options,
                                  Random& random, const Parallel& parallel) {
  const uword m = samples.n_cols, Q = std::min(options.n_candidates, m);
  Candidates<T> candidates;
  arma::vec distance(m, arma::fill::value(4.0));  // squared, to the nearest seed: 4 at most
  for (uword q = 0; q < Q; ++q) {
    const uword seed = random.weighted_index(distance);
    const arma::Col<T> cosines = detail::cosines_to(samples, seed, parallel);
    for (uword j = 0; j < m; ++j) distance[j] = std::min(distance[j], double(2 - 2 * cosines[j]));
    distance[seed] = 0;
    for (const uword d : detail::distinct(options.dimensions)) {
      const uword count = options.n_neighbors > 0 ? options.n_neighbors : d + 3;
      candidates.bases.push_back(
          local_subspace(samples, detail::neighbours(cosines, seed, count), d, 0, random));
    }
  }
  return candidates;
}

/// Candidates where samples lie densely and no candidate is near yet. A seed is drawn with
/// probability density^8 r^2. The subspace of its neighbours, with missing entries imputed, is then
/// fitted again to the 3 d + 3 samples closest to it. Given candidates stay, and new ones avoid
/// them. (Farthest insertion prefers outliers.)
template <class T>
Candidates<T> density_candidates(const SeedSamples<T>& samples, const arma::vec& density,
                                 const SeedingOptions& options, Candidates<T> candidates,
                                 Random& random, const Parallel& parallel) {
  constexpr int rounds = 3;
  const uword m = samples.n_cols;
  const arma::vec dense = arma::pow(arma::clamp(density / density.max(), 0, 1), 8);
  arma::Col<T> residual(m, arma::fill::ones);
  candidates.measure(samples, parallel);
  for (const auto& r : candidates.residuals) residual = arma::min(residual, r);
  const auto fitted = [&](const arma::Mat<T>& U) {
    return residuals_in(samples, {U}, parallel)[0];
  };
  for (uword q = 0; q < options.n_candidates; ++q) {
    const uword seed =
        random.weighted_index(dense % arma::square(arma::conv_to<arma::vec>::from(residual)));
    const arma::Col<T> cosines = detail::cosines_to(samples, seed, parallel);
    for (const uword d : detail::distinct(options.dimensions)) {
      const uword count = options.n_neighbors > 0 ? options.n_neighbors : d + 3;
      arma::Mat<T> U =
          local_subspace(samples, detail::neighbours(cosines, seed, count), d, rounds, random);
      U = local_subspace(samples, largest(arma::Col<T>(-fitted(U)), 3 * d + 3), d, rounds, random);
      const arma::Col<T> r = fitted(U);
      residual = arma::min(residual, r);
      candidates.add(std::move(U), r);
    }
  }
  return candidates;
}

}  // namespace gasg21
