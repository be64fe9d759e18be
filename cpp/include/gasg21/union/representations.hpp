// Representations: labels and affinities of the same samples in different coordinates. Each
// clusters by itself. Streams in square-root whitened coordinates separate motions and digits;
// shape interaction separates faces.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "gasg21/data/views.hpp"
#include "gasg21/geometry/lanczos.hpp"
#include "gasg21/geometry/large_products.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/union/co_association.hpp"
#include "gasg21/union/matching.hpp"
#include "gasg21/union/spectral.hpp"
#include "gasg21/union/voters.hpp"

namespace gasg21 {

struct Representation {
  std::string name;
  Factored affinity;  // its rows have the mean sum 1
  arma::uvec labels;
  double stability = 1;  // mean agreement of its members
  arma::vec costs;       // mean residuals of its clusters, one by each judge
};

/// The clusters to find.
struct ClusterPlan {
  std::vector<uword> dimensions;
  std::uint64_t seed = 0;
};

namespace detail {

inline constexpr uword starts_of_cut = 5;  // of k-means

/// The mean agreement of each pair.
inline double mean_agreement(const std::vector<arma::uvec>& labels) {
  double sum = 0;
  uword pairs = 0;
  for (uword a = 0; a < labels.size(); ++a)
    for (uword b = 0; b < a; ++b, ++pairs) sum += agreement_of(labels[a], labels[b]);
  return pairs > 0 ? sum / double(pairs) : 1;
}

/// The labelling that agrees most with the others.
inline uword medoid_of(const std::vector<arma::uvec>& labels) {
  arma::vec sums(labels.size(), arma::fill::zeros);
  for (uword a = 0; a < labels.size(); ++a)
    for (const auto& other : labels) sums[a] += agreement_of(labels[a], other);
  return sums.index_max();
}

/// Scales the affinity so that its rows have the mean sum 1.
inline void scale_degrees(Factored& affinity) {
  const arma::mat& F = affinity.factor;
  arma::vec total(F.n_rows, arma::fill::zeros);
  double own = 0;
  for (uword j = 0; j < F.n_cols; ++j)
    for (uword i = 0; i < F.n_rows; ++i) {
      total[i] += F(i, j);
      own += F(i, j) * F(i, j);
    }
  const double sum = kernels::dot(total.memptr(), total.memptr(), total.n_elem) - own;
  if (sum > 0) affinity.factor /= std::sqrt(sum / double(F.n_cols));
}

/// One row for each cluster: 1 for its members.
inline arma::mat indicators(const arma::uvec& labels) {
  arma::mat indicator(labels.max() + 1, labels.n_elem, arma::fill::zeros);
  for (uword j = 0; j < labels.n_elem; ++j) indicator(labels[j], j) = 1;
  return indicator;
}

}  // namespace detail

/// Several runs of the paper's stream in one system of coordinates, whose points it borrows.
class StreamVoters {
 public:
  /// Starts the runs and drops the worse half.
  StreamVoters(std::string name, const arma::fmat& points, const ClusterPlan& plan,
               const RaceOptions& race, uword candidates_per_cluster, const Parallel& parallel)
      : name_(std::move(name)),
        points_(points),
        plan_(plan),
        race_(started(points_, plan, race, candidates_per_cluster, parallel)) {}

  /// The labels of the best run, as a representation without affinity.
  Representation look(const Parallel& parallel) {
    const auto residuals = all_residuals(parallel);
    const auto labels = all_labels(residuals);
    return {name_, {}, labels[0], detail::mean_agreement(labels), {}};
  }

  /// The better half of the runs to their end, joined by co-association.
  Representation finish(const Parallel& parallel) {
    race_.finish(points_, parallel);
    const auto residuals = all_residuals(parallel);
    std::vector<double> costs;
    for (const arma::fmat& each : residuals) {
      const std::vector<double> nearest = nearest_residuals(each);
      costs.push_back(std::accumulate(nearest.begin(), nearest.end(), 0.0));
    }
    const std::vector<double> weights = run_weights(costs);
    CoAssociation together;
    for (uword i = 0; i < residuals.size(); ++i) together.add(residuals[i], weights[i]);
    Representation found{
        name_, together.affinity(), {}, detail::mean_agreement(all_labels(residuals)), {}};
    found.labels = spectral_labels(found.affinity, plan_.dimensions.size(), plan_.seed,
                                   detail::starts_of_cut, parallel);
    detail::scale_degrees(found.affinity);
    return found;
  }

 private:
  using Stream = PaperStream<float>;

  static Race<Stream> started(const DenseView<float>& data, const ClusterPlan& plan,
                              const RaceOptions& options, uword candidates_per_cluster,
                              const Parallel& parallel) {
    const uword largest = *std::max_element(plan.dimensions.begin(), plan.dimensions.end());
    const CandidatePool<float> pool(
        data, {plan.dimensions, candidates_per_cluster * plan.dimensions.size(), 2 * largest + 2},
        plan.seed, parallel);
    const std::vector<std::uint64_t> seeds = seeds_of(plan.seed, options.n_runs);
    const auto begin = [&](uword i, SharedStop& stop) {
      UnionRunOptions run;
      run.seed = seeds[i];
      UnionRun<Stream> one(plan.dimensions, AdaptiveStep::paper(), AdaptiveStep::paper(),
                           NoScaling{}, run);
      detail::StopObserver observer{stop};
      one.start(data, pool.select(plan.dimensions, seeds[i]), observer);
      return std::move(one.stream());
    };
    return Race<Stream>(data, options, begin, parallel);
  }

  std::vector<arma::fmat> all_residuals(const Parallel& parallel) {
    std::vector<arma::fmat> residuals;
    for (uword i = 0; i < race_.size(); ++i)
      residuals.push_back(residuals_to(race_.stream(i).bases(), points_, parallel));
    return residuals;
  }
  static std::vector<arma::uvec> all_labels(const std::vector<arma::fmat>& residuals) {
    std::vector<arma::uvec> labels;
    for (const arma::fmat& each : residuals) labels.push_back(arma::index_min(each, 0).t());
    return labels;
  }

  std::string name_;
  DenseView<float> points_;
  ClusterPlan plan_;
  Race<Stream> race_;
};

/// The cut of the shape interaction of unit-length points.
inline arma::uvec cut_cosines(const arma::fmat& points, double exponent, const ClusterPlan& plan,
                              const Parallel& parallel) {
  return spectral_labels(shape_interaction(points, exponent, parallel), plan.dimensions.size(),
                         plan.seed, detail::starts_of_cut, parallel);
}

/// Cuts of the shape interaction with several exponents, joined. If the cuts with the first and the
/// last exponent are the same, so are those between.
inline Representation interaction_representation(std::string name, const arma::fmat& points,
                                                 const ClusterPlan& plan,
                                                 const std::vector<double>& exponents,
                                                 const Parallel& parallel) {
  std::vector<arma::uvec> cuts{cut_cosines(points, exponents.front(), plan, parallel),
                               cut_cosines(points, exponents.back(), plan, parallel)};
  if (agreement_of(cuts[0], cuts[1]) < 1)
    for (uword i = 1; i + 1 < exponents.size(); ++i)
      cuts.push_back(cut_cosines(points, exponents[i], plan, parallel));
  std::vector<arma::mat> parts;
  for (const auto& cut : cuts) parts.push_back(detail::indicators(cut));
  Representation found{std::move(name),
                       stacked(parts),
                       cuts[detail::medoid_of(cuts)],
                       detail::mean_agreement(cuts),
                       {}};
  detail::scale_degrees(found.affinity);
  return found;
}

/// The members of each cluster.
inline std::vector<arma::uvec> members_of(const arma::uvec& labels, uword K) {
  std::vector<arma::uvec> members;
  for (uword k = 0; k < K; ++k) members.push_back(arma::find(labels == k));
  return members;
}

namespace detail {

/// The smaller Gram matrix of some samples, decomposed, and whether its rows are the samples.
template <class T>
struct ClusterSpectrum {
  SymmetricEigen<T> eigen;
  bool by_samples;
};

/// The sum of the residuals of unit-norm samples in the d leading directions of their spectrum.
template <class T>
double residuals_in_axes(const arma::Mat<T>& A, const ClusterSpectrum<T>& spectrum, uword d) {
  d = std::min<uword>(d, spectrum.eigen.values.n_elem);
  arma::Mat<T> inside = spectrum.eigen.vectors.head_cols(d);  // coordinates in the subspace
  if (!spectrum.by_samples) inside = large_transposed_product(inside, A);
  double sum = 0;
  for (uword j = 0; j < A.n_cols; ++j) {
    double squared = 0;
    for (uword c = 0; c < d; ++c) {
      const double x = double(spectrum.by_samples ? inside(j, c) : inside(c, j));
      squared += x * x * (spectrum.by_samples ? double(spectrum.eigen.values[c]) : 1.0);
    }
    sum += std::sqrt(std::max(0.0, 1 - squared));
  }
  return sum;
}

}  // namespace detail

/// The cluster that gets each dimension, by the spectra of their unit-norm members.
template <class T>
arma::uvec match_dimensions(const std::vector<arma::Mat<T>>& members,
                            const std::vector<uword>& dimensions) {
  const bool equal = std::equal(dimensions.begin() + 1, dimensions.end(), dimensions.begin());
  if (equal) return arma::regspace<arma::uvec>(0, dimensions.size() - 1);
  std::vector<arma::vec> spectra;
  for (const auto& A : members) {
    const auto G = A.n_cols <= A.n_rows ? gram(A) : outer_gram(A);
    spectra.push_back(arma::conv_to<arma::vec>::from(symmetric_eigen(G).values));
  }
  return match_dimensions(spectra, dimensions);
}

/// The mean residual of unit-norm samples in the principal subspaces of their clusters. It takes
/// the smaller Gram matrix of each cluster.
inline double mean_residual(const arma::fmat& A, const arma::uvec& labels,
                            const std::vector<uword>& dimensions) {
  std::vector<arma::fmat> members;
  for (const auto& some : members_of(labels, dimensions.size())) members.push_back(A.cols(some));
  const arma::uvec cluster = match_dimensions(members, dimensions);
  LanczosOptions three_digits;
  three_digits.tol = 1e-4;
  double total = 0;
  for (uword k = 0; k < dimensions.size(); ++k) {
    const arma::fmat& own = members[cluster[k]];
    if (own.n_cols <= dimensions[k]) continue;
    const bool by_samples = own.n_cols <= own.n_rows;
    const detail::ClusterSpectrum<float> spectrum{
        leading_eigen(by_samples ? gram(own) : outer_gram(own), dimensions[k], three_digits),
        by_samples};
    total += detail::residuals_in_axes(own, spectrum, dimensions[k]);
  }
  return total / double(A.n_cols);
}

}  // namespace gasg21
