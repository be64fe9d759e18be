// A Tracker as Python holds it: any step rule, loss and metric, guarded by a lock.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <atomic>
#include <gasg21/recovery/stream.hpp>
#include <gasg21/saving/streams.hpp>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "any_rule.hpp"
#include "array_view.hpp"
#include "counters.hpp"
#include "plain_row.hpp"
#include "prior.hpp"
#include "py_subspace.hpp"
#include "saved.hpp"
#include "turn_lock.hpp"
#include "watch.hpp"

namespace gasg21::bindings {

template <class T>
class PyTracker {
 public:
  using Core = Tracker<T, AnyStep, AnyLoss, AnyMetric>;

  /// `range`: of the entries that a fit before the stream has seen.
  explicit PyTracker(Core core, EntryRange range = {})
      : core_(std::move(core)), range_(std::move(range)) {}

  /// Updates with the samples, in the given order or as they are. Returns their residuals before
  /// the update, NaN for those that were skipped.
  py::array_t<double> consume(const py::object& samples, const py::object& mask,
                              const py::object& order, py::object progress) {
    const AnyView<T> view = with_lift(as_view<T>(samples, mask, core_.n_features()), core_.lift());
    if (view.n_cols == 0) return py::array_t<double>(0);
    const arma::uvec at =
        order.is_none() ? arma::regspace<arma::uvec>(0, view.n_cols - 1) : as_order(order);
    py::array_t<double> residuals(py::ssize_t(at.n_elem));
    double* next = residuals.mutable_data();
    require_order(at, view.n_cols);
    Watch watch(std::move(progress), double(core_.n() * (core_.d() + 1)), &lock_);
    {
      const py::gil_scoped_release nogil;
      const LongTurn turn(lock_);
      for (uword j = 0; j < at.n_elem && any_unseen_; ++j) note_unseen(view.sample(at[j]));
      run(core_, view, at, [&](const StepReport& report) {
        *next++ = report.residual;
        note_seen();
        return watch.step(report);
      });
    }
    watch.finish();
    return residuals;
  }

  /// The short path for one plain vector. Returns its residual before the update, NaN if it was
  /// skipped. Returns None for everything else and changes nothing; the caller then validates.
  py::object consume_row(const py::handle& row, const py::handle& mask) {
    const auto plain = as_plain_row<T>(row, mask, core_.n_features());
    if (!plain) return py::none();
    return py::float_(alone([&](Core& core) {
      note_unseen(DenseSample<T>{plain->values, plain->mask, nullptr, core.lift().get()});
      const double residual = core.update(*plain).residual;
      note_seen();
      return residual;
    }));
  }

  py::array_t<std::uint64_t> permutation(uword count) {
    return to_array(alone([&](Core& core) { return core.random().permutation(count); }));
  }

  py::array_t<T> components() {
    return to_components(alone([](Core& core) { return core.basis(); }));
  }

  AnyStep step() {
    return alone([](Core& core) { return core.rule(); });
  }

  py::dict counters() {
    const auto [c, entries_used] =
        alone([](Core& core) { return std::make_pair(core.counters(), core.entries_used()); });
    return to_dict(c, entries_used);
  }

  /// Everything that an estimator publishes, of one moment: subspace, counters, eta, level, status,
  /// changes.
  py::tuple published(bool rotate) {
    struct Published {
      arma::Mat<T> U;
      Fitted fits;
      EntryRange range;
      Counters counters;
      std::uint64_t entries_used;
      double eta;
      std::int64_t level;
      StreamStatus status;
      std::vector<std::uint64_t> changes;
    };
    Published now = alone([this](Core& core) {
      return Published{core.basis(),        core.recent_fits(),  range_,
                       core.counters(),     core.entries_used(), core.rule().eta(),
                       core.rule().level(), core.status(),       core.changes()};
    });
    const double exact = exact_residual(std::numeric_limits<T>::epsilon(), false, arma::datum::nan);
    return py::make_tuple(
        std::make_unique<PySubspace<T>>(std::move(now.U), core_.lift(),
                                        Evidence{std::move(now.fits), {}, std::move(now.range)},
                                        FitKind{exact, false, rotate}),
        to_dict(now.counters, now.entries_used), now.eta, now.level, to_string(now.status),
        now.changes);
  }

  uword replay() {
    return alone([](Core& core) { return core.following().replay; });
  }
  bool is_replaying() {
    return alone([](Core& core) { return core.is_replaying(); });
  }

  bool is_lifted() const { return core_.lift() != nullptr; }
  uword n_features() const { return core_.n_features(); }

  /// Vectors seen, without waiting for a loop that runs.
  std::uint64_t n_seen() const { return seen_.load(std::memory_order_acquire); }

  saving::Struct fields() {
    EntryRange range;
    const auto state = alone([&](Core& core) {
      range = range_;
      return core.state();
    });
    saving::Struct fields = saving::tracker_fields(state, core_.loss());
    saving::WriteFields{fields}("range", range);
    return fields;
  }

  static std::unique_ptr<PyTracker> from_fields(const saving::Struct& fields) {
    EntryRange range;
    saving::ReadFields{fields}.later("range", range);
    auto core = saving::read_tracker<Core>(fields);
    require(range.low.n_elem == range.high.n_elem &&
                (range.low.empty() || range.low.n_elem == core.n()),
            "the range does not fit a basis of ", core.n(), " rows");
    return std::make_unique<PyTracker>(std::move(core), std::move(range));
  }

 private:
  /// Runs with the lock and without the GIL. Never takes the lock while it holds the GIL: a running
  /// `consume` holds the lock and takes the GIL now and then.
  template <class Work>
  auto alone(Work&& work) {
    const py::gil_scoped_release nogil;
    const std::lock_guard<TurnLock> lock(lock_);
    return work(core_);
  }

  /// With the lock, after each vector.
  void note_seen() { seen_.store(core_.counters().seen(), std::memory_order_release); }

  /// Takes coordinates into the range that the fit had never observed. There are hardly ever any.
  template <class Sample>
  void note_unseen(const Sample& sample) {
    for (uword i = 0; i < range_.low.n_elem && any_unseen_; ++i) {
      if (range_.low[i] <= range_.high[i]) continue;
      each_entry(sample, i, i + 1, [&](uword, T value, bool observed) {
        if (observed && std::isfinite(value)) range_.low[i] = range_.high[i] = double(value);
      });
    }
  }

  Core core_;
  EntryRange range_;  // empty = unknown
  bool any_unseen_ = arma::any(range_.low > range_.high);
  std::atomic<std::uint64_t> seen_{core_.counters().seen()};
  TurnLock lock_;
};

}  // namespace gasg21::bindings
