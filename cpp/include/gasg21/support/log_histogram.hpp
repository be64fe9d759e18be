// Counts of numbers between 0 and 1 by their size, in steps of less than one percent. The counts of
// several blocks of data add up, and tell quantiles without the numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"

namespace gasg21 {

class LogHistogram {
 public:
  /// Octaves from 1 down to 2^-60, each divided evenly. The first bin has all that is smaller.
  static constexpr int octaves = 60, per_octave = 128;
  static constexpr uword n_bins = 1 + octaves * per_octave;

  LogHistogram() : counts_(n_bins, arma::fill::zeros) {}
  explicit LogHistogram(arma::uvec counts) : counts_(std::move(counts)) {
    require(counts_.n_elem == n_bins, "a histogram has ", n_bins, " counts, not ", counts_.n_elem);
  }

  /// Counts one number. NaN does not count; what is above 1 counts as 1.
  void add(double x) {
    if (x == x) ++counts_[bin_of(x)];
  }
  LogHistogram& operator+=(const LogHistogram& other) {
    counts_ += other.counts_;
    return *this;
  }

  /// The number below which a share of the numbers lies; NaN if there are none.
  double quantile(double share) const {
    const uword total = arma::accu(counts_);
    if (total == 0) return arma::datum::nan;
    const double wanted = std::clamp(share, 0.0, 1.0) * double(total);
    double below = 0;
    for (uword b = 0; b < n_bins; ++b) {
      const double here = double(counts_[b]);
      if (here > 0 && below + here >= wanted)
        return edge(b) + (edge(b + 1) - edge(b)) * std::max(wanted - below, 0.0) / here;
      below += here;
    }
    return 1;
  }

  const arma::uvec& counts() const { return counts_; }

 private:
  static uword bin_of(double x) {
    int exponent = 0;
    const double mantissa = std::frexp(std::min(x, std::nextafter(1.0, 0.0)), &exponent);
    if (!(x > 0) || exponent <= -octaves) return 0;
    return 1 + uword(exponent + octaves - 1) * per_octave +
           uword((mantissa - 0.5) * 2 * per_octave);
  }
  /// The lower edge of a bin.
  static double edge(uword b) {
    if (b == 0) return 0;
    const uword octave = (b - 1) / per_octave, part = (b - 1) % per_octave;
    return std::ldexp(0.5 + 0.5 * double(part) / per_octave, int(octave) - octaves + 1);
  }

  arma::uvec counts_;
};

}  // namespace gasg21
