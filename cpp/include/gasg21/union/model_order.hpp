// How many clusters there are, and of which dimension: from the data alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "gasg21/data/dense_samples.hpp"
#include "gasg21/data/views.hpp"
#include "gasg21/geometry/large_products.hpp"
#include "gasg21/geometry/principal.hpp"
#include "gasg21/geometry/symmetric_eigen.hpp"
#include "gasg21/kernels/plain.hpp"
#include "gasg21/recovery/sampling.hpp"
#include "gasg21/seeding/seeder.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/union/consensus.hpp"
#include "gasg21/union/fit_screening.hpp"
#include "gasg21/union/principal_coordinates.hpp"
#include "gasg21/union/representations.hpp"

namespace gasg21 {

/// The rule that decided about the number of clusters.
enum class SelectionRule { drop, agreement, given };

inline const char* to_string(SelectionRule rule) {
  return rule == SelectionRule::drop        ? "drop"
         : rule == SelectionRule::agreement ? "agreement"
                                            : "given";
}

/// The numbers chosen, and the figures behind them.
struct Selection {
  uword n_clusters = 1;
  std::vector<uword> n_components;  // one per cluster
  // For each dimension tried: the drop of the cost at k over that at k + 1, k = 1, 2, ...
  std::map<uword, std::vector<double>> drop_ratios;
  // For each number of clusters asked: the agreement of the representations, and by how much the
  // last cluster lowers the residuals of its members.
  std::map<uword, double> agreement, gain;
  SelectionRule rule = SelectionRule::drop;

  /// Whether there are clusters inside one subspace whose number the representations do not agree
  /// about: the answer 1 is then none.
  bool is_indistinct() const { return n_clusters == 1 && !agreement.empty(); }
};

namespace detail {

inline constexpr uword most_clusters = 20, most_dimensions = 10;  // that are tried
inline constexpr uword examined_for_order = 3000;                 // samples
inline constexpr double nothing = 1e-6;  // residuals at this level are rounding

/// Whether there are at least so many clusters. What one subspace leaves over has shown that there
/// are two. Merged clusters agree, too, and halved ones gain little.
inline bool is_sure(double agreement, double gain, uword n_clusters) {
  constexpr double sure = 0.95, least_gain = 0.3;
  return agreement >= sure && (gain >= least_gain || n_clusters == 2);
}

/// The remainders of samples in a subspace, at unit length; without samples that lie on it.
inline arma::mat left_over_directions(const arma::mat& X, const arma::mat& U,
                                      const Parallel& parallel) {
  const arma::mat A = unit_columns(X);
  const arma::mat left = A - large_product(U, large_transposed_product(U, A, parallel), parallel);
  std::vector<uword> columns;
  for (uword j = 0; j < left.n_cols; ++j)
    if (kernels::dot(left.colptr(j), left.colptr(j), left.n_rows) > nothing * nothing)
      columns.push_back(j);
  return unit_columns(arma::mat(left.cols(arma::conv_to<arma::uvec>::from(columns))));
}

/// Whether the remainders of complete samples in one subspace point in few directions, as clusters
/// make them do. Noise points everywhere: of m random directions in n dimensions no principal one
/// explains more than a share of about (1 + sqrt(n / m))^2 / n (Marchenko and Pastur 1967).
inline bool is_structured(const arma::mat& X, const arma::mat& U, const Parallel& parallel) {
  constexpr double structured = 1.1;  // times the share that noise could explain
  const arma::mat left = left_over_directions(X, U, parallel);
  const uword d = U.n_cols;
  if (left.n_cols <= 2 * d) return false;
  const double n = double(X.n_rows - d), m = double(left.n_cols), edge = 1 + std::sqrt(n / m);
  const arma::mat G =
      left.n_cols <= left.n_rows ? gram(left, parallel) : outer_gram(left, parallel);
  const arma::vec values = leading_eigen(G, std::min(d, G.n_rows)).values;
  return arma::accu(values) > structured * m * double(d) * edge * edge / n;
}

/// The mean residual of the clusters in whitened coordinates, the same for all numbers of clusters.
inline double left_over(const arma::mat& X, const arma::uvec& labels,
                        const std::vector<uword>& dimensions, const Parallel& parallel) {
  constexpr uword per_dimension = 6;  // coordinates
  const uword wide = per_dimension * dimensions[0];
  const PrincipalCoordinates principal(unit_columns(X), dimensions, wide, parallel);
  return mean_residual(principal.whitened<float>(std::min(wide, principal.rank()), 0.5), labels,
                       dimensions);
}

/// Asks how far different representations agree, and how much is gained, for several numbers of
/// clusters inside one subspace of d dimensions.
class Questions {
 public:
  Questions(const arma::mat& X, uword d, std::uint64_t seed, const ConsensusConstants& constants,
            const Parallel& parallel)
      : X_(X), d_(d), seed_(seed), constants_(constants), parallel_(parallel) {}

  /// Asks about no number if there are no clusters in the subspace.
  void ask(Selection& selection) {
    constexpr uword asked = 4, asked_at_most = 9;  // more than four only while they are sure
    const Screening one = fit_screening(X_, {d_}, seed_, parallel_);
    const arma::mat own = inside(X_, one, parallel_);
    if (own.empty() || !is_structured(own, one.overall.basis, parallel_)) return;
    before_ = left_over(own, arma::uvec(own.n_cols, arma::fill::zeros), {d_}, parallel_);
    bool was_sure = true;
    for (uword K = 2; K < 2 + asked_at_most && ask_about(K, selection); ++K) {
      const bool sure = is_sure(selection.agreement[K], selection.gain[K], K);
      if (K > asked && !sure && !was_sure) return;
      was_sure = sure;
    }
  }

 private:
  /// Returns false if there are too few coordinates or samples for K clusters.
  bool ask_about(uword K, Selection& selection) {
    constexpr uword samples_per_dimension = 4;
    const std::vector<uword> dimensions(K, d_);
    if (!Screening::applies(dimensions, X_.n_rows)) return false;
    const arma::mat complete =
        inside(X_, fit_screening(X_, dimensions, seed_, parallel_), parallel_);
    if (complete.n_cols < samples_per_dimension * d_ * K) return false;
    const auto consensus =
        find_consensus(rotated(complete), dimensions, seed_, parallel_, constants_);
    if (!consensus) return false;
    const double now = left_over(complete, consensus->labels, dimensions, parallel_);
    selection.agreement[K] = consensus->agreement;
    // Two of K clusters were one before.
    selection.gain[K] =
        (1 - now / std::max(before_, std::numeric_limits<double>::min())) * double(K) / 2;
    before_ = now;
    return true;
  }

  const arma::mat& X_;
  uword d_;
  std::uint64_t seed_;
  const ConsensusConstants& constants_;
  const Parallel& parallel_;
  double before_ = 0;  // left over by one cluster fewer
};

/// The largest number of clusters that is sure; else the one with the best agreement, if that is
/// good enough.
inline std::optional<uword> number_by_agreement(const Selection& selection) {
  constexpr double least = 0.8;
  std::optional<uword> sure, best;
  for (const auto& [K, agreement] : selection.agreement) {
    if (is_sure(agreement, selection.gain.at(K), K)) sure = K;
    if (agreement >= least && (!best || agreement > selection.agreement.at(*best))) best = K;
  }
  return sure ? sure : best;
}

/// The smallest dimension whose ratio is about the largest: larger subspaces hold the clusters,
/// too.
inline uword smallest_of_the_best(const std::map<uword, double>& ratios) {
  double largest = 0;
  for (const auto& [d, ratio] : ratios) largest = std::max(largest, ratio);
  for (const auto& [d, ratio] : ratios)
    if (ratio >= 0.5 * largest) return d;
  return ratios.begin()->first;
}

}  // namespace detail

/// By how much each of the best 1, 2, ... candidates of dimension d lowers the cost, relative to
/// the next. The cost is the sum of distances to the nearest candidate, selected greedily. It falls
/// much with every cluster that is found, and little afterwards: the ratio of one drop to the next
/// is largest at the number of clusters.
template <class T, class Data>
std::vector<double> drop_ratios(const Data& data, uword d, std::uint64_t seed,
                                const Parallel& parallel = Parallel()) {
  constexpr uword candidates = 3;      // per cluster that is tried
  constexpr double least_drop = 0.01;  // drops below this share of the largest are alike
  Seeder<T> seeder(data, detail::examined_for_order, seed);
  const uword m = seeder.n_samples();
  const uword most = std::min(detail::most_clusters, std::max<uword>(2, m / (d + 1)));
  const std::vector<uword> dimensions(most, d);
  seeder.make_candidates(Seeding::density, {dimensions, candidates * most, 0}, parallel);
  std::vector<double> drops;
  arma::Col<T> nearest(m, arma::fill::ones);
  double cost = double(m), largest = 0;
  for (const uword q : seeder.select(dimensions, 0, parallel)) {
    nearest = arma::min(nearest, seeder.distances({seeder.candidates()[q]}, parallel));
    const double now = arma::accu(arma::conv_to<arma::vec>::from(nearest));
    drops.push_back(std::max(cost - now, 0.0));
    largest = std::max(largest, drops.back());
    cost = now;
  }
  const double floor = least_drop * largest + detail::nothing * double(m);
  std::vector<double> ratios;
  for (uword k = 0; k + 1 < drops.size(); ++k)
    ratios.push_back((drops[k] + floor) / (drops[k + 1] + floor));
  return ratios;
}

/// Chooses the number of clusters of a given dimension.
template <class T, class Data>
Selection choose_n_clusters(const Data& data, uword d, std::uint64_t seed,
                            const Parallel& parallel = Parallel(),
                            const ConsensusConstants& constants = {}) {
  Selection chosen;
  const std::vector<double> ratios = drop_ratios<T>(data, d, seed, parallel);
  chosen.n_clusters = 1 + uword(std::max_element(ratios.begin(), ratios.end()) - ratios.begin());
  if (chosen.n_clusters == 1) {  // one subspace holds nearly all samples: are there clusters in it?
    const auto columns = random_columns(data.n_cols, detail::examined_for_order, seed);
    const arma::mat X = dense_samples(data, columns);
    detail::Questions(X, d, seed, constants, parallel).ask(chosen);
    if (const auto number = detail::number_by_agreement(chosen)) {
      chosen.n_clusters = *number;
      chosen.rule = SelectionRule::agreement;
    }
  }
  chosen.n_components = std::vector<uword>(chosen.n_clusters, d);
  chosen.drop_ratios[d] = ratios;
  return chosen;
}

/// Chooses the dimension, one for all clusters, and the number of clusters unless it is given.
template <class T, class Data>
Selection choose_order(const Data& data, std::optional<uword> n_clusters, std::uint64_t seed,
                       const Parallel& parallel = Parallel(),
                       const ConsensusConstants& constants = {}) {
  std::map<uword, std::vector<double>> ratios;
  std::map<uword, double> at_number;  // the given one, or the best
  for (uword d = 1; d <= std::min(detail::most_dimensions, data.n_rows - 1); ++d) {
    const auto& found = ratios[d] = drop_ratios<T>(data, d, seed, parallel);
    at_number[d] = n_clusters ? found[std::min<uword>(*n_clusters, found.size()) - 1]
                              : *std::max_element(found.begin(), found.end());
  }
  const uword d = detail::smallest_of_the_best(at_number);
  Selection chosen;
  if (n_clusters) {
    chosen.n_clusters = *n_clusters;
    chosen.n_components = std::vector<uword>(*n_clusters, d);
    chosen.rule = SelectionRule::given;
  } else {
    chosen = choose_n_clusters<T>(data, d, seed, parallel, constants);
  }
  chosen.drop_ratios = std::move(ratios);
  return chosen;
}

}  // namespace gasg21
