// The law of the weights of an inlier, for completion: their scatter and the noise of an
// entry, learnt from some samples. The scatter of the polish includes the noise: it is too wide
// where few entries are observed.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <variant>
#include <vector>

#include "gasg21/data/observation.hpp"
#include "gasg21/data/views.hpp"
#include "gasg21/fit/completer.hpp"
#include "gasg21/inliers/fitted.hpp"
#include "gasg21/inliers/prior_em.hpp"
#include "gasg21/kernels/observe.hpp"
#include "gasg21/kernels/plain.hpp"
#include "gasg21/kernels/small_solve.hpp"
#include "gasg21/support/config.hpp"

namespace gasg21 {

struct PriorOptions {
  uword samples = 200;        // about how many to look at ...
  uword per_dimension = 25;   // ... or so many per dimension, if that is more
  double most_work = 2e7;     // multiply-adds of one look or step; 50 samples are always affordable
  int first_steps = 40;       // of EM, at most
  int later_steps = 3;        // after each estimate of the coordinates' noise
  int noise_estimates = 2;    // 0 = the noise is the same in all coordinates
  double least_noise = 0.1;   // of a coordinate, relative to the mean
  double pseudo_entries = 5;  // with the mean noise, for coordinates that are seldom observed
};

/// The prior from fits alone. It takes U_O'U_O as a multiple of I, so it needs several times more
/// observed entries than weights; and one noise for all coordinates.
inline WeightPrior learn_prior(const Fitted& fitted, const PriorOptions& options = {}) {
  const uword d = fitted.W.n_rows;
  const double dimension = double(d), most = double(fitted.n) - dimension - 1;
  std::vector<uword> used;
  for (uword j = 0; j < fitted.count.n_elem; ++j)
    if (fitted.count[j] > dimension + 1) used.push_back(j);
  std::stable_sort(used.begin(), used.end(),
                   [&](uword a, uword b) { return fitted.count[a] < fitted.count[b]; });
  detail::PriorSamples samples;
  samples.n = fitted.n;
  double last = 0;
  for (const uword j : used) {
    const double count = fitted.count[j];
    // (U_O'U_O)^-1 is I / share on average, for random directions.
    const double share = (count - dimension - 1) / most;
    if (count != last) samples.grams.push_back(share * arma::mat(d, d, arma::fill::eye));
    last = count;
    const arma::vec w = fitted.W.col(j) * std::sqrt(count);
    samples.each.push_back({samples.grams.size() - 1, count, w * share, w, fitted.r2[j] * count});
  }
  WeightPrior prior = detail::first_prior(samples, d);
  if (!samples.each.empty()) detail::PriorEm(prior, samples).run(options.first_steps);
  return prior;
}

namespace detail {

/// Reads some samples of the data: once for EM and twice per estimate of the noise.
template <class T, class Data>
class PriorLearner {
 public:
  PriorLearner(const arma::Mat<T>& U, const Data& data, const PriorOptions& options)
      : options_(options),
        data_(about(data, number_of_samples(U))),
        U_(arma::conv_to<arma::mat>::from(U)),
        V_(U_),
        noise_(U.n_rows, arma::fill::ones),
        x_(U.n_rows),
        A_(U.n_rows, U.n_cols),
        z_(U.n_rows),
        r_(U.n_rows) {}

  WeightPrior learn() {
    look();
    WeightPrior prior = first_prior(samples_, U_.n_cols);
    if (samples_.each.empty()) return prior;
    PriorEm(prior, samples_).run(options_.first_steps);
    for (int i = 0; i < options_.noise_estimates; ++i) {
      if (prior.s < no_noise) break;  // rounding errors: all coordinates alike
      estimate_noise(PriorEm(prior, samples_));
      look();
      PriorEm(prior, samples_).run(options_.later_steps);
      prior.noise = noise_;
    }
    return prior;
  }

 private:
  uword number_of_samples(const arma::Mat<T>& U) const {
    const double d = double(U.n_cols);
    const double each = std::max(double(U.n_elem) * d, 4 * d * d * d);  // a look, a step of EM
    const double affordable = std::max(options_.most_work / each, 50.0);
    const uword wanted = std::max(options_.samples, options_.per_dimension * U.n_cols);
    return uword(std::min(double(wanted), affordable));
  }

  /// Reads each sample, and calls visit() if it says something. Its rows of V are in A_, its
  /// entries over the root of their noise in z_.
  template <class Visit>
  void each_sample(Visit&& visit) {
    for (uword j = 0; j < data_.n_cols; ++j) {
      if (x_.read(data_.sample(j)) != Usable::yes) continue;
      kernels::gather_rows(V_.memptr(), V_.n_rows, V_.n_cols, x_.rows(), x_.count(), A_.memptr());
      const double unit = std::sqrt(double(x_.count()));
      for (uword k = 0; k < x_.count(); ++k)
        z_[k] = double(x_.values()[k]) * unit / std::sqrt(noise_[x_.rows()[k]]);
      visit();
    }
  }

  /// Fills samples_. Complete samples share the first Gram matrix.
  void look() {
    samples_ = {};
    samples_.n = U_.n_rows;
    samples_.grams.emplace_back();
    each_sample([&] {
      if (!x_.full()) samples_.grams.push_back(gram());
      if (x_.full() && samples_.grams[0].empty()) samples_.grams[0] = gram();
      samples_.each.push_back(fit(x_.full() ? 0 : samples_.grams.size() - 1));
    });
    std::stable_sort(samples_.each.begin(), samples_.each.end(),
                     [](const auto& a, const auto& b) { return a.gram < b.gram; });
  }

  arma::mat gram() const {
    arma::mat G(U_.n_cols, U_.n_cols, arma::fill::zeros);
    kernels::gram(A_.memptr(), x_.count(), U_.n_cols, G.memptr());
    return arma::symmatl(G);
  }

  /// r = z - A w.
  void set_residual(const arma::vec& w) {
    std::copy(z_.begin(), z_.begin() + std::ptrdiff_t(x_.count()), r_.begin());
    kernels::add_times(A_.memptr(), x_.count(), w.n_elem, w.memptr(), -1.0, r_.memptr());
  }
  /// A'r.
  arma::vec gradient() const {
    arma::vec sum(U_.n_cols);
    kernels::transpose_times(A_.memptr(), x_.count(), sum.n_elem, r_.memptr(), sum.memptr());
    return sum;
  }
  double square() const { return kernels::dot(r_.memptr(), r_.memptr(), x_.count()); }

  PriorSample fit(uword which) {
    const uword d = U_.n_cols;
    set_residual(arma::vec(d, arma::fill::zeros));
    PriorSample found{which, double(x_.count()), gradient(), {}, square()};
    arma::mat L = samples_.grams[which];
    if (x_.count() <= d || kernels::ldl(L.memptr(), d) < 1e-10) return found;
    found.w.zeros(d);
    for (int step = 0; step < 2; ++step) {  // the second refines
      arma::vec correction = gradient();
      kernels::ldl_solve(L.memptr(), d, correction.memptr());
      found.w += correction;
      set_residual(found.w);
    }
    found.residual = square();
    return found;
  }

  /// Squared residuals over degrees of freedom, each sample scaled to the size that the prior
  /// gives it. (MacKay's fixed point, which is faster than EM where the degrees are few.)
  void estimate_noise(PriorEm em) {
    const uword n = U_.n_rows, d = U_.n_cols;
    arma::vec squares(n, arma::fill::zeros), degrees = squares, column(n);
    arma::mat covariance, root, of_complete;
    each_sample([&] {
      const uword count = x_.count();
      if (!x_.full() || of_complete.empty()) em.set_posterior(gram(), covariance);
      if (x_.full() && of_complete.empty()) of_complete = covariance;
      if (x_.full()) covariance = of_complete;
      set_residual(arma::vec(d, arma::fill::zeros));
      const arma::vec w = product(covariance, gradient());
      set_residual(w);
      const double size = em.size_of({0, double(count), {}, {}, 0}, w, square());
      for (uword k = 0; k < count; ++k) {
        const uword i = x_.rows()[k];
        squares[i] += size * r_[k] * r_[k] * noise_[i];
        degrees[i] += 1;
      }
      root = positive_root(covariance);
      for (uword c = 0; c < d; ++c) {  // minus a_k' (covariance) a_k
        std::fill(column.begin(), column.end(), 0.0);
        kernels::add_times(A_.memptr() + c * count, count, d - c, root.colptr(c) + c, 1.0,
                           column.memptr());
        for (uword k = 0; k < count; ++k) degrees[x_.rows()[k]] -= column[k] * column[k];
      }
    });
    set_noise(squares, degrees);
  }

  void set_noise(const arma::vec& squares, const arma::vec& degrees) {
    const double mean = arma::accu(squares) / arma::accu(degrees), more = options_.pseudo_entries;
    if (!(mean > 0) || !std::isfinite(mean)) return;
    noise_ = (squares / mean + more) / (degrees + more);
    noise_.transform([&](double v) { return std::max(v, options_.least_noise); });
    V_ = U_;
    V_.each_col() /= arma::sqrt(noise_);
  }

  PriorOptions options_;
  SubsetView<Data> data_;
  arma::mat U_, V_;  // V: each row over the root of its noise
  arma::vec noise_;
  Observation<T> x_;
  arma::mat A_;  // count x d in its memory
  arma::vec z_, r_;
  PriorSamples samples_;
};

}  // namespace detail

/// The prior from the data, or some of it, with the exact U_O'U_O, and the noise of each
/// coordinate.
template <class T, class Data>
WeightPrior learn_prior(const arma::Mat<T>& U, const Data& data, const PriorOptions& options = {}) {
  return detail::PriorLearner<T, Data>(U, data, options).learn();
}

namespace detail {

template <class T, class Sample>
void add_to_range(EntryRange& range, const Sample& sample) {
  double square = 0, count = 0;
  each_entry(sample, 0, range.low.n_elem, [&](uword i, T value, bool observed) {
    const double v = double(value);
    if (!observed || !(std::abs(v) <= std::numeric_limits<double>::max())) return;
    range.low[i] = std::min(range.low[i], v);
    range.high[i] = std::max(range.high[i], v);
    square += v * v;
    ++count;
  });
  if (count > 0) range.largest = std::max(range.largest, std::sqrt(square / count));
}

/// The same for a plain dense sample, in loops without branches. Returns false, and may have added
/// a part, if it holds an infinity or its squares overflow.
template <class T>
bool add_plain_to_range(EntryRange& range, const T* values) {
  constexpr uword piece = 512;
  alignas(64) T copy[piece];
  const uword n = range.low.n_elem;
  double square = 0, count = 0;
  for (uword from = 0; from < n; from += piece) {
    const uword size = std::min(piece, n - from);
    uword observed = 0;
    square += double(kernels::observe(values + from, size, copy, observed));
    if (!std::isfinite(square)) return false;
    count += double(observed);
    double *low = range.low.memptr() + from, *high = range.high.memptr() + from;
    for (uword i = 0; i < size; ++i) {  // NaN is neither smaller nor larger
      const double v = double(values[from + i]);
      low[i] = v < low[i] ? v : low[i];
      high[i] = v > high[i] ? v : high[i];
    }
  }
  if (count > 0) range.largest = std::max(range.largest, std::sqrt(square / count));
  return true;
}
template <class T>
void add_to_range(EntryRange& range, const DenseSample<T>& sample) {
  const bool plain = !sample.mask && !sample.hidden && !sample.lift;
  if (!plain || !add_plain_to_range(range, sample.values))
    add_to_range<T, DenseSample<T>>(range, sample);
}
template <class T>
void add_to_range(EntryRange& range, const AnySample<T>& sample) {
  std::visit([&](const auto& each) { add_to_range<T>(range, each); }, sample);
}

}  // namespace detail

/// The range of the entries of each coordinate, over about `count` samples; over all, if a
/// coordinate is observed in none of these.
template <class T, class Data>
EntryRange entry_range(const Data& data, uword count = enough_described) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  EntryRange range{arma::vec(data.n_rows), arma::vec(data.n_rows), 0};
  range.low.fill(inf);
  range.high.fill(-inf);
  const SubsetView<Data> some = about(data, count);
  for (uword j = 0; j < some.n_cols; ++j) detail::add_to_range<T>(range, some.sample(j));
  if (some.n_cols == data.n_cols || arma::all(range.low <= range.high)) return range;
  for (uword j = 0; j < data.n_cols; ++j) detail::add_to_range<T>(range, data.sample(j));
  return range;
}

}  // namespace gasg21
