// The lock of a stream: a long loop holds it and passes it on, between two vectors, to a
// waiting thread. A fork of the process waits for such a moment, too, so that the child finds all
// streams whole and unlocked.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace gasg21::bindings {

class TurnLock {
 public:
  TurnLock() {
    const std::lock_guard<std::mutex> guard(registry().mutex);
    next_ = registry().first;
    if (next_) next_->previous_ = this;
    registry().first = this;
  }
  TurnLock(const TurnLock&) = delete;
  TurnLock& operator=(const TurnLock&) = delete;
  ~TurnLock() {
    const std::lock_guard<std::mutex> guard(registry().mutex);
    if (next_) next_->previous_ = previous_;
    (previous_ ? previous_->next_ : registry().first) = next_;
  }

  /// For short work: a loop that has the lock passes it on after its vector.
  void lock() {
    ++waiting_;
    mutex_.lock();
    --waiting_;
  }
  void unlock() { mutex_.unlock(); }

  /// For a loop over vectors.
  void lock_for_long() { mutex_.lock(); }
  /// Between two vectors: lets those go first who wait, for a while at most.
  void pass_on_if_wanted() {
    if (waiting_.load(std::memory_order_relaxed) == 0) return;
    mutex_.unlock();
    for (int i = 0; i < 1000 && waiting_.load(std::memory_order_relaxed) > 0; ++i)
      std::this_thread::yield();
    mutex_.lock();
  }

  /// Lets every fork wait for all locks from now on.
  static void guard_forks() {
#if !defined(_WIN32)
    pthread_atfork(lock_all, unlock_all, unlock_all_in_child);
#endif
  }

 private:
  /// All locks of the process. It is never destroyed: locks may outlive static objects.
  struct Registry {
    std::mutex mutex;
    TurnLock* first = nullptr;
  };
  static Registry& registry() {
    static auto* const all = new Registry;
    return *all;
  }

  // The forking thread holds the GIL. That is safe because no thread requests the
  // GIL while it holds such a lock.
  static void lock_all() {
    registry().mutex.lock();
    for (TurnLock* each = registry().first; each; each = each->next_) each->lock();
  }
  static void unlock_all() {
    for (TurnLock* each = registry().first; each; each = each->next_) each->unlock();
    registry().mutex.unlock();
  }
  static void unlock_all_in_child() {  // those who waited are not here
    for (TurnLock* each = registry().first; each; each = each->next_) each->waiting_ = 0;
    unlock_all();
  }

  std::mutex mutex_;
  std::atomic<int> waiting_{0};
  TurnLock *next_ = nullptr, *previous_ = nullptr;
};

/// Holds the lock for a loop over vectors.
class LongTurn {
 public:
  explicit LongTurn(TurnLock& lock) : lock_(lock) { lock_.lock_for_long(); }
  LongTurn(const LongTurn&) = delete;
  LongTurn& operator=(const LongTurn&) = delete;
  ~LongTurn() { lock_.unlock(); }

 private:
  TurnLock& lock_;
};

}  // namespace gasg21::bindings
