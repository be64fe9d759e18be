// The roofline: how fast one update could be at most on this machine, measured beside the updates.
#pragma once

#include <algorithm>
#include <cmath>
#include <gasg21/support/aligned.hpp>
#include <limits>
#include <string>
#include <vector>

#include "loops.hpp"
#include "variants.hpp"

namespace speed {

inline std::vector<std::string> loop_sets() {
  std::vector<std::string> sets{"baseline"};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) sets.push_back("avx2");
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    sets.push_back("avx512");
#endif
  return sets;
}

template <class T>
Loops<T> loops(const std::string& set) {
#if defined(__x86_64__)
  if (set == "avx512") return avx512_loops<T>();
  if (set == "avx2") return avx2_loops<T>();
#endif
  return baseline_loops<T>();
}

/// Floating-point operations of one update at least. A multiplication and an addition are two.
/// Complete: U'x, U w and U + s v' take 2 n d each. Incomplete: U w and U + s v' still touch all
/// rows; U'x only those observed, and the symmetric U_Omega' U_Omega takes |Omega| d (d + 1).
/// Left out: what is O(n) or O(d^3).
inline double flops(double n, double d, double observed) {
  return observed == n ? 6 * n * d : 4 * n * d + 2 * observed * d + observed * d * (d + 1);
}

/// The machine's best, each the best of all times that `measure` was called.
template <class T>
struct Roofline {
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  double peak = 0;                 // flops a second
  double read_write_U = infinity;  // seconds
  double read_x = infinity;        // seconds, from where X lives
  double step = infinity;  // seconds, with the copy, see Passes; infinite if not compiled for d
  double residual = infinity;

  void measure(const Task& task, const std::string& set) {
    const Problem& p = task.problem;
    const Loops<T> loop = loops<T>(set);
    double done = 0;
    const double seconds = seconds_of([&] { done = loop.multiply_add(200000); });
    peak = std::max(peak, done / seconds);

    std::vector<T> U(p.n() * p.d(), T(1));
    const uword repeats = std::max<uword>(3, 400000 / U.size());
    loop.read_write(U.data(), U.size());
    read_write_U =
        std::min(read_write_U, seconds_each(repeats, [&] { loop.read_write(U.data(), U.size()); }));

    const uword columns = std::min<uword>(p.X.n_cols, std::max<uword>(30, 4000000 / p.n()));
    const arma::Mat<T>& X = task.data<T>();
    const double reads = seconds_of([&] {
      for (uword k = 0; k < columns; ++k) loop.read(X.colptr(p.order[k]), p.n());
    });
    read_x = std::min(read_x, reads / double(columns));
    if (const Passes<T>* passes = loop.passes(p.d())) measure_passes(*passes, task, repeats);
  }

  /// Seconds an update.
  double bound(const Problem& p) const {
    const double work = flops(double(p.n()), double(p.d()), p.observed) / peak;
    return std::max(work, read_write_U + read_x);
  }

  /// Seconds an update if its passes come one after the other, as they must: a copy of x and the
  /// step with b; the products of the rows in the minority; for the share `near` of the vectors the
  /// residual.
  double bound_of_passes(const Problem& p, double near) const {
    const double n = double(p.n()), d = double(p.d());
    const double products = std::min(p.observed, n - p.observed) * d * (d + 3);
    return step + products / peak + near * residual;
  }

 private:
  template <class Work>
  static double seconds_each(uword repeats, Work&& work) {
    const double all = seconds_of([&] {
      for (uword k = 0; k < repeats; ++k) work();
    });
    return all / double(repeats);
  }

  void measure_passes(const Passes<T>& passes, const Task& task, uword repeats) {
    const Problem& p = task.problem;
    const arma::Mat<T>& X = task.data<T>();
    const uword d = p.d(), lanes = 64 / sizeof(T), n = p.n() / (2 * lanes) * 2 * lanes;
    gasg21::Aligned<T> U(n * d, T(0)), zv(2 * d, T(1e-3)), r(n, T(1)), x(n), sums(d * lanes),
        moved(32 * (d + 1) * lanes);
    const double observed = p.observed / double(p.n());
    const auto tenths = unsigned(std::lround(10 * std::min(observed, 1 - observed)));
    const uword updates = std::min<uword>(p.order.n_elem - 1, std::max<uword>(repeats, 30));
    const double steps = seconds_of([&] {
      for (uword k = 0; k < updates; ++k) {
        passes.copy(X.colptr(p.order[k]), n, x.data(), sums.data());
        passes.step(U.data(), n, zv.data(), r.data(), x.data(), X.colptr(p.order[k + 1]),
                    sums.data(), moved.data(), tenths);
      }
    });
    step = std::min(step, steps / double(updates));
    residual = std::min(residual, seconds_each(repeats, [&] {
                          passes.residual(U.data(), n, zv.data(), x.data(), r.data(), sums.data());
                        }));
  }
};

}  // namespace speed
