// A fitted subspace as Python holds it: immutable; what the fits say about the inliers is computed
// when it is first asked for.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <atomic>
#include <gasg21/inliers/row_reader.hpp>
#include <gasg21/inliers/subspace.hpp>
#include <gasg21/saving/streams.hpp>
#include <memory>
#include <utility>

#include "array_view.hpp"
#include "lift.hpp"
#include "prior.hpp"

namespace gasg21::bindings {

template <class T>
class PySubspace {
 public:
  PySubspace(arma::Mat<T> U, std::shared_ptr<const Lift<T>> lift, Evidence evidence, FitKind kind)
      : U_(std::move(U)), lift_(std::move(lift)), evidence_(std::move(evidence)), kind_(kind) {}

  const arma::Mat<T>& basis() const { return U_; }
  const std::shared_ptr<const Lift<T>>& lift() const { return lift_; }
  uword n_features() const { return lift_ ? lift_->centre.n_elem : U_.n_rows; }
  uword n_components() const { return U_.n_cols - (lift_ ? lift_->n_appended() : 0); }

  ~PySubspace() {
    delete rows_.load();
    delete made_.load();
  }
  PySubspace(const PySubspace&) = delete;
  PySubspace& operator=(const PySubspace&) = delete;

  /// Computes it in the first call. Without a lock, which a fork could leave locked: two threads
  /// may compute the same, and the first one's result is kept.
  const Subspace<T>& get() {
    if (const Subspace<T>* made = made_.load(std::memory_order_acquire)) return *made;
    const py::gil_scoped_release nogil;
    auto own = std::make_unique<const Subspace<T>>(U_, lift_, evidence_, kind_);
    const Subspace<T>* first = nullptr;
    if (made_.compare_exchange_strong(first, own.get())) return *own.release();
    return *first;
  }

  /// Calls work(reader), after `get`. The reader is kept for the next call; a second
  /// thread makes its own. Without a lock, as above.
  template <class Work>
  bool with_row_reader(Work&& work) {
    std::unique_ptr<RowReader<T>> reader(rows_.exchange(nullptr));
    if (!reader) reader = std::make_unique<RowReader<T>>(*made_.load(std::memory_order_acquire));
    const bool answered = work(*reader);
    delete rows_.exchange(reader.release());
    return answered;
  }

  saving::Struct fields() const {
    saving::Struct fields;
    saving::WriteFields v{fields};
    v("type", saving::with_bits<T>("Subspace"));
    v("U", U_);
    v("lift", lift_);
    v("evidence", evidence_);
    v("kind", kind_);
    return fields;
  }

  static std::unique_ptr<PySubspace> from_fields(const saving::Struct& fields) {
    saving::demand_type<T>(fields, "Subspace");
    saving::ReadFields v{fields};
    arma::Mat<T> U;
    std::shared_ptr<const Lift<T>> lift;
    Evidence evidence;
    FitKind kind;
    v("U", U);
    v("lift", lift);
    v("evidence", evidence);
    v("kind", kind);
    check(U, lift.get(), evidence);
    return std::make_unique<PySubspace>(std::move(U), std::move(lift), std::move(evidence), kind);
  }

 private:
  /// Throws unless the parts belong together.
  static void check(const arma::Mat<T>& U, const Lift<T>* lift, const Evidence& evidence) {
    const uword n = U.n_rows, d = U.n_cols;
    require(d >= 1 && d < n && double(orthonormality_error(U)) < 1e-3,
            "the basis is not orthonormal");
    require(!lift || (lift->n_rows() == n && lift->n_appended() < d), "the lift does not fit");
    const Fitted& fits = evidence.fits;
    require(fits.n == n && fits.W.n_rows == d && fits.r2.n_elem == fits.W.n_cols &&
                fits.count.n_elem == fits.W.n_cols && fits.norm.n_elem == fits.W.n_cols,
            "the fits do not belong to a basis of ", d, " columns");
    const WeightPrior& prior = evidence.prior;
    require(prior.C.empty() || (prior.C.n_rows == d && prior.C.n_cols == d),
            "the prior does not fit");
    require(prior.noise.empty() || prior.noise.n_elem == n, "the noise does not fit");
    const EntryRange& range = evidence.range;
    require(range.low.n_elem == range.high.n_elem && (range.low.empty() || range.low.n_elem == n),
            "the range does not fit");
  }

  arma::Mat<T> U_;
  std::shared_ptr<const Lift<T>> lift_;
  Evidence evidence_;
  FitKind kind_;
  std::atomic<const Subspace<T>*> made_{nullptr};
  std::atomic<RowReader<T>*> rows_{nullptr};
};

}  // namespace gasg21::bindings
