// shared_stop.hpp: the thread that made it asks; the others read its answer.
#include <gasg21/support/shared_stop.hpp>
#include <thread>

#include "support.hpp"

using gasg21::Parallel;
using gasg21::SharedStop;

TEST_CASE("only the thread that made it asks whether to stop") {
  int asked = 0;
  const Parallel parallel(1, [&] { return ++asked == 2; });
  SharedStop stop(parallel);
  CHECK_FALSE(stop.poll());
  bool told = true;
  std::thread([&] { told = stop.poll(); }).join();
  CHECK_FALSE(told);
  CHECK(asked == 1);
  CHECK(stop.poll());
  std::thread([&] { told = stop.poll(); }).join();
  CHECK(told);
  CHECK(asked == 2);
}

TEST_CASE("work inside a task ends when the task is to stop") {
  const Parallel stopped(1, [] { return true; });
  SharedStop stop(stopped);
  int done = 0;
  CHECK_THROWS_AS(stop.alone().for_all(
                      3, [] { return 0; }, [&](gasg21::uword, int&) { ++done; }),
                  gasg21::Stopped);
  CHECK(done == 1);
}
