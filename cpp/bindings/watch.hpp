// Keeps long loops answerable: they run without the GIL, and this takes it back some twenty times a
// second to let signals (Ctrl-C) and the progress bar through.
#pragma once

#include <pybind11/pybind11.h>

#include <algorithm>
#include <chrono>
#include <gasg21/tracker.hpp>
#include <mutex>
#include <utility>

namespace gasg21::bindings {

namespace py = pybind11;

class Watch {
 public:
  /// `progress(done, level, eta)` is called with the items done since the last call, unless None.
  /// `work` is the cost of one item in multiply-adds: the clock is looked at about every 100 us.
  /// A lock that the loop holds is given back meanwhile: a signal handler may want what it guards.
  Watch(py::object progress, double work, std::unique_lock<std::mutex>* lock = nullptr)
      : progress_(std::move(progress)),
        stride_(uword(std::clamp(1e5 / work, 1.0, 1024.0))),
        lock_(lock) {}

  /// After each update, without the GIL.
  bool tick(const StepReport& step) {
    level_ = step.level;
    eta_ = step.eta;
    return tick();
  }

  /// After each item, without the GIL. True = stop: a Python exception is waiting, see `finish`.
  bool tick() {
    if (failed_)
      return true;  // the work may go on for a moment: the exception must wait for `finish`
    ++done_;
    if (++since_look_ < stride_) return false;
    since_look_ = 0;
    const auto now = Clock::now();
    if (now - last_ < std::chrono::milliseconds(40)) return false;
    if (lock_) lock_->unlock();
    {
      const py::gil_scoped_acquire gil;
      failed_ = PyErr_CheckSignals() != 0 || !report();
    }
    if (lock_) lock_->lock();
    last_ = Clock::now();
    return failed_;
  }

  /// After the loop, with the GIL: reports what is left, or throws what was waiting.
  void finish() {
    if (failed_ || !report()) throw py::error_already_set();
  }

 private:
  using Clock = std::chrono::steady_clock;

  bool report() {
    const uword done = std::exchange(done_, 0);
    if (progress_.is_none() || done == 0) return true;
    PyObject* result = PyObject_CallFunction(progress_.ptr(), "nLd", Py_ssize_t(done),
                                             static_cast<long long>(level_), eta_);
    Py_XDECREF(result);
    return result != nullptr;
  }

  py::object progress_;
  uword stride_;
  std::unique_lock<std::mutex>* lock_;
  uword done_ = 0, since_look_ = 0;
  std::int64_t level_ = 0;
  double eta_ = 0;
  Clock::time_point last_ = Clock::now();
  bool failed_ = false;
};

}  // namespace gasg21::bindings
