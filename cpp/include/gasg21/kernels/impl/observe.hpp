// The kernels of observe.hpp for one instruction set; included once for each set.

namespace gasg21::kernels::GASG21_SET {

/// Adds the squares of the observed entries and, unless Whole, counts them.
template <class T, bool Whole>
GASG21_INLINE void observe_register(const Pack<T>& entries, Pack<T>& squares, Pack<T>& counts) {
  using P = Pack<T>;
  const P value = Whole ? entries : where_observed(entries, entries);
  squares += value * value;
  if constexpr (!Whole) counts += where_observed(entries, broadcast<P>(T(1)));
}

/// out = x. Returns the sum of squares of the observed entries, and counts them unless Whole: then
/// nothing should be missing, and the sum is NaN if something is.
template <class T, bool Whole>
GASG21_INLINE T observe_all(const T* x, uword n, T* out, uword& count) {
  constexpr uword lanes = bytes / sizeof(T);
  using P = Pack<T>;
  P squares[4] = {}, counts[4] = {};
  uword i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    GASG21_UNROLL
    for (uword k = 0; k < 4; ++k) {
      const P entries = load<P>(x + i + k * lanes);
      store(out + i + k * lanes, entries);
      observe_register<T, Whole>(entries, squares[k], counts[k]);
    }
  }
  for (; i + lanes <= n; i += lanes) {
    const P entries = load<P>(x + i);
    store(out + i, entries);
    observe_register<T, Whole>(entries, squares[0], counts[0]);
  }
  if (i < n) {  // in a register, too: a scalar loop may be rounded differently
    const P rest = load_first<T>(x + i, n - i);
    store_first<T>(out + i, rest, n - i);
    observe_register<T, Whole>(rest, squares[1], counts[1]);
  }
  if constexpr (!Whole) {
    count = 0;
    for (const Pack<T>& each : counts) count += lane_count<T>(each);
    count -= (lanes - (n - i)) % lanes;  // the lanes of `rest` beyond x
  }
  return lane_sum<T>((squares[0] + squares[1]) + (squares[2] + squares[3]));
}

template <class T>
T observe(const T* x, uword n, T* out, uword& count) {
  return observe_all<T, false>(x, n, out, count);
}
template <class T>
T observe_whole(const T* x, uword n, T* out) {
  uword all = n;
  return observe_all<T, true>(x, n, out, all);
}

/// The indices of the entries of x that are observed, or else of those that are missing, and the
/// former entries themselves. Returns their number.
template <class T, bool Missing>
GASG21_INLINE uword gather_entries(const T* x, uword n, uword* rows, T* values) {
  uword next = 0, i = 0;
#if GASG21_BYTES == 64
  const __m512i eight = _mm512_set1_epi64(8);
  __m512i at = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
  for (; i + 8 <= n; i += 8, at = _mm512_add_epi64(at, eight)) {
    __mmask8 chosen;
    if constexpr (sizeof(T) == 8) {
      const __m512d entries = _mm512_loadu_pd(x + i);
      chosen = _mm512_cmp_pd_mask(entries, entries, Missing ? _CMP_UNORD_Q : _CMP_ORD_Q);
      if constexpr (!Missing)
        _mm512_storeu_pd(values + next, _mm512_maskz_compress_pd(chosen, entries));
    } else {
      const __m256 entries = _mm256_loadu_ps(x + i);
      chosen = _mm256_cmp_ps_mask(entries, entries, Missing ? _CMP_UNORD_Q : _CMP_ORD_Q);
      if constexpr (!Missing)
        _mm256_storeu_ps(values + next, _mm256_maskz_compress_ps(chosen, entries));
    }
    _mm512_storeu_si512(rows + next, _mm512_maskz_compress_epi64(chosen, at));
    next += uword(__builtin_popcount(chosen));
  }
#elif GASG21_BYTES == 32
  using Rows = Register<long long>::Vector;
  for (Rows at = {0, 1, 2, 3}; i + 4 <= n; i += 4, at += 4) {
    unsigned chosen;
    if constexpr (sizeof(T) == 8) {
      const Pack<T> entries = load<Pack<T> >(x + i);
      chosen = observed_bits<T>(entries) ^ (Missing ? 15u : 0u);
      if constexpr (!Missing) store(values + next, compress<T>(entries, chosen));
    } else {  // half a register: as many entries as a register holds indices
      const __m128 entries = _mm_loadu_ps(x + i);
      chosen = unsigned(_mm_movemask_ps(_mm_cmpord_ps(entries, entries))) ^ (Missing ? 15u : 0u);
      if constexpr (!Missing) {
        const auto& order = lane_orders<4, 1>.parts[chosen];
        _mm_storeu_ps(
            values + next,
            _mm_permutevar_ps(entries, _mm_load_si128(reinterpret_cast<const __m128i*>(&order))));
      }
    }
    store(rows + next, compress<double>((Pack<double>)at, chosen));
    next += uword(__builtin_popcount(chosen));
  }
#endif
  for (; i < n; ++i) {  // without a branch, which could not be predicted
    rows[next] = i;
    if constexpr (!Missing) values[next] = x[i];
    next += (x[i] == x[i]) != Missing;
  }
  return next;
}

template <class T>
uword compact(const T* x, uword n, uword* rows, T* values) {
  return gather_entries<T, false>(x, n, rows, values);
}
template <class T>
uword missing(const T* x, uword n, uword* rows) {
  return gather_entries<T, true>(x, n, rows, nullptr);
}

template <class T>
void fill_missing(const T* x, uword n, T factor, T* out) {
  using P = Pack<T>;
  const P scale = broadcast<P>(factor);
  for (uword i = 0; i < n; i += bytes / sizeof(T)) {
    const P entries = load<P>(x + i);
    store(out + i, where_observed(entries, entries) * scale);
  }
}

template <class T>
inline constexpr ObserveKernels<T> observe_table{observe<T>, observe_whole<T>, compact<T>,
                                                 missing<T>, fill_missing<T>};

template <class T>
const ObserveKernels<T>& observe_kernels() {
  return observe_table<T>;
}

}  // namespace gasg21::kernels::GASG21_SET
