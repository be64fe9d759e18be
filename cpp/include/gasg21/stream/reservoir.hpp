// Reservoir: vectors that a stream keeps, and a test whether the order of the stream matters. In
// the natural order of a video or of sensors, consecutive vectors are alike. Alg. 2 takes that for
// a step that is too short. While it is so, updates use vectors drawn from the reservoir.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "gasg21/data/observation.hpp"
#include "gasg21/support/config.hpp"
#include "gasg21/support/error.hpp"
#include "gasg21/support/random.hpp"

namespace gasg21 {

/// All that a Reservoir knows. It can be copied and saved.
template <class T>
struct ReservoirState {
  static constexpr double first_window = 32;  // comparisons that the first share stands for

  uword n = 0, capacity = 0;  // entries of a vector, vectors at most; 0 = none
  std::vector<T> kept{};      // the vectors, one after the other; NaN = missing
  std::vector<T> previous{};  // the last vector, if the next one is to be compared with it
  std::uint64_t arrived = 0;  // vectors since it was empty
  double likeness = 1;  // running share of vectors more like the previous than like an old one
  double compared = first_window;  // comparisons in that share
  bool primed = false;             // a fit has filled it: draws need not wait until it is full
  bool drawing = true;             // the order matters
  std::uint64_t until_test = 0;    // vectors until the next comparison
  Random random{};
};

template <class T>
class Reservoir {
 public:
  /// Keeps up to `capacity` vectors of n entries. Its draws depend on nothing but their number.
  explicit Reservoir(uword n = 0, uword capacity = 0) {
    state_.n = n;
    state_.capacity = capacity;
  }
  /// Resumes.
  explicit Reservoir(ReservoirState<T> state) : state_(std::move(state)) {
    const ReservoirState<T>& s = state_;
    require(s.n == 0 ? s.kept.empty() : s.kept.size() % s.n == 0 && size() <= s.capacity,
            "the vectors of a reservoir must have ", s.n, " entries");
    require(s.previous.empty() || s.previous.size() == s.n,
            "the previous vector of a reservoir must have ", s.n, " entries");
    require(s.likeness >= 0 && s.likeness <= 1, "likeness=", s.likeness, " must be in [0, 1]");
  }

  /// Takes note of a vector, and may keep it. Returns whether the update is to use a drawn vector
  /// in its place.
  bool arrive(const Observation<T>& x) {
    ReservoirState<T>& s = state_;
    if (s.capacity == 0) return false;
    if (!s.previous.empty()) compare(x);
    s.previous.clear();
    if (s.drawing || s.until_test == 0) {
      s.previous.assign(x.dense(), x.dense() + s.n);
      s.until_test = test_interval;
    }
    --s.until_test;
    keep(x);
    return is_ready();
  }

  /// One of the vectors, at random.  Pre: it is not empty.
  const T* draw() { return vector(pick()); }

  /// Keeps a vector of the past, as if `arrived` vectors had come.
  void fill(const Observation<T>& x, std::uint64_t arrived) {
    if (size() < state_.capacity) append(x);
    state_.primed = true;
    state_.arrived = std::min<std::uint64_t>(arrived, 1u << 30);
  }

  /// Forgets everything.
  void clear() {
    ReservoirState<T> fresh;
    fresh.n = state_.n;
    fresh.capacity = state_.capacity;
    fresh.random = state_.random;
    state_ = std::move(fresh);
  }

  /// Number of vectors that it holds.
  uword size() const { return state_.n == 0 ? 0 : state_.kept.size() / state_.n; }
  uword capacity() const { return state_.capacity; }
  /// Whether the order of the stream matters, and there are vectors to draw.
  bool is_ready() const {
    return is_drawing() && (size() == state_.capacity || (state_.primed && size() > 0));
  }
  /// Whether the order of the stream matters.
  bool is_drawing() const { return state_.drawing && state_.capacity > 0; }
  const ReservoirState<T>& state() const { return state_; }

 private:
  // A vector replaces another one with at least this probability, so that the reservoir reaches
  // back capacity / renewal vectors: the reach must exceed the time over which vectors are alike.
  static constexpr double renewal = 0.01;
  // Hysteresis of the share of vectors that are more like the previous one: 1/2 if independent.
  static constexpr double order_matters = 0.62, order_does_not = 0.56;
  static constexpr double window = 256;              // of that share, in comparisons
  static constexpr std::uint64_t test_interval = 4;  // vectors between comparisons once it does not
  static constexpr uword least_entries = 32, most_entries = 512;  // that are compared

  const T* vector(uword k) const { return &state_.kept[k * state_.n]; }
  uword pick() { return uword(state_.random.uniform() * double(size())); }

  void forget_vectors() {
    state_.kept.clear();
    state_.arrived = 0;
    state_.primed = false;
  }

  /// The memory grows with the vectors that came, not with the capacity: a file may claim any. But
  /// the default of 64 is not copied while it grows.
  void append(const Observation<T>& x) {
    std::vector<T>& kept = state_.kept;
    if (kept.capacity() - kept.size() < state_.n)
      kept.reserve(state_.n * std::min<uword>(state_.capacity, 2 * size() + 64));
    kept.insert(kept.end(), x.dense(), x.dense() + state_.n);
  }

  void keep(const Observation<T>& x) {
    ReservoirState<T>& s = state_;
    ++s.arrived;
    if (size() < s.capacity) return append(x);
    if (s.random.uniform() >= std::max(renewal, double(s.capacity) / double(s.arrived))) return;
    std::copy(x.dense(), x.dense() + s.n, &s.kept[pick() * s.n]);
  }

  /// The value if `wanted`, else 0: by bits, because a branch would often be mispredicted and GCC
  /// makes one of a selection.
  static double zero_unless(bool wanted, double value) {
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    bits &= std::uint64_t(0) - std::uint64_t(wanted);
    std::memcpy(&value, &bits, sizeof(bits));
    return value;
  }

  /// Squared cosine of two vectors on the entries that both have, as a fraction. Where there are
  /// gaps a branch on them costs more than the sums.
  struct Cosine {
    double product = 0, first = 0, second = 0;
    template <bool Gaps>
    void add(double a, double b) {
      const double ab = a * b;
      const bool both = ab == ab;
      if (!Gaps && !both) return;
      product += Gaps ? zero_unless(both, ab) : ab;
      first += Gaps ? zero_unless(both, a * a) : a * a;
      second += Gaps ? zero_unless(both, b * b) : b * b;
    }
  };

  /// Compares x with the previous vector and with a kept one, on some of its entries.
  void compare(const Observation<T>& x) {
    ReservoirState<T>& s = state_;
    if (s.kept.empty()) return;
    const T* old = vector(pick());
    Cosine with_previous, with_old;
    const uword wanted = std::clamp<uword>(s.n / 8, least_entries, most_entries);
    const T* previous = s.previous.data();
    const auto add = [&](auto gaps, double value, uword row) {
      with_previous.template add<decltype(gaps)::value>(value, double(previous[row]));
      with_old.template add<decltype(gaps)::value>(value, double(old[row]));
    };
    const std::true_type gaps;
    const std::false_type no_gaps;
    if (x.few()) {
      const T* values = x.values();
      const uword* rows = x.rows();
      const uword step = std::max<uword>(1, x.count() / wanted);
      for (uword k = 0; k < x.count(); k += step) add(gaps, double(values[k]), rows[k]);
    } else {
      const T* values = x.dense();
      const uword step = std::max<uword>(1, s.n / wanted);
      if (x.full())
        for (uword i = 0; i < s.n; i += step) add(no_gaps, double(values[i]), i);
      else
        for (uword i = 0; i < s.n; i += step) add(gaps, double(values[i]), i);
    }
    const auto more = [](const Cosine& a, const Cosine& b) {
      return a.product * a.product * b.first * b.second;
    };
    const double near = more(with_previous, with_old), far = more(with_old, with_previous);
    s.compared = std::min(s.compared + 1, window);
    s.likeness += ((near > far ? 1 : near < far ? 0 : 0.5) - s.likeness) / s.compared;
    const bool drew =
        std::exchange(s.drawing, s.likeness > (s.drawing ? order_does_not : order_matters));
    // Vectors from before may be too old: if the subspace moves, they would hold it back.
    if (s.drawing && !drew) forget_vectors();
  }

  ReservoirState<T> state_;
};

}  // namespace gasg21
