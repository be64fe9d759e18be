// k-means: Lloyd's algorithm from several starts of greedy k-means++ (Arthur and Vassilvitskii
// 2007).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gasg21/geometry/large_products.hpp"
#include "gasg21/kernels/plain.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/support/random.hpp"

namespace gasg21 {

namespace detail {

/// One run of k-means on points (p x m).
class KMeansRun {
 public:
  KMeansRun(const arma::mat& points, const arma::rowvec& squares, uword K, std::uint64_t seed)
      : points_(points), squares_(squares), centers_(points.n_rows, K), random_(seed) {}

  void run() {
    start();
    labels.set_size(points_.n_cols);
    labels.fill(centers_.n_cols);
    for (int iteration = 0; iteration < most_iterations && assign(); ++iteration) move();
  }

  arma::uvec labels;
  double cost = 0;  // the sum of the squared distances, less the sum of the squared lengths

 private:
  static constexpr int most_iterations = 300;

  /// Each new center is the best of a few points, drawn by their squared distances from the centers
  /// so far.
  void start() {
    const uword m = points_.n_cols, K = centers_.n_cols;
    const uword n_drawn = 2 + uword(std::log(double(K)));
    arma::mat drawn = points_.col(random_.index(m));
    centers_.col(0) = drawn.col(0);
    arma::rowvec nearest = distances(drawn);
    for (uword k = 1; k < K; ++k) {
      drawn.set_size(points_.n_rows, n_drawn);
      for (uword i = 0; i < n_drawn; ++i) drawn.col(i) = points_.col(weighted(nearest));
      arma::mat left = distances(drawn);
      std::vector<double> sums(n_drawn, 0.0);
      for (uword j = 0; j < m; ++j)
        for (uword i = 0; i < n_drawn; ++i) {
          left(i, j) = std::min(left(i, j), nearest[j]);
          sums[i] += left(i, j);
        }
      const auto best = uword(std::min_element(sums.begin(), sums.end()) - sums.begin());
      centers_.col(k) = drawn.col(best);
      nearest = left.row(best);
    }
  }

  /// An index drawn with probability proportional to its weight; the last one if all are 0.
  uword weighted(const arma::rowvec& weights) {
    const arma::rowvec sums = arma::cumsum(weights);
    const double place = random_.uniform() * sums[sums.n_elem - 1];
    const auto found = uword(std::upper_bound(sums.begin(), sums.end(), place) - sums.begin());
    return std::min<uword>(found, weights.n_elem - 1);
  }

  /// The squared distances of the points from some of them.
  arma::mat distances(const arma::mat& from) const {
    arma::mat result = large_transposed_product(from, points_);
    for (uword i = 0; i < from.n_cols; ++i) {
      const double square = kernels::dot(from.colptr(i), from.colptr(i), from.n_rows);
      for (uword j = 0; j < points_.n_cols; ++j)
        result(i, j) = std::max(square - 2 * result(i, j) + squares_[j], 0.0);
    }
    return result;
  }

  /// Assigns each point to the nearest center. Returns whether a label changed.
  bool assign() {
    const uword K = centers_.n_cols;
    const arma::mat inner = large_transposed_product(centers_, points_);
    arma::vec squares(K);
    for (uword k = 0; k < K; ++k)
      squares[k] = kernels::dot(centers_.colptr(k), centers_.colptr(k), centers_.n_rows);
    bool changed = false;
    cost = 0;
    for (uword j = 0; j < points_.n_cols; ++j) {
      const double* products = inner.colptr(j);
      double least = std::numeric_limits<double>::infinity();
      uword nearest = 0;
      for (uword k = 0; k < K; ++k) {
        const double distance = squares[k] - 2 * products[k];
        nearest = distance < least ? k : nearest;
        least = std::min(distance, least);
      }
      changed |= labels[j] != nearest;
      labels[j] = nearest;
      cost += least;
    }
    return changed;
  }

  /// Moves each center to the mean of its points. One without points stays.
  void move() {
    arma::mat sums(centers_.n_rows, centers_.n_cols, arma::fill::zeros);
    arma::vec counts(centers_.n_cols, arma::fill::zeros);
    for (uword j = 0; j < points_.n_cols; ++j) {
      double* sum = sums.colptr(labels[j]);
      const double* point = points_.colptr(j);
      for (uword i = 0; i < points_.n_rows; ++i) sum[i] += point[i];
      counts[labels[j]] += 1;
    }
    for (uword k = 0; k < centers_.n_cols; ++k)
      if (counts[k] > 0) centers_.col(k) = sums.col(k) / counts[k];
  }

  const arma::mat& points_;
  const arma::rowvec& squares_;
  arma::mat centers_;
  Random random_;
};

/// The number of distinct points, counted up to `most`.
inline uword count_distinct(const arma::mat& points, uword most) {
  std::vector<uword> found;
  const auto same = [&](uword a, uword b) {
    return std::equal(points.colptr(a), points.colptr(a) + points.n_rows, points.colptr(b));
  };
  for (uword j = 0; j < points.n_cols && found.size() < most; ++j)
    if (std::none_of(found.begin(), found.end(), [&](uword i) { return same(i, j); }))
      found.push_back(j);
  return found.size();
}

}  // namespace detail

/// The labels of the best of n_init runs of Lloyd's algorithm on points (p x m). A cluster may stay
/// without points.
inline arma::uvec k_means(const arma::mat& points, uword K, std::uint64_t seed, uword n_init,
                          const Parallel& parallel = Parallel()) {
  require(K > 0 && K <= points.n_cols, "K = ", K, " must be from 1 to the number of points, ",
          points.n_cols);
  require(n_init > 0, "n_init = 0 must be positive");
  const arma::rowvec squares = arma::sum(arma::square(points), 0);
  Random random(seed);
  std::vector<detail::KMeansRun> runs;
  for (uword i = 0; i < n_init; ++i) runs.emplace_back(points, squares, K, random.next());
  const double work = double(points.n_elem) * double(K) * double(n_init);
  parallel.for_work(10 * work).for_all(
      n_init, [] { return 0; }, [&](uword i, int) { runs[i].run(); });
  return std::min_element(runs.begin(), runs.end(),
                          [](const auto& a, const auto& b) { return a.cost < b.cost; })
      ->labels;
}

/// The labels of k-means, numbered without gaps. There may be fewer distinct points than K.
inline arma::uvec cluster_points(const arma::mat& points, uword K, std::uint64_t seed, uword n_init,
                                 const Parallel& parallel = Parallel()) {
  arma::uvec labels = k_means(points, detail::count_distinct(points, K), seed, n_init, parallel);
  std::vector<uword> number(K, 0);
  for (const uword label : labels) number[label] = 1;
  uword next = 0;
  for (uword& each : number) each = each ? next++ : 0;
  for (auto& label : labels) label = number[label];
  return labels;
}

}  // namespace gasg21
