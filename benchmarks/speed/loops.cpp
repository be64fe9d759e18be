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

}  // namespace

template <class T>
Loops<T> SPEED_LOOPS() {
  return {multiply_add<T>, read_write<T>, read<T>};
}
template Loops<double> SPEED_LOOPS<double>();
template Loops<float> SPEED_LOOPS<float>();

}  // namespace speed
