// support/parallel.hpp: every task runs once on any number of threads; stops and errors reach the
// caller.
#include <atomic>
#include <chrono>
#include <gasg21/support/parallel.hpp>
#include <thread>
#include <vector>

#include "support.hpp"

using gasg21::Parallel;
using support::uword;

namespace {

const auto no_scratch = [] { return 0; };

/// Runs `n_tasks` tasks and counts how often each one ran.
struct Counted {
  std::vector<std::atomic<int>> runs;
  bool finished = false;

  Counted(const Parallel& parallel, uword n_tasks) : runs(n_tasks) {
    finished = parallel.for_each(n_tasks, no_scratch, [&](uword task, int&) { ++runs.at(task); });
  }
  uword total() const {
    uword sum = 0;
    for (const auto& count : runs) sum += uword(count);
    return sum;
  }
};

/// The message of the std::runtime_error that `act` throws.
template <class Act>
std::string failure(Act&& act) {
  try {
    act();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("every task runs exactly once, for any number of threads") {
  for (const unsigned threads : {0u, 1u, 2u, 3u, 7u, 16u})
    for (const uword n_tasks : {0u, 1u, 2u, 5u, 1000u}) {
      CAPTURE(threads);
      CAPTURE(n_tasks);
      const Counted counted(Parallel(threads), n_tasks);
      CHECK(counted.finished);
      CHECK(std::all_of(counted.runs.begin(), counted.runs.end(), [](int n) { return n == 1; }));
    }
  CHECK(Parallel().n_threads() == 1);
  CHECK(Parallel(0).n_threads() == 1);
  CHECK(Parallel(5).n_threads() == 5);
}

TEST_CASE("each thread has its own scratch, and there are no more threads than tasks") {
  for (const unsigned threads : {1u, 4u, 9u}) {
    std::atomic<int> made{0}, foreign{0};
    Parallel(threads).for_each(
        5,
        [&] {
          ++made;
          return std::this_thread::get_id();
        },
        [&](uword, std::thread::id owner) { foreign += owner != std::this_thread::get_id(); });
    CHECK(foreign == 0);
    CHECK(made >= 1);
    CHECK(made <= int(std::min(threads, 5u)));
  }
}

TEST_CASE("little work gets one thread, much work all, and either can be stopped") {
  const Parallel all(4, [] { return true; });
  CHECK(all.for_work(9e5).n_threads() == 1);
  CHECK(all.for_work(1.5e6).n_threads() == 2);
  CHECK(all.for_work(1e12).n_threads() == 4);
  CHECK(all.for_work(0).is_stopped());
}

TEST_CASE("one thread runs the tasks in order") {
  std::vector<uword> order;
  Parallel(1).for_each(20, no_scratch, [&](uword task, int&) { order.push_back(task); });
  for (uword task = 0; task < 20; ++task) CHECK(order.at(task) == task);
}

TEST_CASE("stop prevents further tasks, and for_each returns false") {
  int calls = 0;
  const Parallel alone(1, [&] { return ++calls == 3; });
  const Counted counted(alone, 10);
  CHECK_FALSE(counted.finished);
  CHECK(counted.total() == 3);
  CHECK(counted.runs[2] == 1);

  for (const unsigned threads : {2u, 4u}) {
    const auto caller = std::this_thread::get_id();
    bool elsewhere = false;  // only the calling thread calls stop, so this needs no lock
    calls = 0;
    const Parallel parallel(threads, [&] {
      elsewhere = elsewhere || std::this_thread::get_id() != caller;
      return ++calls == 3;
    });
    std::atomic<uword> ran{0};
    // Ten seconds of work, stopped after some milliseconds.
    const bool finished = parallel.for_each(10'000, no_scratch, [&](uword, int&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ++ran;
    });
    CHECK_FALSE(finished);
    CHECK(calls == 3);
    CHECK(ran >= 3);
    CHECK(ran < 5'000);
    CHECK_FALSE(elsewhere);
  }
}

TEST_CASE("a stop function that returns false changes nothing, and a Parallel can be used again") {
  const Parallel parallel(3, [] { return false; });
  for (int again = 0; again < 3; ++again) {
    const Counted counted(parallel, 100);
    CHECK(counted.finished);
    CHECK(counted.total() == 100);
  }
}

TEST_CASE("each link of each chain runs once, after the one before it") {
  for (const unsigned threads : {1u, 2u, 3u, 8u})
    for (const uword n_chains : {0u, 1u, 2u, 3u, 7u}) {
      CAPTURE(threads);
      CAPTURE(n_chains);
      constexpr uword length = 200;
      std::vector<uword> done(n_chains, 0);  // not atomic: no two links of a chain run at once
      std::atomic<int> wrong{0};
      Parallel(threads).for_chains(n_chains, length, no_scratch,
                                   [&](uword chain, uword link, int&) {
                                     // The first chain takes most of the time, so that the others
                                     // wait for it at the end.
                                     if (chain == 0)
                                       std::this_thread::sleep_for(std::chrono::microseconds(10));
                                     wrong += link != done.at(chain)++;
                                   });
      CHECK(wrong == 0);
      CHECK(std::all_of(done.begin(), done.end(), [](uword links) { return links == length; }));
    }
}

TEST_CASE("one thread runs all chains side by side") {
  std::vector<uword> order;
  Parallel(1).for_chains(3, 4, no_scratch,
                         [&](uword chain, uword link, int&) { order.push_back(3 * link + chain); });
  for (uword k = 0; k < 12; ++k) CHECK(order.at(k) == k);
}

TEST_CASE("chains can be stopped, and an error in a link ends them") {
  for (const unsigned threads : {1u, 3u}) {
    std::atomic<int> calls{0}, ran{0};
    const Parallel stopping(threads, [&] { return ++calls == 3; });
    CHECK_THROWS_AS(
        stopping.for_chains(3, 10'000, no_scratch,
                            [&](uword, uword, int&) {
                              std::this_thread::sleep_for(std::chrono::microseconds(50));
                              ++ran;
                            }),
        gasg21::Stopped);
    CHECK(ran < 15'000);
    CHECK(failure([&] {
            Parallel(threads).for_chains(3, 100, no_scratch, [&](uword chain, uword link, int&) {
              if (chain == 1 && link == 5) throw std::runtime_error("link 5");
            });
          }) == "link 5");
  }
}

TEST_CASE("an exception in a worker thread reaches the caller unchanged") {
  const auto caller = std::this_thread::get_id();
  for (const unsigned threads : {2u, 5u}) {
    std::atomic<bool> thrown{false};
    const auto message = failure([&] {
      Parallel(threads).for_each(threads, no_scratch, [&](uword, int&) {
        if (std::this_thread::get_id() != caller) {
          thrown = true;
          throw std::runtime_error("from a worker");
        }
        while (!thrown) std::this_thread::yield();  // leave at least one task to a worker
      });
    });
    CHECK(message == "from a worker");
  }
}

TEST_CASE("an exception of a task, of make_scratch or of stop ends the work") {
  std::atomic<int> ran{0};
  CHECK(failure([&] {
          Parallel(1).for_each(10, no_scratch, [&](uword task, int&) {
            ++ran;
            if (task == 3) throw std::runtime_error("task 3");
          });
        }) == "task 3");
  CHECK(ran == 4);
  for (const unsigned threads : {1u, 3u}) {
    CHECK(failure([&] {  // all threads fail: the caller gets one of the errors
            Parallel(threads).for_each(
                100, []() -> int { throw std::runtime_error("no memory"); }, [](uword, int&) {});
          }) == "no memory");
    // Only the calling thread calls stop, so the other tasks wait until it has run one.
    std::atomic<bool> called{false};
    CHECK(failure([&] {
            Parallel(threads, [&]() -> bool {
              called = true;
              throw std::runtime_error("interrupted");
            }).for_each(threads, no_scratch, [&, caller = std::this_thread::get_id()](uword, int&) {
              while (!called && std::this_thread::get_id() != caller) std::this_thread::yield();
            });
          }) == "interrupted");
  }
}
