// See loops.hpp. SPEED_LOOPS is the function that this compilation defines.
#include "loops.hpp"

#include <cstring>

namespace speed {
namespace {

#if defined(__AVX512F__)
constexpr std::size_t bytes = 64;
#elif defined(__AVX2__)
constexpr std::size_t bytes = 32;
#else
constexpr std::size_t bytes = 16;
#endif

template <class T>
using Vector [[gnu::vector_size(bytes)]] = T;
template <class T>
constexpr std::size_t lanes = bytes / sizeof(T);

template <class T>
Vector<T> load(const T* from) {
  Vector<T> v;
  std::memcpy(&v, from, bytes);
  return v;
}

/// The compiler must believe that the value is used.
template <class V>
void use(const V& value) {
  asm volatile("" : : "m"(value) : "memory");
}

template <class T>
[[gnu::noinline]] double multiply_add(std::size_t rounds) {
  constexpr std::size_t chains = 12;  // two units with a latency of four need eight
  Vector<T> sum[chains];
  for (std::size_t k = 0; k < chains; ++k) sum[k] = Vector<T>{} + T(k);
  const Vector<T> a = Vector<T>{} + T(0.999), b = Vector<T>{} + T(1e-3);
  for (std::size_t i = 0; i < rounds; ++i)
    for (std::size_t k = 0; k < chains; ++k) sum[k] = sum[k] * a + b;
  for (std::size_t k = 0; k < chains; ++k) use(sum[k]);
  return 2.0 * double(rounds * chains * lanes<T>);
}

template <class T>
[[gnu::noinline]] void read_write(T* u, std::size_t n) {
  const Vector<T> a = Vector<T>{} + T(0.5), b = Vector<T>{} + T(1);
  std::size_t i = 0;
  for (; i + 4 * lanes<T> <= n; i += 4 * lanes<T>)
    for (std::size_t k = 0; k < 4; ++k) {
      const Vector<T> v = load(u + i + k * lanes<T>) * a + b;
      std::memcpy(u + i + k * lanes<T>, &v, bytes);
    }
  for (; i + lanes<T> <= n; i += lanes<T>) {
    const Vector<T> v = load(u + i) * a + b;
    std::memcpy(u + i, &v, bytes);
  }
  for (; i < n; ++i) u[i] = u[i] * T(0.5) + T(1);
}

template <class T>
[[gnu::noinline]] void read(const T* x, std::size_t n) {
  constexpr std::size_t chains = 8;
  Vector<T> sum[chains] = {};
  std::size_t i = 0;
  for (; i + chains * lanes<T> <= n; i += chains * lanes<T>)
    for (std::size_t k = 0; k < chains; ++k) sum[k] += load(x + i + k * lanes<T>);
  for (; i + lanes<T> <= n; i += lanes<T>) sum[0] += load(x + i);
  T rest = 0;
  for (; i < n; ++i) rest += x[i];
  for (std::size_t k = 0; k < chains; ++k) use(sum[k]);
  use(rest);
}

template <class T, class V>
void store(T* to, const V& v) {
  std::memcpy(to, &v, bytes);
}

template <class T>
[[gnu::noinline]] void copy(const T* x, std::size_t n, T* to, T* squares) {
  Vector<T> sums[2] = {};
  for (std::size_t i = 0; i < n; i += 2 * lanes<T>)
    for (std::size_t k = 0; k < 2; ++k) {
      const Vector<T> v = load(x + i + k * lanes<T>);
      store(to + i + k * lanes<T>, v);
      sums[k] += v * v;
    }
  store(squares, sums[0] + sums[1]);
}

/// `step` for two registers of rows from U on. Also writes U and r to `moved`, unless null, as
/// columns of 32 registers.
template <class T, std::size_t D>
[[gnu::always_inline]] inline void step_rows(T* U, const T* zv, T* r, const T* x, T* moved,
                                             Vector<T> (&sums)[D]) {
  using V = Vector<T>;
  constexpr std::size_t L = lanes<T>, apart = 32 * L;
  V Uz[2] = {};
#pragma GCC unroll 16
  for (std::size_t c = 0; c < D; ++c) {
    const V z = V{} + zv[c];
    Uz[0] += load(U + c * L) * z;
    Uz[1] += load(U + (D + c) * L) * z;
  }
  const V shift[2] = {load(r) - Uz[0], load(r + L) - Uz[1]};
  const V entries[2] = {load(x), load(x + L)};
  store(r, shift[0]);
  store(r + L, shift[1]);
  asm("" : "+r"(U), "+r"(zv));  // or the compiler keeps them in registers, and spills the sums
#pragma GCC unroll 16
  for (std::size_t c = 0; c < D; ++c) {
    const V v = V{} + zv[D + c];
#pragma GCC unroll 2
    for (std::size_t k = 0; k < 2; ++k) {
      const V u = load(U + (k * D + c) * L) + shift[k] * v;
      store(U + (k * D + c) * L, u);
      sums[c] += u * entries[k];
      if (moved) store(moved + c * apart + k * L, u);
    }
  }
  if (moved) store(moved + D * apart, shift[0]), store(moved + D * apart + L, shift[1]);
}

template <class T, std::size_t D>
[[gnu::noinline]] void step(T* U, std::size_t n, const T* zv, T* r, const T* x, const T* next, T* b,
                            T* moved, unsigned tenths) {
  constexpr std::size_t L = lanes<T>;
  Vector<T> sums[D] = {};
  std::size_t at = 0;
  unsigned turn = 0;
  for (std::size_t i = 0; i < n; i += 2 * L, U += 2 * D * L) {
    for (std::size_t line = 0; line < 2 * L; line += 64 / sizeof(T))
      __builtin_prefetch(next + i + line, 0, 2);
    if (turn < tenths) {
      step_rows<T, D>(U, zv, r + i, x + i, moved + at, sums);
      at = (at + 2 * L) % (32 * L);
    } else {
      step_rows<T, D>(U, zv, r + i, x + i, nullptr, sums);
    }
    turn = turn < 9 ? turn + 1 : 0;
  }
#pragma GCC unroll 16
  for (std::size_t c = 0; c < D; ++c) store(b + c * L, sums[c]);
}

template <class T, std::size_t D>
[[gnu::noinline]] void residual(const T* U, std::size_t n, const T* w, const T* x, T* r, T* q) {
  using V = Vector<T>;
  constexpr std::size_t L = lanes<T>;
  V sums[D] = {};
  for (std::size_t i = 0; i < n; i += 2 * L, U += 2 * D * L) {
    V left[2] = {load(x + i), load(x + i + L)};
#pragma GCC unroll 16
    for (std::size_t c = 0; c < D; ++c) {
      const V weight = V{} + w[c];
      left[0] -= load(U + c * L) * weight;
      left[1] -= load(U + (D + c) * L) * weight;
    }
    store(r + i, left[0]);
    store(r + i + L, left[1]);
    asm("" : "+r"(U), "+r"(w));
#pragma GCC unroll 16
    for (std::size_t c = 0; c < D; ++c)
      sums[c] += load(U + c * L) * left[0] + load(U + (D + c) * L) * left[1];
  }
#pragma GCC unroll 16
  for (std::size_t c = 0; c < D; ++c) store(q + c * L, sums[c]);
}

template <class T, std::size_t D>
constexpr Passes<T> passes{copy<T>, step<T, D>, residual<T, D>};
template <class T>
const Passes<T>* passes_of(std::size_t d) {
  return d == 5 ? &passes<T, 5> : d == 9 ? &passes<T, 9> : d == 10 ? &passes<T, 10> : nullptr;
}

}  // namespace

template <class T>
Loops<T> SPEED_LOOPS() {
  return {multiply_add<T>, read_write<T>, read<T>, passes_of<T>};
}
template Loops<double> SPEED_LOOPS<double>();
template Loops<float> SPEED_LOOPS<float>();

}  // namespace speed
