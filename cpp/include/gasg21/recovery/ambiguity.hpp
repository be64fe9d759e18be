// Whether another subspace explains the data as well as the one that was found: structured
// outliers, such as a cluster or a second subspace, make a second answer. Looks at some hundred
// samples.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "gasg21/data/views.hpp"
#include "gasg21/geometry/grassmann.hpp"
#include "gasg21/geometry/jacobi_svd.hpp"
#include "gasg21/geometry/products.hpp"
#include "gasg21/polish/polisher.hpp"
#include "gasg21/polish/sample_fits.hpp"
#include "gasg21/recovery/common_directions.hpp"
#include "gasg21/seeding/spherical_pca.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/support/random.hpp"

namespace gasg21 {

/// Another subspace of the same dimension beside the one that was found. Shares are of the samples.
struct OtherAnswer {
  double nearer = 0;   // come several times nearer to the other subspace
  double farther = 0;  // are several times nearer to the subspace that was found
  double angle = 0;    // largest angle between both
  bool bent = false;   // the half of the samples nearest to the found subspace lies on the other

  /// It explains about as many samples. Residuals that fall steadily with the dimension, as in most
  /// real data, never bring so many samples so much nearer.
  bool is_as_good() const {
    return bent || (nearer > least_nearer && nearer >= 0.7 * farther && angle > 0.3);
  }
  static constexpr double least_nearer = 0.2;
};

namespace detail {

/// Looks for another answer, from three starts.
template <class T, class Data>
class AnswerSearch {
 public:
  AnswerSearch(const arma::Mat<T>& U, const Data& data, const Parallel& parallel)
      : U_(U), data_(data), parallel_(parallel) {
    const uword d = U.n_cols;
    look_at(std::max(std::clamp(data.n_cols / 4, fewest, most), 20 * d));
    if (columns_.size() < needed()) look_at(std::min<uword>(2 * needed(), most_if_sparse));
  }

  OtherAnswer run(double estimated_angle, std::uint64_t seed) {
    if (columns_.size() < 8 * (U_.n_cols + 1)) return {};
    if (3 * entries_ < 4 * double(U_.n_cols * columns_.size())) return bent_answer(estimated_angle);
    if (columns_.size() < needed()) return {};
    Random random(seed);
    if (!may_exist(random)) return {};
    OtherAnswer answer = near_answer();
    if (!answer.is_as_good()) answer = far_answer(random);
    if (!answer.is_as_good()) answer = answer_in_more_dimensions(random);
    return answer.is_as_good() ? answer : OtherAnswer{};
  }

 private:
  // About how many samples are compared, and how many passes another answer is given.
  static constexpr uword fewest = 150, most = 250, most_if_sparse = 2000;
  static constexpr int passes = 6;
  // The start from far samples takes so many of them per dimension.
  static constexpr uword started_from = 8;
  // How many times nearer counts, and how many times nearer looks promising.
  static constexpr double much = 3, slightly = 1.3;
  static constexpr double least_share = OtherAnswer::least_nearer, settled = 1e-2, bent_angle = 0.1;
  static constexpr int concentrations = 3;
  // Smaller residuals are rounding error.
  static constexpr double rounding = sizeof(T) == 8 ? 1e-7 : 1e-4;

  /// Fits about `count` samples and keeps those that U can fit.
  void look_at(uword count) {
    const SubsetView<Data> samples = about(data_, count);
    SampleFits<T> fits(U_.n_cols, samples.n_cols);
    fit_samples(U_, samples, fits, parallel_);
    columns_.clear();
    r_.clear();
    entries_ = 0;
    for (uword j = 0; j < samples.n_cols; ++j) {
      if (!fits.is_used(j)) continue;
      columns_.push_back(samples.columns[j]);
      r_.push_back(std::sqrt(fits.r2[j]));
      entries_ += fits.count[j];
    }
  }

  /// A subspace can be put through few samples, whatever they are: each half of the samples must
  /// say several times more than is unknown.
  uword needed() const {
    const double n = double(U_.n_rows), d = double(U_.n_cols);
    const double each = entries_ / double(std::max<uword>(columns_.size(), 1)) - d;
    return uword(std::max(8 * n * d / std::max(each, 0.5), 8 * (d + 1)));
  }

  /// Whether there may be another answer: what a sample near it lacks to the subspace that was
  /// found lies in the directions of the other one.
  bool may_exist(const Random& random) const {
    const CommonDirections wanted{OtherAnswer::least_nearer, 1 - 1 / (much * much)};
    const double observed = entries_ / double(columns_.size() * U_.n_rows);
    return may_have_common(wanted, U_, view(all()), observed, much * rounding, random);
  }

  /// The samples that the subspace explains best may lie on another one, that fits them better:
  /// then the outliers have bent it.
  OtherAnswer near_answer() const {
    arma::Mat<T> V = U_;
    return refine(V, part_of(r_, 0, 0.5)) ? compare(V) : OtherAnswer{};
  }

  /// If the subspace has more than three quarters of the dimensions, Tyler's weights hardly tell
  /// outliers from inliers, and outliers bend it without a word. Then the nearest samples alone
  /// lead elsewhere, by about the angle to the truth.
  OtherAnswer bent_answer(double estimated_angle) const {
    arma::Mat<T> V = U_;
    std::vector<double> r = r_;
    for (int time = 0; time < concentrations; ++time) {
      if (!refine(V, part_of(r, 0, 0.5), false)) return {};
      SampleFits<T> fits(V.n_cols, columns_.size());
      fit_samples(V, view(all()), fits, parallel_);
      r = fits.residuals();
    }
    OtherAnswer answer = compare(V);
    answer.bent = answer.angle > std::max(bent_angle, 2 * estimated_angle);
    return answer.bent ? answer : OtherAnswer{};
  }

  /// The samples that the subspace explains worst may be the inliers of another.
  OtherAnswer far_answer(Random& random) const {
    const std::vector<uword> far = part_of(r_, 0.5, 1);
    const uword count = std::min<uword>(far.size(), started_from * (U_.n_cols + 1));
    if (count == 0) return {};
    const std::vector<uword> first(far.begin(), far.begin() + std::ptrdiff_t(count));
    arma::Mat<T> V = spherical_pca_basis<T>(view(first), U_.n_cols, random);
    return refine(V, far) ? compare(V) : OtherAnswer{};
  }

  /// A cluster may have taken the place of a direction. In one more dimension the inliers are
  /// nearer than the cluster, and what they span is another answer.
  OtherAnswer answer_in_more_dimensions(Random& random) const {
    const uword d = U_.n_cols;
    if (d + 2 > U_.n_rows) return {};
    arma::Mat<T> more = arma::join_rows(U_, leading_residual(random));
    if (!orthonormalize(more) || !refine(more, all())) return {};
    SampleFits<T> fits(d + 1, columns_.size());
    fit_samples(more, view(all()), fits, parallel_);
    // Not half of them, since a cluster of half the samples has to stay outside.
    const std::vector<uword> near = part_of(fits.residuals(), 0, 0.4);
    arma::Mat<T> V = leading(more, fits, near);
    return refine(V, near) ? compare(V) : OtherAnswer{};
  }

  std::vector<uword> all() const {
    std::vector<uword> part(columns_.size());
    for (uword k = 0; k < part.size(); ++k) part[k] = k;
    return part;
  }

  SubsetView<Data> view(const std::vector<uword>& part) const {
    std::vector<uword> columns;
    for (const uword k : part) columns.push_back(columns_[k]);
    return {data_, std::move(columns)};
  }

  /// The samples whose residuals lie between two quantiles.
  static std::vector<uword> part_of(const std::vector<double>& r, double from, double to) {
    std::vector<uword> order;
    for (uword k = 0; k < r.size(); ++k)
      if (r[k] == r[k]) order.push_back(k);
    std::stable_sort(order.begin(), order.end(), [&](uword a, uword b) { return r[a] < r[b]; });
    const auto at = [&](double share) {
      return order.begin() + std::ptrdiff_t(share * double(order.size()));
    };
    std::vector<uword> part(at(from), at(to));
    std::sort(part.begin(), part.end());
    return part;
  }

  /// Polishes V on a part of the samples, as long as it looks promising. Returns whether it does.
  bool refine(arma::Mat<T>& V, const std::vector<uword>& part, bool must_promise = true) const {
    const SubsetView<Data> samples = view(part);
    Polisher<T> polisher(V, part.size());
    try {
      for (int pass = 0; pass < passes; ++pass) {
        polisher.fit(samples, parallel_);
        const uword used = arma::uvec(arma::find(polisher.fits().count > 0)).n_elem;
        if (used < 2 * V.n_cols + 2) return false;
        if (must_promise && pass > 0 && !is_promising(polisher.fits(), part)) return false;
        polisher.weigh([&] { return parallel_.is_stopped(); });
        polisher.add(samples, parallel_);
        const double moved = polisher.update(parallel_);
        V = polisher.basis();
        if (moved < settled) break;
      }
    } catch (const NumericalError&) {
      return false;
    }
    return true;
  }

  bool is_promising(const SampleFits<T>& fits, const std::vector<uword>& part) const {
    uword nearer = 0;
    for (uword k = 0; k < part.size(); ++k)
      nearer += fits.is_used(k) && slightly * std::sqrt(fits.r2[k]) + rounding < r_[part[k]];
    return double(nearer) > least_share * double(columns_.size());
  }

  OtherAnswer compare(const arma::Mat<T>& V) const {
    const uword count = columns_.size();
    SampleFits<T> fits(V.n_cols, count);
    fit_samples(V, view(all()), fits, parallel_);
    OtherAnswer answer;
    for (uword k = 0; k < count; ++k) {
      const double other = fits.is_used(k) ? std::sqrt(fits.r2[k]) : 1;
      answer.nearer += much * (other + rounding) < r_[k];
      answer.farther += much * (r_[k] + rounding) < other;
    }
    answer.nearer /= double(count);
    answer.farther /= double(count);
    answer.angle = largest_angle(U_, V);
    return answer;
  }

  /// The leading direction of the residuals of the samples that U explains worst.
  arma::Mat<T> leading_residual(Random& random) const {
    const SubsetView<Data> far = view(part_of(r_, 0.5, 1));
    SampleFits<T> fits(U_.n_cols, far.n_cols);
    fit_samples(U_, far, fits, parallel_);
    arma::Mat<T> residuals(U_.n_rows, far.n_cols, arma::fill::zeros);
    const arma::Mat<T> fitted = product(U_, fits.W);
    for (uword j = 0; j < far.n_cols; ++j)
      each_entry(far.sample(j), 0, U_.n_rows, [&](uword i, T value, bool observed) {
        if (observed) residuals(i, j) = (value * fits.up[j]) * fits.down[j] - fitted(i, j);
      });
    return spherical_pca_basis<T>(DenseView<T>(residuals), 1, random);
  }

  /// The directions of `more` in which a part of the samples varies, without the weakest.
  arma::Mat<T> leading(const arma::Mat<T>& more, const SampleFits<T>& fits,
                       const std::vector<uword>& part) const {
    arma::vec chosen(fits.count.n_elem, arma::fill::zeros);
    for (const uword k : part) chosen[k] = fits.is_used(k);
    const arma::mat V = thin_svd(weighted_gram(fits.W, chosen)).V;
    return product(more, arma::conv_to<arma::Mat<T>>::from(V.head_cols(U_.n_cols)));
  }

  const arma::Mat<T>& U_;
  const Data& data_;
  const Parallel& parallel_;
  std::vector<uword> columns_;  // of the data: samples that U can fit
  std::vector<double> r_;       // their residuals
  double entries_ = 0;          // how many entries they observe
};

}  // namespace detail

/// The best other answer that was found, if any. The data is any view. Throws Stopped if it is
/// stopped.
template <class T, class Data>
OtherAnswer find_other_answer(const arma::Mat<T>& U, const Data& data, double estimated_angle,
                              std::uint64_t seed, const Parallel& parallel = Parallel()) {
  return detail::AnswerSearch<T, Data>(U, data, parallel).run(estimated_angle, seed);
}

}  // namespace gasg21
