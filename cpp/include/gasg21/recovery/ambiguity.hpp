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
#include "gasg21/seeding/spherical_pca.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/median.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/support/random.hpp"

namespace gasg21 {

/// Another subspace of the same dimension beside the one that was found. Shares are of the samples.
struct OtherAnswer {
  double nearer = 0;   // come several times nearer to the other subspace
  double farther = 0;  // are several times nearer to the subspace that was found
  double angle = 0;    // largest angle between both

  /// It explains about as many samples. Residuals that fall steadily with the dimension, as in most
  /// real data, never bring so many samples so much nearer.
  bool is_as_good() const { return nearer > 0.2 && nearer >= 0.7 * farther && angle > 0.3; }
};

namespace detail {

/// Looks for another answer, from two starts.
template <class T, class Data>
class AnswerSearch {
 public:
  AnswerSearch(const arma::Mat<T>& U, const Data& data, const Parallel& parallel)
      : U_(U), data_(data), parallel_(parallel) {
    const uword d = U.n_cols;
    const SubsetView<Data> samples =
        about(data, std::max(std::clamp(data.n_cols / 4, fewest, most), 20 * d));
    SampleFits<T> fits(d, samples.n_cols);
    fit_samples(U, samples, fits, parallel);
    for (uword j = 0; j < samples.n_cols; ++j) {
      if (!fits.is_used(j)) continue;
      columns_.push_back(samples.columns[j]);
      r_.push_back(std::sqrt(fits.r2[j]));
    }
  }

  OtherAnswer run(std::uint64_t seed) {
    const uword d = U_.n_cols;
    if (columns_.size() < 8 * (d + 1)) return {};
    // The samples that the found subspace explains worst may be the inliers of another.
    const std::vector<uword> far = half(r_, true);
    Random random(seed);
    std::vector<uword> first(
        far.begin(), far.begin() + std::ptrdiff_t(std::min<uword>(far.size(), 20 * (d + 1))));
    arma::Mat<T> V = spherical_pca_basis<T>(view(first), d, random);
    const bool refined = refine(V, far);
    OtherAnswer answer = refined ? compare(V) : OtherAnswer{};
    if (answer.is_as_good() || d + 2 > U_.n_rows) return answer;
    // A cluster that took the place of one direction: one more dimension tells it from the inliers.
    arma::Mat<T> more = with_direction_of(V);
    std::vector<uword> all(columns_.size());
    for (uword k = 0; k < all.size(); ++k) all[k] = k;
    if (more.empty() || !refine(more, all)) return answer;
    SampleFits<T> fits(d + 1, columns_.size());
    fit_samples(more, view(all), fits, parallel_);
    const std::vector<uword> near = half(fits.residuals(), false);
    V = leading(more, fits, near);
    return refine(V, near) ? compare(V) : answer;
  }

 private:
  // About how many samples are compared, and how many passes another answer is given.
  static constexpr uword fewest = 150, most = 250;
  static constexpr int passes = 6;
  // How many times nearer counts, and how many times nearer looks promising.
  static constexpr double much = 3, slightly = 1.3;
  static constexpr double least_share = 0.2, settled = 1e-2;
  // Smaller residuals are rounding error.
  static constexpr double rounding = sizeof(T) == 8 ? 1e-7 : 1e-4;

  SubsetView<Data> view(const std::vector<uword>& part) const {
    std::vector<uword> columns;
    for (const uword k : part) columns.push_back(columns_[k]);
    return {data_, std::move(columns)};
  }

  /// The half of the samples with the larger or the smaller residuals.
  static std::vector<uword> half(const std::vector<double>& r, bool larger) {
    const double middle = median(r);
    std::vector<uword> part;
    for (uword k = 0; k < r.size(); ++k)
      if (larger ? r[k] > middle : r[k] <= middle) part.push_back(k);
    return part;
  }

  /// Polishes V on a part of the samples, as long as it looks promising.
  bool refine(arma::Mat<T>& V, const std::vector<uword>& part) const {
    if (part.size() < 2 * V.n_cols + 2) return false;
    const SubsetView<Data> samples = view(part);
    try {
      Polisher<T> polisher(V, part.size());
      for (int pass = 0; pass < passes; ++pass) {
        polisher.fit(samples, parallel_);
        if (pass > 0 && !is_promising(polisher.fits(), part)) return false;
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
    std::vector<uword> all(columns_.size());
    for (uword k = 0; k < all.size(); ++k) all[k] = k;
    SampleFits<T> fits(V.n_cols, all.size());
    fit_samples(V, view(all), fits, parallel_);
    OtherAnswer answer;
    for (uword k = 0; k < all.size(); ++k) {
      const double other = fits.is_used(k) ? std::sqrt(fits.r2[k]) : 1;
      answer.nearer += much * (other + rounding) < r_[k];
      answer.farther += much * (r_[k] + rounding) < other;
    }
    answer.nearer /= double(all.size());
    answer.farther /= double(all.size());
    answer.angle = largest_angle(U_, V);
    return answer;
  }

  /// U and the direction of V that is farthest from it; empty if V is U.
  arma::Mat<T> with_direction_of(const arma::Mat<T>& V) const {
    const ThinSvd<T> off = thin_svd<T>(V - product(U_, transposed_product(U_, V)));
    if (!(double(off.s[0]) > 1e-3)) return {};
    arma::Mat<T> more = arma::join_rows(U_, off.P.col(0));
    return orthonormalize(more) ? more : arma::Mat<T>();
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
};

}  // namespace detail

/// The best other answer that was found, if any. The data is any view. Throws Stopped if it is
/// stopped.
template <class T, class Data>
OtherAnswer find_other_answer(const arma::Mat<T>& U, const Data& data, std::uint64_t seed,
                              const Parallel& parallel = Parallel()) {
  return detail::AnswerSearch<T, Data>(U, data, parallel).run(seed);
}

}  // namespace gasg21
