// The kernels of observe.hpp for one instruction set; included once for each.

namespace gasg21::kernels::GASG21_SET {

/// out = x for a register; adds the squares of what is observed and, unless Whole, counts it.
template <class T, bool Whole>
GASG21_INLINE void look_at(const T* x, T* out, Pack<T>& squares, Pack<T>& counts) {
  using P = Pack<T>;
  const P seen = load<P>(x), value = Whole ? seen : where_observed(seen, seen);
  store(out, seen);
  squares += value * value;
  if constexpr (!Whole) counts += where_observed(seen, broadcast<P>(T(1)));
}

/// out = x. Returns the sum of the squares of what is observed, and counts it unless Whole: then
/// nothing should be missing, or the sum is NaN.
template <class T, bool Whole>
GASG21_INLINE T look(const T* x, uword n, T* out, uword& count) {
  constexpr uword lanes = bytes / sizeof(T);
  Pack<T> squares[4] = {}, counts[4] = {};
  uword i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    GASG21_UNROLL
    for (int k = 0; k < 4; ++k)
      look_at<T, Whole>(x + i + k * lanes, out + i + k * lanes, squares[k], counts[k]);
  }
  for (; i + lanes <= n; i += lanes) look_at<T, Whole>(x + i, out + i, squares[0], counts[0]);
  if (i < n) {  // in a register, too: one by one the compiler would round it in either of two ways
    T rest[lanes] = {};
    std::copy(x + i, x + n, rest);
    look_at<T, Whole>(rest, rest, squares[1], counts[1]);
    std::copy(rest, rest + (n - i), out + i);
  }
  if constexpr (!Whole) {
    count = 0;
    for (const Pack<T>& each : counts) count += lane_count<T>(each);
    count -= (lanes - (n - i)) % lanes;  // what `rest` has beyond x
  }
  return lane_sum<T>((squares[0] + squares[1]) + (squares[2] + squares[3]));
}

template <class T>
T observe(const T* x, uword n, T* out, uword& count) {
  return look<T, false>(x, n, out, count);
}
template <class T>
T observe_whole(const T* x, uword n, T* out) {
  uword all = n;
  return look<T, true>(x, n, out, all);
}

/// What is observed of x, and where. Returns how much it is.
template <class T>
uword compact(const T* x, uword n, uword* rows, T* values) {
  uword next = 0, i = 0;
#if GASG21_BYTES == 64
  const __m512i eight = _mm512_set1_epi64(8);
  __m512i at = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
  for (; i + 8 <= n; i += 8, at = _mm512_add_epi64(at, eight)) {
    __mmask8 observed;
    if constexpr (sizeof(T) == 8) {
      const __m512d seen = _mm512_loadu_pd(x + i);
      observed = _mm512_cmp_pd_mask(seen, seen, _CMP_ORD_Q);
      _mm512_storeu_pd(values + next, _mm512_maskz_compress_pd(observed, seen));
    } else {
      const __m256 seen = _mm256_loadu_ps(x + i);
      observed = _mm256_cmp_ps_mask(seen, seen, _CMP_ORD_Q);
      _mm256_storeu_ps(values + next, _mm256_maskz_compress_ps(observed, seen));
    }
    _mm512_storeu_si512(rows + next, _mm512_maskz_compress_epi64(observed, at));
    next += uword(__builtin_popcount(observed));
  }
#elif GASG21_BYTES == 32
  using Rows = Register<long long>::Vector;
  for (Rows at = {0, 1, 2, 3}; i + 4 <= n; i += 4, at += 4) {
    unsigned observed;
    if constexpr (sizeof(T) == 8) {
      const Pack<T> seen = load<Pack<T> >(x + i);
      observed = observed_bits<T>(seen);
      store(values + next, compress<T>(seen, observed));
    } else {  // half a register, as there are rows in one
      const __m128 seen = _mm_loadu_ps(x + i);
      observed = unsigned(_mm_movemask_ps(_mm_cmpord_ps(seen, seen)));
      const auto& order = lane_orders<4, 1>.parts[observed];
      _mm_storeu_ps(
          values + next,
          _mm_permutevar_ps(seen, _mm_load_si128(reinterpret_cast<const __m128i*>(&order))));
    }
    store(rows + next, compress<double>((Pack<double>)at, observed));
    next += uword(__builtin_popcount(observed));
  }
#endif
  for (; i < n; ++i) {  // without a branch, which could not be guessed
    rows[next] = i;
    values[next] = x[i];
    next += x[i] == x[i];
  }
  return next;
}

template <class T>
inline constexpr ObserveKernels<T> observe_table{observe<T>, observe_whole<T>, compact<T>};

template <class T>
const ObserveKernels<T>& observe_kernels() {
  return observe_table<T>;
}

}  // namespace gasg21::kernels::GASG21_SET
