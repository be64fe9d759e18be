// Whether to believe a fit: some entries are held out, and the fit must predict them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <variant>
#include <vector>

#include "gasg21/data/held_out.hpp"
#include "gasg21/data/views.hpp"
#include "gasg21/fit/projector.hpp"
#include "gasg21/geometry/jacobi_svd.hpp"
#include "gasg21/inliers/fitted.hpp"
#include "gasg21/kernels/plain.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/median.hpp"
#include "gasg21/support/random.hpp"

namespace gasg21 {

namespace detail {

// The check looks at this many samples, fewer where they are very long.
inline constexpr uword checked_samples = 300, checked_entries = 4'000'000, fewest_checked = 20;
// The check fails if more than this share of the samples that look like inliers are predicted worse
// than by 0 ...
inline constexpr double bad_share = 0.3;
// ... or if the subspace of sparse data contains more than this share of a single coordinate.
inline constexpr double swallowed_share = 0.5;
// A fit to corrupted entries fails if it predicts no more than this share of all samples well.
inline constexpr double predicted_share = 0.1;

/// A sample as a dense vector with NaN for what is not observed.
template <class T, class Sample>
arma::Col<T> dense_copy(const Sample& sample, uword n) {
  arma::Col<T> values(n);
  values.fill(std::numeric_limits<T>::quiet_NaN());
  each_entry(sample, 0, n, [&](uword i, T value, bool observed) {
    if (observed) values[i] = value;
  });
  return values;
}

/// The observed rows of a sample among the first n.
template <class T, class Sample>
std::vector<uword> observed_rows(const Sample& sample, uword n) {
  std::vector<uword> rows(n + 1);  // written before it is known whether an entry counts
  uword count = 0;
  each_entry(sample, 0, n, [&](uword i, T, bool observed) {
    rows[count] = i;
    count += observed;
  });
  rows.resize(count);
  return rows;
}

template <class T>
uword count_observed(const arma::Col<T>& values) {
  uword count = 0;
  for (const T value : values) count += value == value;
  return count;
}

template <class T, class Sample>
uword count_observed(const Sample& sample, uword n) {
  uword count = 0;
  each_entry(sample, 0, n, [&](uword, T, bool observed) { count += observed; });
  return count;
}
/// The same for a dense sample, where NaN may mark all that is missing: then without branches.
template <class T>
uword count_observed(const DenseSample<T>& sample, uword n) {
  if (sample.mask || sample.hidden || sample.lift)
    return count_observed<T, DenseSample<T>>(sample, n);
  uword count = 0;
  for (uword i = 0; i < n; ++i) count += sample.values[i] == sample.values[i];
  return count;
}
template <class T>
uword count_observed(const AnySample<T>& sample, uword n) {
  return std::visit([&](const auto& each) { return count_observed<T>(each, n); }, sample);
}

/// One sample with held-out entries: its values, and its fit without them.
template <class T>
struct CheckedSample {
  arma::Col<T> values;        // n entries, NaN = missing
  std::vector<uword> hidden;  // held out
  arma::Col<T> w;             // weights without the hidden entries, in the sample's units
  T residual;                 // relative; NaN if it could not be fitted
  uword n_seen;               // entries that were fitted
  T largest;                  // largest absolute entry
};

/// Calls visit(checked) for each sample with held-out entries, in order.
template <class T, class Data, class Fit, class Visit>
void each_checked(const arma::Mat<T>& U, const Data& data, const HeldOut& held_out, Fit fit,
                  Visit&& visit) {
  std::vector<uword> samples;
  for (const auto& [j, hidden] : held_out.rows) samples.push_back(j);
  std::sort(samples.begin(), samples.end());
  Projector<T, Fit> projector(U, std::move(fit));
  for (const uword j : samples) {
    CheckedSample<T> checked{dense_copy<T>(data.sample(j), U.n_rows),
                             held_out.rows.at(j),
                             arma::Col<T>(U.n_cols),
                             T(0),
                             0,
                             T(0)};
    arma::Col<T> seen = checked.values;
    for (const uword i : checked.hidden) seen[i] = std::numeric_limits<T>::quiet_NaN();
    projector.read(DenseSample<T>{seen.memptr()});
    projector.weights(checked.w.memptr());
    checked.residual = projector.residual();
    checked.n_seen = count_observed(seen);
    for (const T v : checked.values)
      if (std::abs(v) > checked.largest) checked.largest = std::abs(v);
    visit(checked);
  }
}

/// U_i w / scale.
template <class T>
T predicted(const arma::Mat<T>& U, const CheckedSample<T>& checked, uword i) {
  T sum = 0;
  for (uword c = 0; c < U.n_cols; ++c) sum += (checked.w[c] / checked.largest) * U(i, c);
  return sum;
}

/// Largest share of one of the first n coordinates that lies in the subspace. The constant of a
/// lift is not among them: it belongs to the subspace.
template <class T>
double coherence(const arma::Mat<T>& U, uword n) {
  return double(arma::sum(arma::square(U.head_rows(n)), 1).max());
}

template <class T>
bool is_sparse(double n_observed, const arma::Mat<T>& U) {
  return n_observed < 10.0 * double(U.n_cols) && 10 * U.n_cols < U.n_rows;
}

}  // namespace detail

/// About how many entries of a sample are observed, counted in some thousand samples.
template <class T, class Data>
double observed_per_sample(const Data& data) {
  if (data.n_cols == 0) return 0;
  const auto some = about(data, 1000);
  double observed = 0;
  for (uword j = 0; j < some.n_cols; ++j)
    observed += double(detail::count_observed<T>(some.sample(j), data.n_rows));
  const double share = observed / (double(some.n_cols) * double(data.n_rows));
  return std::floor(share * double(data.n_cols) * double(data.n_rows)) / double(data.n_cols);
}

/// Chooses a tenth of the observed entries, at least one, of a few hundred random samples, so that
/// more than d + 1 are left of each.
template <class T, class Data>
HeldOut hold_out(const Data& data, uword d, std::uint64_t seed) {
  const uword count = std::min(
      {detail::checked_samples,
       std::max(detail::fewest_checked, detail::checked_entries / data.n_rows), data.n_cols});
  const arma::uvec order = Random(seed ^ 0x5EED).permutation(data.n_cols);
  HeldOut held_out;
  for (const uword j : arma::uvec(arma::sort(order.head(count)))) {
    const auto rows = detail::observed_rows<T>(data.sample(j), data_rows(data));
    const uword n_hidden = std::max<uword>(1, rows.size() / 10);
    if (rows.size() <= n_hidden + d + 1) continue;
    // A generator per sample: what is hidden of one does not depend on the others.
    const arma::uvec drawn =
        Random(seed ^ (0x9e3779b97f4a7c15u * (j + 1))).permutation(rows.size());
    std::vector<uword> hidden;
    for (uword k = 0; k < n_hidden; ++k) hidden.push_back(rows[drawn[k]]);
    std::sort(hidden.begin(), hidden.end());
    held_out.rows.emplace(j, std::move(hidden));
  }
  return held_out;
}

/// Whether the samples that look like inliers are predicted on the entries that were held out.
template <class T, class Data>
bool predicts(const arma::Mat<T>& U, const Data& data, const HeldOut& held_out) {
  if (held_out.rows.empty()) return true;
  const double d = double(U.n_cols);
  uword n_inliers = 0, n_judged = 0, n_wrong = 0;
  std::vector<double> observed;
  detail::each_checked(U, data, held_out, FixedFit<T>(U), [&](const auto& checked) {
    const double n_seen = double(checked.n_seen);
    observed.push_back(n_seen);
    // Squared residual per degree of freedom over the mean square of the sample.
    const double spread =
        double(checked.residual * checked.residual) * n_seen / std::max(n_seen - d, 1.0);
    const bool says_something = arma::any(checked.w != T(0));  // a sample of zeros does not
    if (!(spread < 0.5) || !says_something) return;
    ++n_inliers;
    double wrong = 0, size = 0, largest = 0;
    for (const uword i : checked.hidden) {
      const T truth = checked.values[i] / checked.largest;
      const T miss = truth - detail::predicted(U, checked, i);
      wrong += double(miss * miss);
      size += double(truth * truth);
      largest = std::max(largest, std::abs(double(truth)));
    }
    if (!(largest > 1e-6)) return;  // zero predicts itself
    ++n_judged;
    n_wrong += wrong > size;
  });
  // A subspace can be put through d samples whatever they are.
  if (n_inliers <= U.n_cols || double(n_wrong) > detail::bad_share * double(n_judged)) return false;
  return !(detail::is_sparse(median(observed), U) &&
           detail::coherence(U, data_rows(data)) > detail::swallowed_share);
}

/// For fits to corrupted entries: whether enough samples are predicted well on half of their
/// held-out entries. The other half may be corrupt.
template <class T, class Data, class Loss>
bool predicts_some(const arma::Mat<T>& U, const Data& data, const HeldOut& held_out,
                   const Loss& loss) {
  if (held_out.rows.empty()) return true;
  uword n_judged = 0, n_good = 0;
  detail::each_checked(U, data, held_out, loss.template make_fixed_fit<T>(U),
                       [&](const auto& checked) {
                         if (!(checked.largest > 0)) return;
                         std::vector<T> misses, sizes;
                         for (const uword i : checked.hidden) {
                           const T truth = checked.values[i] / checked.largest;
                           misses.push_back(std::abs(truth - detail::predicted(U, checked, i)));
                           sizes.push_back(std::abs(truth));
                         }
                         const double size = double(median(sizes));
                         n_judged += size > 0;  // zero predicts itself
                         // A NaN among the misses means that the sample could not be fitted.
                         const bool fitted = !(checked.residual != checked.residual);
                         n_good += fitted && double(median(misses)) < 0.5 * size;
                       });
  const double least = double(std::min<uword>(U.n_cols, n_judged / 2));
  return double(n_good) > std::max(detail::predicted_share * double(n_judged), least);
}

/// Whether the polish has taken one of the first n coordinates into the subspace, as it may on very
/// sparse data.
template <class T>
bool has_swallowed_coordinate(const arma::Mat<T>& polished, const arma::Mat<T>& stream, uword n,
                              double n_observed) {
  const double before = detail::coherence(stream, n), after = detail::coherence(polished, n);
  return detail::is_sparse(n_observed, polished) && after > detail::swallowed_share &&
         before <= detail::swallowed_share && after - before > 0.3;
}

/// Whether samples reach every direction of the subspace that they were fitted to: their weights
/// have full rank.
inline bool spans(const Fitted& fits) {
  const uword d = fits.d();
  arma::mat weights(fits.size(), d);
  uword count = 0;
  for (uword j = 0; j < fits.size(); ++j) {
    const double length = std::sqrt(kernels::short_dot(fits.W.colptr(j), fits.W.colptr(j), d));
    if (!tells(fits, j) || !(length > 0)) continue;
    for (uword c = 0; c < d; ++c) weights(count, c) = fits.W(c, j) / length;
    ++count;
  }
  if (count < d) return false;
  const arma::vec s = singular_values(arma::mat(weights.head_rows(count)));
  return s[d - 1] > 1e-6 * s[0];
}

}  // namespace gasg21
