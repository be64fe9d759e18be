// Where the residuals of the inliers end, from the residuals alone. All values are logarithms: a
// tail that is a power law in the residuals is exponential in them.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace gasg21 {

/// The centre of the inliers' values, and the value at which they end.
struct ResidualCut {
  double centre, cut;
};

/// How far the cut lies from the centre, in standard deviations, and how wide a gap must be, in
/// mean deviations.
struct CutRule {
  double deviations, gap;

  /// Few samples leave wider gaps where their features take few values.
  double least_gap(double m) const { return std::max(gap, std::min(1.0, 120 / m)); }
};
/// Where random directions were removed before, almost all values belong to inliers.
inline constexpr CutRule cut_of_cleaned{3.09, 1}, cut_of_all{2.33, 0.5};

namespace detail {

/// How many of the sorted values lie below the lowest gap that separates outliers; all of them if
/// there is none. Outliers are never more than half. In an exponential tail of mean e, gap times
/// number above is about e. Here e is the mean deviation from the median, over values from the
/// lower quartile on; then, for about as many outliers as inliers, from a lower value instead.
inline std::size_t count_below_gap(const std::vector<double>& sorted, double least_gap) {
  constexpr double improbable = 20;
  const std::size_t m = sorted.size();
  if (m < 8) return m;
  for (const double share : {0.5, 0.4}) {
    const auto middle = std::size_t(share * double(m)), from = middle / 2;
    double sum = 0;
    for (std::size_t i = from; i + 1 < m; ++i) {
      sum += std::abs(sorted[i] - sorted[middle]);
      if (2 * (i + 1) < m) continue;
      const double e = sum / double(i - from + 1), gap = sorted[i + 1] - sorted[i];
      if (gap * double(m - 1 - i) > improbable * e && gap > least_gap * e) return i + 1;
    }
  }
  return m;
}

/// The centre plus `deviations` standard deviations of a normal law, from the shortest interval
/// that holds half of the sorted values.
inline double cut_of_shortest_half(const std::vector<double>& sorted, double deviations) {
  const std::size_t half = (sorted.size() + 1) / 2;
  std::size_t best = 0;
  double length = std::numeric_limits<double>::infinity(), sum = 0;
  for (std::size_t i = 0; i + half <= sorted.size(); ++i)
    if (sorted[i + half - 1] - sorted[i] < length) {
      length = sorted[i + half - 1] - sorted[i];
      best = i;
    }
  for (std::size_t i = best; i < best + half; ++i) sum += sorted[i];
  return sum / double(half) + deviations * length / (2 * 0.6745);
}

/// The median of the first `count` sorted values.
inline double sorted_median(const std::vector<double>& sorted, std::size_t count) {
  return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

/// Raises the cut while the upper half of the values below it asks for more.
inline double raised(const std::vector<double>& sorted, double cut, double deviations) {
  for (int i = 0; i < 100; ++i) {
    const auto count =
        std::size_t(std::upper_bound(sorted.begin(), sorted.end(), cut) - sorted.begin());
    if (count < 2) return cut;
    const double middle = sorted_median(sorted, count);
    double squares = 0, above = 0;
    for (std::size_t j = 0; j < count; ++j) {
      if (sorted[j] < middle) continue;
      squares += (sorted[j] - middle) * (sorted[j] - middle);
      ++above;
    }
    const double next = middle + deviations * std::sqrt(squares / above);
    if (!(next > cut)) return cut;
    cut = next;
  }
  return cut;
}

}  // namespace detail

/// Finds centre and cut. `may_split` allows a gap. Pre: values is not empty.
inline ResidualCut find_cut(std::vector<double> values, const CutRule& rule, bool may_split) {
  std::sort(values.begin(), values.end());
  const std::size_t all = values.size();
  const std::size_t below =
      may_split ? detail::count_below_gap(values, rule.least_gap(double(all))) : all;
  const double gap = below < all ? (values[below - 1] + values[below]) / 2
                                 : std::numeric_limits<double>::infinity();
  values.resize(below);
  double cut = detail::cut_of_shortest_half(values, rule.deviations);
  cut = detail::raised(values, cut, rule.deviations);
  return {detail::sorted_median(values, below), std::min(cut, gap)};
}

}  // namespace gasg21
