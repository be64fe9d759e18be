// Vectors of one register of GASG21_BYTES bytes: the vector types of GCC and Clang, or arrays.
// Included once for each instruction set. All functions must be inlined into kernels of the same
// set, so that they use its instructions.

namespace gasg21::kernels::GASG21_SET {

inline constexpr int bytes = GASG21_BYTES;

/// Columns whose Gram matrix stays in registers, of which there are 32 or 16.
inline constexpr uword max_tile = bytes == 64 ? 5 : 3;

/// Kernels are compiled for each number of columns up to this one: the sums of a pass then stay in
/// registers.
inline constexpr uword max_fixed = bytes >= 32 ? 10 : 5;

/// Whether `sums` of D columns takes G as I less the sum over the missing rows if they are in the
/// minority (D = 0: any number of columns), and whether it finds U_Omega'e. (Compacting up to 4
/// columns costs AVX-512 more than it saves, and up to 5 AVX2.)
template <uword D>
inline constexpr bool subtracts = bytes == 64 ? (D > 4) : bytes == 32 && D > 5;
template <uword D>
inline constexpr bool finds_direction = bytes == 64 ? D != 0 : subtracts<D>;

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
/// a where x equals y, else 0.
template <class P>
GASG21_INLINE P where_equal(const P& x, const P& y, const P& a) {
  return (P)((decltype(x == y))a & (x == y));
}
/// a where a is less than b, else b, also if one of them is NaN.
template <class P>
GASG21_INLINE P smaller(const P& a, const P& b) {
  const auto less = a < b;
  return (P)(((decltype(a < b))a & less) | ((decltype(a < b))b & ~less));
}
/// a where a is greater than b, else b, also if one of them is NaN.
template <class P>
GASG21_INLINE P larger(const P& a, const P& b) {
  const auto greater = a > b;
  return (P)(((decltype(a > b))a & greater) | ((decltype(a > b))b & ~greater));
}
template <class P, class T>
GASG21_INLINE P broadcast(T value) {
  return value - P{};
}

/// Swaps the off-diagonal S x S blocks of two rows of a matrix. Returns the upper row, or the lower
/// one if Below.
template <class P, int S, bool Below, int... J>
GASG21_INLINE P exchange(const P& a, const P& b, std::integer_sequence<int, J...>) {
  constexpr int lanes = sizeof...(J);
#if defined(__clang__)
  return __builtin_shufflevector(a, b,
                                 (J & S ? lanes + J - (Below ? 0 : S) : J + (Below ? S : 0))...);
#else
  using Mask = decltype(a == b);
  return __builtin_shuffle(a, b,
                           Mask{(J & S ? lanes + J - (Below ? 0 : S) : J + (Below ? S : 0))...});
#endif
}
template <class T, int S>
GASG21_INLINE void exchange_blocks(Pack<T> (&row)[bytes / sizeof(T)]) {
  constexpr int lanes = bytes / int(sizeof(T));
  using All = std::make_integer_sequence<int, lanes>;
  GASG21_UNROLL
  for (int i = 0; i < lanes; ++i)
    if ((i & S) == 0) {
      const Pack<T> a = row[i], b = row[i + S];
      row[i] = exchange<Pack<T>, S, false>(a, b, All{});
      row[i + S] = exchange<Pack<T>, S, true>(a, b, All{});
    }
}

/// Transposes the matrix with the given rows.
template <class T>
GASG21_INLINE void transpose(Pack<T> (&row)[bytes / sizeof(T)]) {
  constexpr int lanes = bytes / int(sizeof(T));
  if constexpr (lanes > 1) exchange_blocks<T, 1>(row);
  if constexpr (lanes > 2) exchange_blocks<T, 2>(row);
  if constexpr (lanes > 4) exchange_blocks<T, 4>(row);
  if constexpr (lanes > 8) exchange_blocks<T, 8>(row);
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
template <class P>
P where_equal(const P& x, const P& y, const P& a) {
  return P::make([&](int l) { return x[l] == y[l] ? a[l] : 0; });
}
template <class P>
P smaller(const P& a, const P& b) {
  return P::make([&](int l) { return a[l] < b[l] ? a[l] : b[l]; });
}
template <class P>
P larger(const P& a, const P& b) {
  return P::make([&](int l) { return a[l] > b[l] ? a[l] : b[l]; });
}
template <class P, class T>
P broadcast(T value) {
  return P::make([&](int) { return value; });
}
template <class T>
void transpose(Pack<T> (&row)[bytes / sizeof(T)]) {
  for (int i = 0; i < Pack<T>::size; ++i)
    for (int j = 0; j < i; ++j) std::swap(row[i].lane[j], row[j].lane[i]);
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

/// The first `count` entries, fewer than a register holds; 0 in the other lanes. (By masks where
/// they exist: a register that is loaded right after parts of it were stored waits for them.)
template <class T>
GASG21_INLINE Pack<T> load_first(const T* from, uword count) {
#if GASG21_BYTES == 64
  if constexpr (sizeof(T) == 8)
    return _mm512_maskz_loadu_pd(__mmask8((1u << count) - 1), from);
  else
    return _mm512_maskz_loadu_ps(__mmask16((1u << count) - 1), from);
#else
  T lane[bytes / sizeof(T)] = {};
  for (uword l = 0; l < count; ++l) lane[l] = from[l];
  return load<Pack<T> >(lane);
#endif
}
template <class T>
GASG21_INLINE void store_first(T* to, const Pack<T>& p, uword count) {
#if GASG21_BYTES == 64
  if constexpr (sizeof(T) == 8)
    _mm512_mask_storeu_pd(to, __mmask8((1u << count) - 1), p);
  else
    _mm512_mask_storeu_ps(to, __mmask16((1u << count) - 1), p);
#else
  T lane[bytes / sizeof(T)];
  store(lane, p);
  for (uword l = 0; l < count; ++l) to[l] = lane[l];
#endif
}

/// sum + a * b. By assembly for AVX2: GCC would load b from memory again for each sum.
template <class T>
GASG21_INLINE Pack<T> multiply_add(const Pack<T>& a, const Pack<T>& b, Pack<T> sum) {
#if GASG21_BYTES == 32
  if constexpr (sizeof(T) == 8)
    __asm__("vfmadd231pd {%1, %2, %0|%0, %2, %1}" : "+x"(sum) : "x"(a), "x"(b));
  else
    __asm__("vfmadd231ps {%1, %2, %0|%0, %2, %1}" : "+x"(sum) : "x"(a), "x"(b));
  return sum;
#else
  return sum + a * b;
#endif
}

/// The sum of all lanes: adds the upper half to the lower one until one lane is left. (By
/// intrinsics, which take a third of the instructions that GCC makes of a loop; and masked ones,
/// because GCC 12 warns that the others use uninitialised memory.)
template <class T>
GASG21_INLINE T lane_sum(const Pack<T>& p) {
#if GASG21_BYTES >= 32
  if constexpr (sizeof(T) == 8) {
#if GASG21_BYTES == 64
    const __m256d q =
        _mm512_maskz_extractf64x4_pd(0xff, p, 0) + _mm512_maskz_extractf64x4_pd(0xff, p, 1);
#else
    const __m256d q = p;
#endif
    const __m128d half = _mm256_castpd256_pd128(q) + _mm256_extractf128_pd(q, 1);
    return half[0] + half[1];
  } else {
#if GASG21_BYTES == 64
    const __m256 q =
        _mm512_maskz_extractf32x8_ps(0xff, p, 0) + _mm512_maskz_extractf32x8_ps(0xff, p, 1);
#else
    const __m256 q = p;
#endif
    const __m128 half = _mm256_castps256_ps128(q) + _mm256_extractf128_ps(q, 1);
    const __m128 quarter = half + _mm_movehl_ps(half, half);
    return quarter[0] + quarter[1];
  }
#else
  constexpr int lanes = bytes / int(sizeof(T));
  if constexpr (lanes == 2)
    return p[0] + p[1];
  else
    return (p[0] + p[2]) + (p[1] + p[3]);
#endif
}

/// Whether each lane of a is less than the lane of b; false if one of them is NaN.
template <class T>
GASG21_INLINE bool all_less(const Pack<T>& a, const Pack<T>& b) {
#if GASG21_BYTES == 64
  if constexpr (sizeof(T) == 8)
    return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ) == 0xff;
  else
    return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ) == 0xffff;
#else
  bool all = true;
  for (int l = 0; l < bytes / int(sizeof(T)); ++l) all &= a[l] < b[l];
  return all;
#endif
}

/// The sum of all lanes that hold whole numbers, exact even if T cannot hold it.
template <class T>
GASG21_INLINE uword lane_count(const Pack<T>& p) {
  constexpr int lanes = bytes / int(sizeof(T));
  T lane[lanes];
  std::memcpy(lane, &p, bytes);
  uword count = 0;
  for (int l = 0; l < lanes; ++l) count += uword(lane[l]);
  return count;
}

#if GASG21_BYTES == 32

/// The observed lanes (not NaN), as bits.
template <class T>
GASG21_INLINE unsigned observed_bits(const Pack<T>& x) {
  if constexpr (sizeof(T) == 8)
    return unsigned(_mm256_movemask_pd((__m256d)(x == x)));
  else
    return unsigned(_mm256_movemask_ps((__m256)(x == x)));
}

/// Moves the lanes whose bits are set to the front; the others are undefined.
template <class T>
GASG21_INLINE Pack<T> compress(const Pack<T>& p, unsigned bits) {
  constexpr int lanes = bytes / int(sizeof(T));
  const auto& order = lane_orders<lanes, 8 / lanes>.parts[bits];
  return (Pack<T>)_mm256_permutevar8x32_epi32(
      (__m256i)p, _mm256_load_si256(reinterpret_cast<const __m256i*>(&order)));
}

#endif

}  // namespace gasg21::kernels::GASG21_SET
