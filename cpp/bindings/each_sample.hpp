// A loop over samples for Python: without the GIL, on as many threads as pay.
#pragma once

#include <pybind11/pybind11.h>

#include <algorithm>
#include <gasg21/data/views.hpp>
#include <gasg21/support/parallel.hpp>

#include "watch.hpp"

namespace gasg21::bindings {

/// Runs work(j, sample, scratch) for each sample; `cost` of one stored entry is in
/// multiply-adds. Each thread has its own scratch = make_scratch().
template <class T, class MakeScratch, class Work>
void each_sample(const AnyView<T>& view, unsigned n_threads, double cost,
                 MakeScratch&& make_scratch, Work&& work) {
  constexpr double task = 1e5;  // some 40 us
  const uword m = view.n_cols;
  const double all = cost * view.stored_entries(), each = std::max(1.0, all / double(m));
  const auto chunk = uword(std::max(1.0, std::min(task / each, double(m))));
  without_gil(worthwhile(n_threads, all), [&](const Parallel& parallel) {
    parallel.for_all((m + chunk - 1) / chunk, make_scratch, [&](uword t, auto& scratch) {
      for (uword j = t * chunk; j < std::min(m, (t + 1) * chunk); ++j)
        work(j, view.sample(j), scratch);
    });
  });
}

}  // namespace gasg21::bindings
