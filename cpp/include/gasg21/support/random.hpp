// A small random generator with a seed. Its draws are the same on every platform, unlike the
// distributions of the standard library (normal draws up to the rounding of the logarithm). It
// has no global state and does not read the clock.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"

namespace gasg21 {

/// xoshiro256** by Blackman and Vigna, seeded through splitmix64.
class Random {
 public:
  using State = std::array<std::uint64_t, 4>;

  explicit Random(std::uint64_t seed = 0) {
    for (auto& word : state_) word = split_mix(seed);
  }
  explicit Random(const State& state) : state_(state) {
    require((state[0] | state[1] | state[2] | state[3]) != 0,
            "random state {0, 0, 0, 0} must have a nonzero word");
  }

  const State& state() const { return state_; }

  std::uint64_t next() {
    const std::uint64_t result = rotate_left(state_[1] * 5, 7) * 9;
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = rotate_left(state_[3], 45);
    return result;
  }

  /// Uniform in [0, 1), with 53 random bits.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  /// Uniform in {0, ..., bound - 1}, without bias. Pre: bound > 0.
  std::uint64_t index(std::uint64_t bound) {
    std::uint64_t draw = next();
    while (draw < bound && draw < (0 - bound) % bound) draw = next();  // below 2^64 mod bound
    return remainder(draw, bound);
  }

  /// Standard normal, by the polar method. Drops the second value of the method, so that the state
  /// stays four words.
  double normal() {
    for (;;) {
      const double a = 2.0 * uniform() - 1.0;
      const double b = 2.0 * uniform() - 1.0;
      const double s = a * a + b * b;
      if (s > 0.0 && s < 1.0) return a * std::sqrt(-2.0 * std::log(s) / s);
    }
  }

  /// `count` draws of `normal`. Without an unpredictable branch, it takes half the time.
  template <class T>
  void normals(T* out, uword count) {
    constexpr uword most = 128;
    double a[most], s[most];
    for (uword done = 0; done < count;) {
      const uword here = std::min(most, count - done);
      Random own = *this;  // a local copy stays in registers
      for (uword kept = 0; kept < here;) {
        const double first = 2.0 * own.uniform() - 1.0;
        const double second = 2.0 * own.uniform() - 1.0;
        a[kept] = first;
        s[kept] = first * first + second * second;
        kept += (s[kept] > 0.0) & (s[kept] < 1.0);
      }
      *this = own;
      for (uword k = 0; k < here; ++k)
        out[done + k] = T(a[k] * std::sqrt(-2.0 * std::log(s[k]) / s[k]));
      done += here;
    }
  }

  /// An index drawn with probability proportional to its weight; uniform if no weight is positive.
  /// Pre: weights is not empty, and its entries are finite and not negative.
  uword weighted_index(const arma::vec& weights) {
    require(!weights.empty(), "weights is empty; there is nothing to draw from");
    const double total = arma::accu(weights);
    if (!(total > 0)) return index(weights.n_elem);
    double left = uniform() * total;
    uword last = 0;  // by rounding, `left` may stay positive after the last weight
    for (uword i = 0; i < weights.n_elem; ++i) {
      if (!(weights[i] > 0)) continue;
      last = i;
      left -= weights[i];
      if (left < 0) break;
    }
    return last;
  }

  /// The numbers 0 to count - 1 in random order, by the Fisher-Yates shuffle.
  arma::uvec permutation(uword count) {
    arma::uvec order(count);
    for (uword i = 0; i < count; ++i) order[i] = i;
    for (uword i = count; i > 1; --i) std::swap(order[i - 1], order[index(i)]);
    return order;
  }

 private:
  static std::uint64_t rotate_left(std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

  /// value % bound, in floating point: a division of 64-bit integers takes several times longer.
  static std::uint64_t remainder(std::uint64_t value, std::uint64_t bound) {
    if (bound < 2 || bound > (std::uint64_t(1) << 31)) return value % bound;
    const double inverse = 1.0 / double(std::int64_t(bound));
    // Of the upper 53 bits. It is off by at most 1, so the rest is below 2^44.
    const auto first = std::uint64_t(std::int64_t(double(std::int64_t(value >> 11)) * inverse));
    const std::uint64_t rest = value - (first << 11) * bound;  // modulo 2^64
    const auto second = std::int64_t(double(std::int64_t(rest)) * inverse);
    const auto size = std::int64_t(bound);
    const std::int64_t left = std::int64_t(rest) - second * size;
    return std::uint64_t(left + (left < 0 ? size : 0) - (left >= size ? size : 0));
  }

  static std::uint64_t split_mix(std::uint64_t& x) {
    std::uint64_t z = (x += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  State state_;
};

}  // namespace gasg21
