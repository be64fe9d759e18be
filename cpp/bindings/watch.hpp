// Keeps long loops responsive. They run without the GIL; a Watch takes it some twenty times a
// second to let signals (Ctrl-C) and the progress bar through. It is the observer of `recover` and
// `recover_union`, and shows Python each pass.
#pragma once

#include <pybind11/pybind11.h>

#include <algorithm>
#include <chrono>
#include <gasg21/recovery/report.hpp>
#include <utility>

#include "history.hpp"
#include "turn_lock.hpp"

namespace gasg21::bindings {

namespace py = pybind11;

class Watch {
 public:
  /// `progress(done, level, eta)` is called with the vectors done since the last call, 0 in batch
  /// work, unless it is None. If it has `on_pass`, that is called with the record of each pass; a
  /// true result ends the fit. Their exceptions stop the work. `work` is the cost of one vector in
  /// multiply-adds: the clock is read about every 100 us. A lock that the loop holds is released
  /// meanwhile, because a signal handler may want it, and passed on between two vectors to a
  /// waiting thread.
  explicit Watch(py::object progress = py::none(), double work = 1e5, TurnLock* lock = nullptr)
      : on_pass_(py::getattr(progress, "on_pass", py::none())),
        progress_(std::move(progress)),
        stride_(uword(std::clamp(1e5 / work, 1.0, 1024.0))),
        lock_(lock) {}

  /// After each vector, without the GIL. True = stop: a Python exception is pending, or `on_pass`
  /// asked for it.
  bool step(const StepReport& report) {
    level_ = report.level;
    eta_ = report.eta;
    ++done_;
    if (lock_) lock_->pass_on_if_wanted();
    if (report.outcome == StepOutcome::not_finite && refuses_infinite_ && refuse()) return true;
    return failed_ || enough_ || (++since_look_ >= stride_ && look());
  }

  /// Now and then in batch work, without the GIL. True = stop.
  bool poll() { return failed_ || enough_ || look(); }

  /// After each pass, without the GIL.
  void pass(const PassRecord& record) {
    if (on_pass_.is_none() || !shows_passes_ || failed_) return;
    ++passes_;
    const py::gil_scoped_acquire gil;
    try {
      enough_ = py::bool_(on_pass_(to_dict(record, passes_)));
    } catch (py::error_already_set& error) {
      error.restore();
      failed_ = true;
    }
  }

  /// Before work that is no pass, without the GIL.
  void stage(const char* name) {
    if (on_pass_.is_none() || failed_) return;
    const py::gil_scoped_acquire gil;
    try {
      progress_.attr("stage")(name);
    } catch (py::error_already_set& error) {
      error.restore();
      failed_ = true;
    }
  }

  /// Calls this when the stream meets the first infinite entry. What it raises stops the work.
  void refuse_infinite(py::object search) {
    refuses_infinite_ = !search.is_none();
    search_ = std::move(search);
  }

  /// Whether passes are shown; a fit that only prepares another one hides its passes.
  void show_passes(bool shown) { shows_passes_ = shown; }

  /// After a fit that `on_pass` ended: lets the work that makes its result usable run to its end.
  void go_on() { enough_ = false; }

  /// After the loop, with the GIL: reports the rest, or throws the pending exception.
  void finish() {
    if (failed_ || !report()) throw py::error_already_set();
  }

  /// As `finish`, but returns the pending exception instead, or None.
  py::object pending() {
    if (!failed_ && report()) return py::none();
    const py::error_already_set error;
    return error.value();
  }

 private:
  using Clock = std::chrono::steady_clock;

  bool look() {
    since_look_ = 0;
    if (Clock::now() - last_ < std::chrono::milliseconds(40)) return false;
    if (lock_) lock_->unlock();
    {
      const py::gil_scoped_acquire gil;
      failed_ = PyErr_CheckSignals() != 0 || !report();
    }
    if (lock_) lock_->lock_for_long();
    last_ = Clock::now();
    return failed_;
  }

  /// Calls `search_`, once. Returns whether it has raised.
  bool refuse() {
    refuses_infinite_ = false;
    const py::gil_scoped_acquire gil;
    PyObject* result = PyObject_CallObject(search_.ptr(), nullptr);
    Py_XDECREF(result);
    return failed_ = result == nullptr;
  }

  bool report() {
    const uword done = std::exchange(done_, 0);
    if (progress_.is_none()) return true;
    PyObject* result = PyObject_CallFunction(progress_.ptr(), "nLd", Py_ssize_t(done),
                                             static_cast<long long>(level_), eta_);
    Py_XDECREF(result);
    return result != nullptr;
  }

  py::object on_pass_, progress_, search_;
  uword stride_;
  TurnLock* lock_;
  uword done_ = 0, since_look_ = 0, passes_ = 0;
  std::int64_t level_ = 0;
  double eta_ = 0;
  Clock::time_point last_ = Clock::now();
  bool failed_ = false, shows_passes_ = true;
  bool refuses_infinite_ = false;
  bool enough_ = false;  // `on_pass` has ended the fit
};

/// Runs work(parallel) without the GIL on several threads, while signals are let through.
template <class Work>
void without_gil(unsigned n_threads, Work&& work) {
  Watch watch;
  try {
    const py::gil_scoped_release nogil;
    work(Parallel(n_threads, [&] { return watch.poll(); }));
  } catch (const Stopped&) {
  }
  watch.finish();
}

}  // namespace gasg21::bindings
