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

// The check looks at this many samples, fewer where they are very long, and at so many entries of
// each.
inline constexpr uword checked_samples = 300, checked_entries = 4'000'000, fewest_checked = 20;
inline constexpr uword most_hidden = 50;
// The check fails if more than this share of the samples that look like inliers are predicted worse
// than by 0 ...
inline constexpr double bad_share = 0.3;
// ... or if the subspace of sparse data contains more than this share of a single coordinate.
inline constexpr double swallowed_share = 0.5;
// A fit to corrupted entries fails if it predicts no more than this share of all samples well.
inline constexpr double predicted_share = 0.1;

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

/// How many of the first n rows of a sample are observed.
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

/// One number at random out of each of `parts` equal parts of 0, ..., count - 1.
inline std::vector<uword> one_of_each_part(uword count, uword parts, Random& random) {
  std::vector<uword> drawn(parts);
  for (uword k = 0; k < parts; ++k) {
    const uword from = k * count / parts, to = (k + 1) * count / parts;
    drawn[k] = from + uword(random.index(to - from));
  }
  return drawn;
}

/// One sample with held-out entries, and its fit without them.
template <class T>
struct CheckedSample {
  std::vector<uword> hidden;  // held out
  std::vector<T> truth;       // these entries
  arma::Col<T> w;             // weights without the hidden entries, in the sample's units
  T residual;                 // relative; NaN if it could not be fitted
  uword n_seen;               // entries that were fitted
  T largest;                  // of the absolute hidden entries and weights
};

template <class T, class Sample>
std::vector<T> entries_at(const Sample& sample, const std::vector<uword>& rows) {
  std::vector<T> entries;
  for (const uword i : rows)
    each_entry(sample, i, i + 1, [&](uword, T value, bool) { entries.push_back(value); });
  return entries;
}

/// Calls visit(checked) for each sample with held-out entries, in order.
template <class T, class Data, class Fit, class Visit>
void each_checked(const arma::Mat<T>& U, const Data& data, const HeldOut& held_out, Fit fit,
                  Visit&& visit) {
  std::vector<uword> samples;
  for (const auto& [j, hidden] : held_out.rows) samples.push_back(j);
  std::sort(samples.begin(), samples.end());
  Projector<T, Fit> projector(U, std::move(fit));
  for (const uword j : samples) {
    const std::vector<uword>& hidden = held_out.rows.at(j);
    const auto sample = data.sample(j);
    CheckedSample<T> checked{hidden, entries_at<T>(sample, hidden), arma::Col<T>(U.n_cols), T(0), 0,
                             T(0)};
    projector.read(with_hidden(sample, hidden));
    projector.weights(checked.w.memptr());
    checked.residual = projector.residual();
    checked.n_seen = projector.sample().count();
    const auto enlarge = [&](T v) {
      if (std::abs(v) > checked.largest) checked.largest = std::abs(v);  // not for NaN
    };
    std::for_each(checked.truth.begin(), checked.truth.end(), enlarge);
    std::for_each(checked.w.begin(), checked.w.end(), enlarge);
    visit(checked);
  }
}

/// U_i w / largest.
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

/// About how many entries of a sample are observed, counted in some hundred samples, or in a
/// thousand where they are short.
template <class T, class Data>
double observed_per_sample(const Data& data) {
  if (data.n_cols == 0) return 0;
  constexpr uword enough = 200'000, fewest = 200, most = 1000;
  const auto some = about(data, std::clamp(enough / data.n_rows, fewest, most));
  double observed = 0;
  for (uword j = 0; j < some.n_cols; ++j)
    observed += double(detail::count_observed<T>(some.sample(j), data.n_rows));
  const double share = observed / (double(some.n_cols) * double(data.n_rows));
  return std::floor(share * double(data.n_cols) * double(data.n_rows)) / double(data.n_cols);
}

/// Chooses a tenth of the observed entries, at least one and at most 50, of a few hundred random
/// samples, so that more than d + 1 are left of each.
template <class T, class Data>
HeldOut hold_out(const Data& data, uword d, std::uint64_t seed) {
  const uword count = std::min(
      {detail::checked_samples,
       std::max(detail::fewest_checked, detail::checked_entries / data.n_rows), data.n_cols});
  const arma::uvec order = Random(seed ^ 0x5EED).permutation(data.n_cols);
  HeldOut held_out;
  for (const uword j : arma::uvec(arma::sort(order.head(count)))) {
    const auto sample = data.sample(j);
    const uword n_observed = detail::count_observed<T>(sample, data_rows(data));
    const uword n_hidden = std::clamp<uword>(n_observed / 10, 1, detail::most_hidden);
    if (n_observed <= n_hidden + d + 1) continue;
    // A generator per sample: what is hidden of one does not depend on the others.
    Random random(seed ^ (0x9e3779b97f4a7c15u * (j + 1)));
    std::vector<uword> hidden = detail::one_of_each_part(n_observed, n_hidden, random);
    if (n_observed < data_rows(data)) {
      const std::vector<uword> rows = detail::observed_rows<T>(sample, data_rows(data));
      for (uword& i : hidden) i = rows[i];
    }
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
    for (uword k = 0; k < checked.hidden.size(); ++k) {
      const T truth = checked.truth[k] / checked.largest;
      const T miss = truth - detail::predicted(U, checked, checked.hidden[k]);
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
                         for (uword k = 0; k < checked.hidden.size(); ++k) {
                           const T truth = checked.truth[k] / checked.largest;
                           const T found = detail::predicted(U, checked, checked.hidden[k]);
                           misses.push_back(std::abs(truth - found));
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
  arma::vec weight(fits.size(), arma::fill::zeros);
  uword count = 0;
  for (uword j = 0; j < fits.size(); ++j) {
    const double square = kernels::short_dot(fits.W.colptr(j), fits.W.colptr(j), d);
    const bool can_invert = square >= std::numeric_limits<double>::min();  // 1 / square is finite
    if (!tells(fits, j) || !can_invert) continue;
    weight[j] = 1 / square;
    ++count;
  }
  if (count < d) return false;
  const arma::vec squares = singular_values(weighted_gram(fits.W, weight));
  return squares[d - 1] > 1e-12 * squares[0];
}

}  // namespace gasg21
