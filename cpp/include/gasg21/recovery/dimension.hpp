// How many dimensions the subspace has, when the user does not say.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "gasg21/data/held_out.hpp"
#include "gasg21/data/views.hpp"
#include "gasg21/geometry/jacobi_svd.hpp"
#include "gasg21/geometry/products.hpp"
#include "gasg21/metric.hpp"
#include "gasg21/polish/polisher.hpp"
#include "gasg21/recovery/report.hpp"
#include "gasg21/recovery/self_check.hpp"
#include "gasg21/recovery/stream.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/median.hpp"
#include "gasg21/support/parallel.hpp"
#include "gasg21/tracker.hpp"

namespace gasg21 {

struct DimensionOptions {
  uword n_samples = 1500;   // about how many to look at
  uword stream_passes = 2;  // of each fit
  uword polish_passes = 4;
  uword most = 50;      // dimensions to try
  uword patience = 4;   // dimensions without success before giving up
  double drop = 0.05;   // a dimension counts if it brings this share of the whole drop
  double least = 1e-6;  // smaller residuals are taken as this
  std::uint64_t seed = 0;
  unsigned n_threads = 1;
};

namespace detail {

/// A robust fit with d dimensions; nullopt if no sample can be used.
template <class T, class Data, class Observer>
std::optional<Polisher<T>> robust_fit(const Data& data, uword d, const DimensionOptions& options,
                                      Observer& observer) {
  Tracker<T> tracker(data.n_rows, d, AdaptiveStep(AdaptiveStepOptions::defaults(true, false)),
                     options.seed);
  for (uword pass = 0; pass < options.stream_passes; ++pass)
    if (run(tracker, data, tracker.random().permutation(data.n_cols),
            [&](const StepReport&) { return observer.poll(); }))
      throw Stopped{};
  if (tracker.counters().used() == 0) return std::nullopt;
  Polisher<T> polisher(tracker.basis(), data.n_cols);
  const Parallel parallel(options.n_threads, [&] { return observer.poll(); });
  for (uword pass = 0; pass < options.polish_passes; ++pass) polisher.pass(data, parallel);
  polisher.fit(data, parallel);
  return polisher;
}

/// Mean log residual of a fit with d dimensions, over what a random direction would leave; NaN if
/// no sample can be used.
inline double mean_log_residual(const std::vector<double>& residuals, double observed, uword d,
                                double least) {
  const double dimension = double(d);
  const double random = observed > dimension ? std::sqrt(1 - dimension / observed) : 1.0;
  double sum = 0, count = 0;
  for (const double r : residuals) {
    if (std::isnan(r)) continue;
    sum += std::log(std::clamp(r / random, least, 1.0));
    ++count;
  }
  return sum / count;
}

/// How many dimensions N of n entries carry: half of them; more where little is missing, as long as
/// that raises the noise of a weight, (n - d) / (N - d) for random directions, by a quarter at
/// most.
inline double carried(double N, double n) { return std::max(N / 2, 0.25 * n * N / (1.25 * n - N)); }

/// Entries to hold out of some columns of a data set, by the numbers of these columns in it.
template <class Data>
HeldOut in_all(const HeldOut& held_out, const SubsetView<Data>& some) {
  HeldOut found;
  for (const auto& [j, rows] : held_out.rows) found.rows.emplace(some.columns[j], rows);
  return found;
}

/// The last dimension that brings more than a share of the whole drop; 1 if there is none.
inline uword last_useful(const std::vector<double>& levels, double share) {
  std::vector<double> drops;
  double lowest = levels[0], whole = 0;
  for (std::size_t d = 1; d < levels.size(); ++d) {
    const double next = std::min(lowest, levels[d]);
    drops.push_back(lowest - next);
    whole += lowest - next;
    lowest = next;
  }
  for (std::size_t d = drops.size(); d > 0; --d)
    if (drops[d - 1] > share * whole) return d;
  return 1;
}

}  // namespace detail

/// The last dimension that lowers the mean log residual by more than a twentieth of the whole drop,
/// and whose fit predicts entries that it did not see: more dimensions than the observed entries
/// carry would only follow their noise. Tries 1, 2, ... on some of the samples until several
/// dimensions in a row bring nothing. Throws Stopped if the observer stops it.
template <class T, class Data, class Observer>
uword choose_dimension(const Data& data, const DimensionOptions& options, Observer& observer) {
  require(data.n_rows >= 2, "n_features=", data.n_rows, ": at least 2 are needed for a subspace");
  const auto some = about(data, options.n_samples);
  const double observed = observed_per_sample<T>(data);
  const double n = double(data.n_rows);
  const double most = std::min({n - 1, double(data.n_cols) - 1, observed - 2,
                                detail::carried(observed, n), double(options.most)});
  std::vector<double> levels{0.0};      // mean log residual without a subspace
  std::vector<bool> predicting{false};  // whether the fit passes the self-check
  uword best = 1;
  for (uword d = 1; double(d) <= most; ++d) {
    const HeldOut held_out = hold_out<T>(some, d, options.seed);
    const HeldOut hidden = detail::in_all(held_out, some);
    const Data visible = without(data, hidden);
    const auto fit =
        detail::robust_fit<T>(SubsetView<Data>(visible, some.columns), d, options, observer);
    if (!fit) break;
    levels.push_back(detail::mean_log_residual(fit->residuals(), observed, d, options.least));
    if (std::isnan(levels.back())) break;
    predicting.push_back(predicts(fit->basis(), some, held_out));
    best = detail::last_useful(levels, options.drop);
    if (d >= best + options.patience) break;
  }
  while (best > 1 && !predicting[best]) --best;
  return best;
}

namespace detail {

/// Whether the inliers of a fit share a weight that is large beside its own variation, as samples
/// do whose centre lies off their affine subspace.
template <class T>
bool shares_offset(const SampleFits<T>& fits) {
  std::vector<double> near;
  for (uword j = 0; j < fits.r2.n_elem; ++j)
    if (fits.is_used(j)) near.push_back(fits.r2[j]);
  const double most = 9 * median(near);
  std::vector<uword> inliers;
  for (uword j = 0; j < fits.r2.n_elem; ++j)
    if (fits.is_used(j) && fits.r2[j] <= most) inliers.push_back(j);
  if (inliers.size() <= 2 * fits.W.n_rows) return false;
  arma::mat A = arma::conv_to<arma::mat>::from(fits.W.cols(arma::uvec(inliers)));
  for (uword k = 0; k < inliers.size(); ++k)  // in the data's units
    A.col(k) /= double(fits.up[inliers[k]]) * double(fits.down[inliers[k]]);
  A /= std::max(arma::abs(A).max(), 1e-300);
  const arma::vec mean = arma::mean(A, 1);
  A.each_col() -= mean;
  const ThinSvd<double> spread = thin_svd(arma::mat(A.t()));
  const arma::mat along = transposed_product(spread.V, arma::mat(mean));
  constexpr double large = 10;
  for (uword c = 0; c < mean.n_elem; ++c) {
    const double variance = spread.s[c] * spread.s[c] / double(inliers.size());
    if (along[c] * along[c] > large * variance && std::abs(along[c]) > 1e-12) return true;
  }
  return false;
}

}  // namespace detail

/// The dimension of an affine subspace: as of the centred samples, less the direction in which the
/// centre lies off it, if they are exact enough to show it. The data is lifted.
template <class T, class Data, class Observer>
uword choose_affine_dimension(const Data& data, const DimensionOptions& options,
                              Observer& observer) {
  const Lift<T> centre{data.lift->centre, T(0)};
  const Data centred = lifted(data, centre);
  const uword d = choose_dimension<T>(centred, options, observer);
  if (d == 1) return d;
  const auto some = about(centred, options.n_samples);
  const auto fit = detail::robust_fit<T>(some, d, options, observer);
  return fit && detail::shares_offset(fit->fits()) ? d - 1 : d;
}

/// How many of the principal axes, strongest first, have this share of the variance of all. All of
/// them, if nothing is known about the variance.
inline uword axes_with_share(const arma::vec& variance, double share) {
  const double total = arma::accu(variance);
  if (!variance.is_finite() || !(total > 0)) return variance.n_elem;
  double sum = 0;
  for (uword k = 0; k < variance.n_elem; ++k)
    if ((sum += variance[k]) >= share * total) return k + 1;
  return variance.n_elem;
}

}  // namespace gasg21
