// Vectors of one register of GASG21_BYTES bytes, by the compiler's own means (GCC, Clang), or by
// arrays. Included once for each instruction set. All functions must be inlined into kernels of the
// same set: that is how they get its instructions.

namespace gasg21::kernels::GASG21_SET {

inline constexpr int bytes = GASG21_BYTES;

/// Columns of which all products stay in registers, of which there are 32, or 16.
inline constexpr uword max_tile = bytes == 64 ? 5 : 3;

#if defined(__GNUC__)

template <class T>
struct Register {
  typedef T Vector __attribute__((vector_size(GASG21_BYTES)));
};
template <class T>
using Pack = typename Register<T>::Vector;

/// a where x is observed (not NaN), else 0. (A selection x == x ? a : 0 crashes GCC 12.)
template <class P>
GASG21_INLINE P where_observed(const P& x, const P& a) {
  return (P)((decltype(x == x))a & (x == x));
}
template <class P, class T>
GASG21_INLINE P broadcast(T value) {
  return value - P{};
}

#else

template <class T>
struct Pack {
  static constexpr int size = bytes / int(sizeof(T));
  T lane[size];
  T operator[](int l) const { return lane[l]; }
  template <class F>
  static Pack make(F f) {
    Pack p;
    for (int l = 0; l < size; ++l) p.lane[l] = f(l);
    return p;
  }
  friend Pack operator+(Pack a, Pack b) {
    return make([&](int l) { return a.lane[l] + b.lane[l]; });
  }
  friend Pack operator-(Pack a, Pack b) {
    return make([&](int l) { return a.lane[l] - b.lane[l]; });
  }
  friend Pack operator*(Pack a, Pack b) {
    return make([&](int l) { return a.lane[l] * b.lane[l]; });
  }
  friend Pack operator/(Pack a, Pack b) {
    return make([&](int l) { return a.lane[l] / b.lane[l]; });
  }
  Pack& operator+=(Pack b) { return *this = *this + b; }
};
template <class P>
P where_observed(const P& x, const P& a) {
  return P::make([&](int l) { return x[l] == x[l] ? a[l] : 0; });
}
template <class P, class T>
P broadcast(T value) {
  return P::make([&](int) { return value; });
}

#endif

template <class P, class T>
GASG21_INLINE P load(const T* from) {
  P p;
  std::memcpy(&p, from, sizeof(P));
  return p;
}
template <class P, class T>
GASG21_INLINE void store(T* to, const P& p) {
  std::memcpy(to, &p, sizeof(P));
}

/// The sum of all lanes, by halves.
template <class T>
GASG21_INLINE T lane_sum(const Pack<T>& p) {
  constexpr int lanes = bytes / int(sizeof(T));
  T lane[lanes];
  std::memcpy(lane, &p, bytes);
  for (int width = lanes / 2; width > 0; width /= 2)
    for (int l = 0; l < width; ++l) lane[l] += lane[l + width];
  return lane[0];
}

/// The same for whole numbers, exact beyond what T holds.
template <class T>
GASG21_INLINE uword lane_count(const Pack<T>& p) {
  constexpr int lanes = bytes / int(sizeof(T));
  T lane[lanes];
  std::memcpy(lane, &p, bytes);
  uword count = 0;
  for (int l = 0; l < lanes; ++l) count += uword(lane[l]);
  return count;
}

}  // namespace gasg21::kernels::GASG21_SET
