// Runs independent tasks on several threads. Results do not depend on the number of threads: tasks
// write to disjoint memory, and sums are added in a fixed order.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "gasg21/support/config.hpp"

namespace gasg21 {

/// Thrown when work was stopped that has no use for a partial result.
struct Stopped : std::exception {
  const char* what() const noexcept override { return "stopped"; }
};

/// How many of the threads have enough to do; `work` is in multiply-adds. A thread takes 40 to 70
/// us to start and end, so each should have some 400 us of work.
inline unsigned worthwhile(unsigned n_threads, double work) {
  return unsigned(std::min(double(n_threads), 1 + work / 1e6));
}

/// Hands out the links of some chains. Those of one chain run one after the other, so they may
/// write to the same memory.
class Chains {
 public:
  Chains(uword count, uword length) : next_(count, 0), busy_(count, false), length_(length) {}

  /// Runs work(chain, link) for the next link of the free chain that is furthest behind. If no
  /// chain is free, one of the threads that are at work takes over the link.
  template <class Work>
  void run_one(Work&& work) {
    for (uword chain = take(); chain < next_.size();) {
      work(chain, next_[chain]);
      if (!goes_on(chain)) return;
    }
  }

 private:
  /// A free chain, or their number.
  uword take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    uword best = next_.size(), least = length_;
    for (uword chain = 0; chain < next_.size(); ++chain)
      if (!busy_[chain] && next_[chain] < least) least = next_[best = chain];
    if (best < next_.size())
      busy_[best] = true;
    else
      ++taken_over_;
    return best;
  }
  /// Ends a link. Returns whether the thread has to run the next one, too.
  bool goes_on(uword chain) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const bool more = ++next_[chain] < length_ && taken_over_ > 0;
    if (more)
      --taken_over_;
    else
      busy_[chain] = false;
    return more;
  }

  std::mutex mutex_;
  std::vector<uword> next_;  // per chain: the link to run next
  std::vector<bool> busy_;
  uword length_, taken_over_ = 0;
};

/// Runs tasks on up to `n_threads` threads, one of which is the calling thread.
class Parallel {
 public:
  /// The calling thread calls `stop` after each of its tasks. If it returns true, no further task
  /// starts.
  explicit Parallel(unsigned n_threads = 1, std::function<bool()> stop = {})
      : n_threads_(std::clamp(n_threads, 1u, most_threads)), stop_(std::move(stop)) {}

  /// Runs work(task, scratch) for each task in [0, n_tasks). Each thread has its own
  /// scratch = make_scratch(). Returns false if it was stopped before all tasks were done. An
  /// exception of a task stops the others and is rethrown.
  template <class MakeScratch, class Work>
  bool for_each(uword n_tasks, MakeScratch&& make_scratch, Work&& work) const {
    std::atomic<uword> next{0}, done{0};
    std::atomic<bool> stopped{false};
    std::exception_ptr error;
    std::atomic<bool> failed{false};
    const auto loop = [&](bool calls_stop) {
      try {
        auto scratch = make_scratch();
        for (uword task; !stopped && (task = next++) < n_tasks;) {
          work(task, scratch);
          ++done;
          if (calls_stop && is_stopped()) stopped = true;
        }
      } catch (...) {
        if (!failed.exchange(true)) error = std::current_exception();
        stopped = true;
      }
    };
    std::vector<std::thread> others;
    others.reserve(std::min<uword>(n_threads_, n_tasks));
    try {
      for (uword t = 1; t < std::min<uword>(n_threads_, n_tasks); ++t)
        others.emplace_back(loop, false);
    } catch (const std::exception&) {  // no more threads, or no memory for one: continue with fewer
    }
    loop(true);
    for (auto& thread : others) thread.join();
    if (error) std::rethrow_exception(error);
    return done == n_tasks;
  }

  /// Like for_each, but throws Stopped if it was stopped before all tasks were done.
  template <class MakeScratch, class Work>
  void for_all(uword n_tasks, MakeScratch&& make_scratch, Work&& work) const {
    if (!for_each(n_tasks, std::forward<MakeScratch>(make_scratch), std::forward<Work>(work)))
      throw Stopped{};
  }

  /// Runs work(chain, link, scratch) for each link of each chain, the links of a chain one after
  /// the other. There is no wait between the links of different chains. Throws Stopped as for_all.
  template <class MakeScratch, class Work>
  void for_chains(uword n_chains, uword length, MakeScratch&& make_scratch, Work&& work) const {
    Chains chains(n_chains, length);
    const auto n_threads = unsigned(std::min<uword>(n_threads_, n_chains));
    Parallel(n_threads, stop_)
        .for_all(n_chains * length, std::forward<MakeScratch>(make_scratch),
                 [&](uword, auto& scratch) {
                   chains.run_one([&](uword chain, uword link) { work(chain, link, scratch); });
                 });
  }

  unsigned n_threads() const { return n_threads_; }
  /// As many of the threads as are worthwhile.
  Parallel for_work(double multiply_adds) const {
    return Parallel(worthwhile(n_threads_, multiply_adds), stop_);
  }

  /// Asks whether to stop. For the calling thread.
  bool is_stopped() const { return stop_ && stop_(); }

 private:
  static constexpr unsigned most_threads = 4096;  // a larger number is a mistake

  unsigned n_threads_;
  std::function<bool()> stop_;
};

}  // namespace gasg21
