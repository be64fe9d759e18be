// A stop hook for tasks that run on several threads.
#pragma once

#include <atomic>
#include <thread>

#include "gasg21/support/parallel.hpp"

namespace gasg21 {

/// Tells tasks of several threads whether to stop. Only the thread that made it asks the hook of
/// `parallel`, because only that thread may; the others read its answer.
class SharedStop {
 public:
  explicit SharedStop(const Parallel& parallel) : parallel_(parallel) {}

  bool poll() {
    if (std::this_thread::get_id() == owner_ && parallel_.is_stopped()) stopped_ = true;
    return stopped_;
  }
  /// For work inside a task: one thread, which can be stopped.
  Parallel alone() {
    return Parallel(1, [this] { return poll(); });
  }

 private:
  Parallel parallel_;
  std::thread::id owner_ = std::this_thread::get_id();
  std::atomic<bool> stopped_{false};
};

}  // namespace gasg21
