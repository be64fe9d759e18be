// Independent tasks on a few threads. Which thread does a task never changes a result: tasks write
// to disjoint places, and sums run in an order of their own.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "gasg21/support/config.hpp"

namespace gasg21 {

/// Thrown by work that has no use for half a result when it was stopped.
struct Stopped : std::exception {
  const char* what() const noexcept override { return "stopped"; }
};

class Parallel {
 public:
  /// `stop` is asked now and then by the calling thread; true ends the work at the next task.
  explicit Parallel(unsigned n_threads = 1, std::function<bool()> stop = {})
      : n_threads_(std::max(1u, n_threads)), stop_(std::move(stop)) {}

  /// Runs work(task, scratch) for each task in [0, n_tasks), where each thread has its own
  /// scratch = make_scratch(). False when it was stopped before the end.
  template <class MakeScratch, class Work>
  bool for_each(uword n_tasks, MakeScratch&& make_scratch, Work&& work) const {
    std::atomic<uword> next{0}, done{0};
    std::atomic<bool> stopped{false};
    std::exception_ptr error;
    std::atomic<bool> failed{false};
    const auto loop = [&](bool asks) {
      try {
        auto scratch = make_scratch();
        for (uword task; !stopped && (task = next++) < n_tasks;) {
          work(task, scratch);
          ++done;
          if (asks && stop_ && stop_()) stopped = true;
        }
      } catch (...) {
        if (!failed.exchange(true)) error = std::current_exception();
        stopped = true;
      }
    };
    std::vector<std::thread> others;
    others.reserve(n_threads_);
    try {
      for (uword t = 1; t < std::min<uword>(n_threads_, n_tasks); ++t)
        others.emplace_back(loop, false);
    } catch (const std::system_error&) {  // no more threads to be had: those there are will do
    }
    loop(true);
    for (auto& thread : others) thread.join();
    if (error) std::rethrow_exception(error);
    return done == n_tasks;
  }

  /// The same, and throws Stopped unless it came to the end.
  template <class MakeScratch, class Work>
  void for_all(uword n_tasks, MakeScratch&& make_scratch, Work&& work) const {
    if (!for_each(n_tasks, std::forward<MakeScratch>(make_scratch), std::forward<Work>(work)))
      throw Stopped{};
  }

  unsigned n_threads() const { return n_threads_; }

 private:
  unsigned n_threads_;
  std::function<bool()> stop_;
};

}  // namespace gasg21
