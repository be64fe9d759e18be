// The lift of a data set: where to put the centre, and how large to make the constant.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gasg21/data/medians.hpp"
#include "gasg21/data/observation.hpp"
#include "gasg21/data/views.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/median.hpp"

namespace gasg21 {

namespace detail {

// The centre is taken from about this many entries, and from at least and at most so many samples.
inline constexpr double centred_entries = 4e6;
inline constexpr double fewest_centred = 200, most_centred = 20000;

/// Some samples for the centre.
template <class Data>
SubsetView<Data> samples_for_centre(const Data& data) {
  const double wanted =
      centred_entries * double(data.n_cols) / std::max(data.stored_entries(), 1.0);
  return about(data, uword(std::clamp(wanted, fewest_centred, most_centred)));
}

}  // namespace detail

/// The median length of the samples, as if all entries were observed; 0 for no samples.
template <class T, class Data>
T median_length(const Data& data) {
  std::vector<T> lengths;
  Observation<T> x(data.n_rows);
  for (uword j = 0; j < data.n_cols; ++j)
    if (x.read(data.sample(j)) == Usable::yes)
      lengths.push_back(x.scaled(T(std::sqrt(double(data.n_rows) / double(x.count())))));
  return lengths.empty() ? T(0) : median(std::move(lengths));
}

/// How far the centre of the samples is from 0, in units of their typical distance from it; 0 if
/// they are all alike. From some fifty samples: it only says whether an offset dominates.
template <class T, class Data>
double offset_ratio(const Data& data) {
  const auto some = about(data, 50);
  const Lift<T> lift{coordinate_medians<T>(some), T(0)};
  const double spread =
      double(median_length<T>(SubsetView<Data>(lifted(data, lift), some.columns)));
  const double largest = double(arma::abs(lift.centre).max());
  if (!(largest > 0) || !(spread > 0)) return 0;
  // Divided first, so that no square overflows.
  const arma::vec centre = arma::conv_to<arma::vec>::from(lift.centre) / largest;
  return std::sqrt(arma::dot(centre, centre)) * (largest / spread);
}

/// The constant over the typical length of a centred sample. With the scaled metric, values from
/// 0.03 to 0.3 give the same accuracy, and small ones are more robust. The canonical metric needs a
/// well-conditioned lift.
inline double constant_share(bool scaled) { return scaled ? 0.1 : 0.5; }
/// The same for several flats. Parallel ones differ in the constant alone: with 0.1, two of them
/// that are close and noisy lose up to 2 % of their samples, with 0.5 and 1 next to none. With 1,
/// outliers disturb the first run.
inline constexpr double constant_share_of_union = 0.5;

/// The lift of a data set, from some of its samples: about the medians of the coordinates, with a
/// constant that is this share of the typical distance from there. The centre need not lie on the
/// affine subspace; a good one only makes the lifted samples well conditioned.
template <class T, class Data>
Lift<T> choose_lift(const Data& data, double share = constant_share(true)) {
  const auto some = detail::samples_for_centre(data);
  Lift<T> lift{coordinate_medians<T>(some), T(0)};
  const T spread = median_length<T>(SubsetView<Data>(lifted(data, lift), some.columns));
  const T constant = T(share) * spread;
  const bool usable = constant > T(0) && constant <= std::numeric_limits<T>::max();
  lift.constant = usable ? constant : T(1);  // samples that are all alike have no spread
  return lift;
}

}  // namespace gasg21
