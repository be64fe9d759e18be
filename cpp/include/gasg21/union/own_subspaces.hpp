// Samples in the subspaces of their labels: residuals, missing entries filled in, and the score.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "gasg21/data/observation.hpp"
#include "gasg21/data/views.hpp"
#include "gasg21/fit/completer.hpp"
#include "gasg21/fit/projector.hpp"
#include "gasg21/inliers/held_out_score.hpp"
#include "gasg21/inliers/weight_prior.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/parallel.hpp"

namespace gasg21 {

/// Residuals of samples in the subspaces of their labels; NaN without a label.
struct OwnResiduals {
  arma::vec relative;  // of the unit-norm samples
  arma::vec absolute;  // in the units of the data
};

namespace detail {

/// Runs work(from, to, scratch) for each block of samples, on several threads.
template <class MakeScratch, class Work>
void for_blocks(uword n_samples, uword size, const Parallel& parallel, MakeScratch&& make_scratch,
                Work&& work) {
  parallel.for_all((n_samples + size - 1) / size, make_scratch, [&](uword task, auto& scratch) {
    work(task * size, std::min(n_samples, (task + 1) * size), scratch);
  });
}

/// Fits single samples to one of several subspaces. For one thread.
template <class T>
class OwnProjector {
 public:
  explicit OwnProjector(const std::vector<arma::Mat<T>>& subspaces)
      : subspaces_(subspaces), projectors_(subspaces.size()) {}

  /// The fit to subspace k.
  template <class Sample>
  const Projector<T>& read(const Sample& sample, uword k) {
    auto& projector = projectors_[k];
    if (!projector) projector.emplace(subspaces_[k]);
    projector->read(sample);
    return *projector;
  }

 private:
  const std::vector<arma::Mat<T>>& subspaces_;
  std::vector<std::optional<Projector<T>>> projectors_;  // each made when it is first needed
};

/// Calls use(j, sample, projector) for each sample, on several threads.
template <class T, class Data, class Use>
void each_own(const std::vector<arma::Mat<T>>& subspaces, const Data& data,
              const Parallel& parallel, Use&& use) {
  constexpr uword chunk = 64;
  for_blocks(
      data.n_cols, chunk, parallel, [&] { return OwnProjector<T>(subspaces); },
      [&](uword from, uword to, OwnProjector<T>& projector) {
        for (uword j = from; j < to; ++j) use(j, data.sample(j), projector);
      });
}

}  // namespace detail

/// The residuals of the samples. `labels` are numbers of subspaces; their number = none.
template <class T, class Data>
OwnResiduals own_residuals(const std::vector<arma::Mat<T>>& subspaces, const Data& data,
                           const arma::uvec& labels, const Parallel& parallel = Parallel()) {
  OwnResiduals own{arma::vec(data.n_cols), arma::vec(data.n_cols)};
  own.relative.fill(arma::datum::nan);
  own.absolute.fill(arma::datum::nan);
  detail::each_own(subspaces, data, parallel, [&](uword j, const auto& sample, auto& in) {
    if (labels[j] >= subspaces.size()) return;
    const Projector<T>& fit = in.read(sample, labels[j]);
    own.relative[j] = double(fit.residual());
    own.absolute[j] = fit.determined() ? double(fit.sample().scaled(fit.residual())) : 0.0;
  });
  return own;
}

/// Writes the missing ones of the first `n` entries of the samples, from the subspaces of their
/// labels, plus `centre` if there is one, to `out`, n x m; NaN where they are not determined. The
/// other entries of `out` keep their values.
template <class T, class Data>
void complete_in_own(const std::vector<arma::Mat<T>>& subspaces, const Data& data,
                     const arma::uvec& labels, uword n, const T* centre, T* out,
                     const Parallel& parallel = Parallel()) {
  detail::each_own(subspaces, data, parallel, [&](uword j, const auto& sample, auto& in) {
    T* const to = out + j * n;
    if (labels[j] < subspaces.size()) return in.read(sample, labels[j]).fill_missing(to, n, centre);
    uword next = 0;
    const auto fill_until = [&](uword i) {
      std::fill(to + std::min(next, n), to + std::min(i, n), std::numeric_limits<T>::quiet_NaN());
    };
    each_entry(sample, 0, n, [&](uword i, T, bool observed) {
      if (!observed) return;
      fill_until(i);
      next = i + 1;
    });
    fill_until(n);
  });
}

namespace detail {

/// Adds the errors of the members of one subspace, each of whose first n entries is predicted from
/// the others.
template <class T, class Data>
void add_held_out_errors(const arma::Mat<T>& U, const Data& members, uword n,
                         const arma::vec& reference, const Parallel& parallel,
                         std::vector<double>& errors) {
  constexpr uword chunk = 16;
  const WeightPrior prior = learn_prior(U, members);
  const uword before = errors.size();
  errors.resize(before + members.n_cols);
  for_blocks(
      members.n_cols, chunk, parallel, [&] { return Completer<T>(U, prior); },
      [&](uword from, uword to, Completer<T>& completer) {
        for (uword j = from; j < to; ++j) {
          completer.read(members.sample(j));
          errors[before + j] = completer.held_out_error(n, reference.memptr());
        }
      });
}

}  // namespace detail

/// How well the first n entries of the samples are predicted from the others, in the subspaces of
/// their labels: see `held_out_score`. Samples without a label do not count; 0 if none has one.
template <class T, class Data>
double score_in_own(const std::vector<arma::Mat<T>>& subspaces, const Data& data,
                    const arma::uvec& labels, uword n, const Parallel& parallel = Parallel()) {
  const arma::vec reference = score_reference<T>(data);
  std::vector<double> errors;
  for (uword k = 0; k < subspaces.size(); ++k) {
    const arma::uvec members = arma::find(labels == k);
    if (members.empty()) continue;
    const SubsetView<Data> own(data, arma::conv_to<std::vector<uword>>::from(members));
    detail::add_held_out_errors(subspaces[k], own, n, reference, parallel, errors);
  }
  return errors.empty() ? 0 : held_out_score(std::move(errors));
}

}  // namespace gasg21
