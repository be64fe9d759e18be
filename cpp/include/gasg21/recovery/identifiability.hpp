// Whether the observed entries of the inliers determine the subspace. Error estimates that look at
// one coordinate at a time cannot tell: features in blocks that never meet, or that no inlier
// observes, look as well determined as any other. Looks at a bounded number of samples.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "gasg21/data/views.hpp"
#include "gasg21/polish/sample_fits.hpp"
#include "gasg21/recovery/report.hpp"
#include "gasg21/recovery/self_check.hpp"
#include "gasg21/recovery/tangent_information.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/median.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/support/random.hpp"

namespace gasg21 {

/// All that the data leaves undetermined. Features are named by their index.
struct Identifiability {
  bool few_inliers = false;                // any subspace can be put through d samples
  std::vector<uword> unobserved;           // features that no sample observes
  std::vector<uword> hardly_observed;      // features that too few inliers observe
  std::vector<std::vector<uword>> blocks;  // features that do not hang together
  double information = 1;                  // about the direction that the mask determines least,
                                           // relative to complete samples
  double angle = 0;                        // standard error along that direction, radians

  bool is_determined() const {
    return !few_inliers && unobserved.empty() && hardly_observed.empty() &&
           information >= least_information && angle < lost_angle;
  }
  static constexpr double least_information = 1e-4;
};

namespace detail {

/// Collects inliers of the data, and says what they determine.
template <class T, class Data>
class IdentifiabilityCheck {
 public:
  IdentifiabilityCheck(const arma::Mat<T>& U, const Data& data, const Parallel& parallel)
      : U_(U), data_(data), parallel_(parallel) {}

  Identifiability run(std::uint64_t seed) {
    const uword d = U_.n_cols;
    look_at(std::min(first_samples, data_.n_cols));
    if (inliers_.n_elem <= 2 * d) look_at(data_.n_cols);
    Identifiability found;
    found.few_inliers = inliers_.n_elem <= d + 1;
    if (found.few_inliers || mostly_complete()) return found;
    // Each inlier says N - d things about the (n - d) d unknowns.
    const double each = arma::mean(fits_.count(inliers_)) - double(d);
    const double share = double(inliers_.n_elem) / double(columns_.size());
    const double wanted =
        std::max(says_per_unknown * double(U_.n_rows * d) / std::max(each, 0.5), double(8 * d));
    const auto samples = uword(std::min(wanted / share, double(most_samples)));
    if (columns_.size() < std::min(samples, data_.n_cols)) look_at(samples);
    found = judge(seed, uword(wanted));
    if (found.is_determined()) return found;
    if (columns_.size() < std::min(most_samples, data_.n_cols)) look_at(most_samples);
    return judge(seed, most_samples);  // the doubt may come from too few samples
  }

 private:
  static constexpr uword first_samples = 200, most_samples = 2000;
  static constexpr double says_per_unknown = 6;

  /// Fits about `count` samples and finds the inliers among them.
  void look_at(uword count) {
    columns_ = about(data_, std::max<uword>(count, 1)).columns;
    fit();
  }

  void fit() {
    fits_ = SampleFits<T>(U_.n_cols, columns_.size());
    fit_samples(U_, SubsetView<Data>(data_, columns_), fits_, parallel_);
    const double d = double(U_.n_cols);
    std::vector<double> near;  // less than half the residual of a random direction
    const auto is_near = [&](uword j) {
      return fits_.is_used(j) && 2 * fits_.r2[j] * fits_.count[j] < fits_.count[j] - d;
    };
    for (uword j = 0; j < columns_.size(); ++j)
      if (is_near(j)) near.push_back(fits_.r2[j]);
    const double cut = near.empty() ? 0 : std::max(100 * median(near), 0.0025);
    std::vector<uword> inliers;
    for (uword j = 0; j < columns_.size(); ++j)
      if (is_near(j) && fits_.r2[j] <= cut) inliers.push_back(j);
    inliers_ = arma::uvec(inliers);
  }

  /// Complete samples alone determine the subspace.
  bool mostly_complete() const {
    const arma::uvec complete = arma::find(fits_.count(inliers_) == double(U_.n_rows));
    return complete.n_elem > 2 * U_.n_cols && 2 * complete.n_elem >= inliers_.n_elem;
  }

  /// Judges by about `wanted` of the inliers.
  Identifiability judge(std::uint64_t seed, uword wanted) {
    Identifiability found;
    TangentInformation information = collect(wanted);
    std::vector<uword> poor = information.hardly_observed();
    if (!poor.empty() && columns_.size() < data_.n_cols) {
      look_for(poor);
      information = collect(most_samples);
      poor = information.hardly_observed();
    }
    for (const uword i : poor)
      (is_observed(i) ? found.hardly_observed : found.unobserved).push_back(i);
    if (!poor.empty()) return found;
    const LeastInformed least =
        information.least_informed(seed, [&] { return parallel_.is_stopped(); });
    found.information = least.information;
    // All inliers together know more than those that were asked.
    const double share = double(columns_.size()) / double(data_.n_cols) *
                         double(information.n_samples()) / double(inliers_.n_elem);
    found.angle = std::min(least.angle * std::sqrt(share), arma::datum::pi / 2);
    if (found.information < Identifiability::least_information)
      found.blocks = information.blocks(least.direction);
    return found;
  }

  TangentInformation collect(uword wanted) const {
    TangentInformation information(arma::conv_to<arma::mat>::from(U_), scatter());
    const uword step = std::max<uword>(1, inliers_.n_elem / std::max<uword>(wanted, 1));
    for (uword k = 0; k < inliers_.n_elem; k += step) {
      const uword j = inliers_[k];
      information.add(observed_rows<T>(data_.sample(columns_[j]), U_.n_rows),
                      arma::conv_to<arma::vec>::from(fits_.W.col(j)), fits_.r2[j]);
    }
    return information;
  }

  /// Mean of w w' over the inliers.
  arma::mat scatter() const {
    arma::vec chosen(columns_.size(), arma::fill::zeros);
    chosen(inliers_).fill(1.0 / double(inliers_.n_elem));
    return weighted_gram(fits_.W, chosen);
  }

  /// Adds further samples that observe features which the samples so far hardly observe.
  void look_for(const std::vector<uword>& features) {
    const uword d = U_.n_cols, enough = 4 * d + 4, most = columns_.size() + most_samples;
    std::vector<bool> taken(data_.n_cols, false);
    for (const uword j : columns_) taken[j] = true;
    std::vector<uword> wanted(features.size(), enough);
    for (uword j = 0; j < data_.n_cols && columns_.size() < most; ++j) {
      if (taken[j]) continue;
      bool take = false;
      const auto sample = data_.sample(j);
      for (uword k = 0; k < features.size(); ++k) {
        if (wanted[k] == 0 || !observes(sample, features[k])) continue;
        --wanted[k];
        take = true;
      }
      if (take) columns_.push_back(j);
    }
    std::sort(columns_.begin(), columns_.end());
    fit();
  }

  template <class Sample>
  static bool observes(const Sample& sample, uword feature) {
    bool seen = false;
    each_entry(sample, feature, feature + 1, [&](uword, T, bool observed) { seen |= observed; });
    return seen;
  }

  bool is_observed(uword feature) const {
    for (uword j = 0; j < data_.n_cols; ++j)
      if (observes(data_.sample(j), feature)) return true;
    return false;
  }

  const arma::Mat<T>& U_;
  const Data& data_;
  const Parallel& parallel_;
  std::vector<uword> columns_;  // of the data: samples that were looked at
  SampleFits<T> fits_{0, 0};    // of these
  arma::uvec inliers_;          // positions among these
};

}  // namespace detail

/// Finds all that the observed entries of the inliers leave undetermined about the subspace U. The
/// data is any view. Throws Stopped if it is stopped.
template <class T, class Data>
Identifiability check_identifiability(const arma::Mat<T>& U, const Data& data, std::uint64_t seed,
                                      const Parallel& parallel = Parallel()) {
  return detail::IdentifiabilityCheck<T, Data>(U, data, parallel).run(seed);
}

}  // namespace gasg21
