// Two kinds of residuals, by a mixture of two normal laws: small ones of members, and large ones of
// samples that lie on no subspace.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gasg21/support/config.hpp"

namespace gasg21 {

/// The residual above which samples are outliers; infinite if no residuals stand apart.
struct ResidualSplit {
  double cut = std::numeric_limits<double>::infinity();

  bool is_above(double residual) const { return residual > cut; }
};

namespace detail {

/// The mixture of two normal laws, by expectation and maximisation.
class TwoNormals {
 public:
  /// Pre: some values, in [0, 1].
  explicit TwoNormals(const arma::vec& values) : values_(values), upper_(values.n_elem) {
    const double start = quantile(values, 0.8);
    for (uword j = 0; j < values.n_elem; ++j) upper_[j] = values[j] > start;
  }

  /// Returns false if one of the laws has no values left.
  bool fit() {
    for (int step = 0; step < most_steps; ++step) {
      weight_ = arma::mean(upper_);
      if (!(weight_ > tiny && weight_ < 1 - tiny)) return false;
      low_ = law_of(1 - upper_);
      high_ = law_of(upper_);
      if (expect() < settled) break;
    }
    return true;
  }

  /// The upper values stand apart if their mean is far above the others, in deviations of these,
  /// and if they are a minority.
  bool stand_apart() const {
    constexpr double distance = 5.5, most = 0.5;
    const uword count = arma::accu(upper_ > 0.5);
    return count > 0 && double(count) <= most * double(values_.n_elem) &&
           high_.mean - low_.mean >= distance * low_.deviation;
  }

  /// Between the two kinds, and at least so many deviations above the mean of the lower one.
  double cut(double n_deviations) const {
    double above = 1, below = 0;
    for (uword j = 0; j < values_.n_elem; ++j)
      if (upper_[j] > 0.5)
        above = std::min(above, values_[j]);
      else
        below = std::max(below, values_[j]);
    return std::max((above + below) / 2, low_.mean + n_deviations * low_.deviation);
  }

 private:
  static constexpr int most_steps = 200;
  static constexpr double settled = 1e-6, tiny = 1e-9;

  struct Normal {
    double mean = 0, deviation = 1;
  };

  /// Interpolates between the two values next to it.
  static double quantile(const arma::vec& values, double share) {
    const arma::vec sorted = arma::sort(values);
    const double at = share * double(sorted.n_elem - 1);
    const uword below = uword(at), above = std::min(below + 1, sorted.n_elem - 1);
    return sorted[below] + (at - double(below)) * (sorted[above] - sorted[below]);
  }

  Normal law_of(const arma::vec& shares) const {
    const double total = arma::accu(shares), mean = arma::dot(shares, values_) / total;
    const double variance = arma::dot(shares, arma::square(values_ - mean)) / total;
    return {mean, std::sqrt(variance) + tiny};
  }

  /// How much each value belongs to the upper law. Returns the largest change.
  double expect() {
    const double prior = std::log(weight_ / (1 - weight_) * low_.deviation / high_.deviation);
    const auto squared = [](double value, const Normal& law) {
      const double z = (value - law.mean) / law.deviation;
      return z * z;
    };
    double change = 0;
    for (uword j = 0; j < values_.n_elem; ++j) {
      const double x = values_[j];
      const double odds = prior + (squared(x, low_) - squared(x, high_)) / 2;
      double share = 1 / (1 + std::exp(-std::clamp(odds, -500.0, 500.0)));
      if (x <= low_.mean) share = 0;  // a wide upper law must not reach below the lower one
      if (x >= high_.mean) share = 1;
      change = std::max(change, std::abs(share - upper_[j]));
      upper_[j] = share;
    }
    return change;
  }

  const arma::vec& values_;
  arma::vec upper_;
  Normal low_, high_;
  double weight_ = 0;
};

}  // namespace detail

/// Splits residuals in the units of the data, if there are two kinds. The noise of most data has
/// the same size for long and short samples; the residuals of unit samples would be large where a
/// sample is short. The cut is at least `n_deviations` standard deviations above the mean of the
/// smaller kind. Residuals that are not finite do not count.
inline ResidualSplit split_residuals(const arma::vec& residuals, double n_deviations = 0) {
  constexpr uword fewest = 20;
  arma::vec values = residuals.elem(arma::find_finite(residuals));
  if (values.n_elem < fewest || !(values.max() > 0)) return {};
  const double largest = values.max();
  values /= largest;
  detail::TwoNormals laws(values);
  if (!laws.fit() || !laws.stand_apart()) return {};
  return {laws.cut(n_deviations) * largest};
}

}  // namespace gasg21
