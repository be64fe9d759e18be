// Compacts rows with AVX-512, for gram_minority.hpp. A part of impl/tracked_basis.hpp.

namespace gasg21::kernels::GASG21_SET {

#if GASG21_BYTES == 64

/// The lanes of x that are missing (NaN), or else observed, as bits.
template <class T>
GASG21_INLINE unsigned lanes_of(const Pack<T>& x, bool missing) {
  constexpr unsigned all = sizeof(T) == 8 ? 0xff : 0xffff;
  unsigned bits;
  if constexpr (sizeof(T) == 8)
    bits = _mm512_cmp_pd_mask(x, x, _CMP_UNORD_Q);
  else
    bits = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
  return missing ? bits : bits ^ all;
}

/// The lanes of `first` and `second`, numbered on, in the given order.
template <class T>
GASG21_INLINE Pack<T> in_order(const Pack<T>& first, __m512i order, const Pack<T>& second) {
  if constexpr (sizeof(T) == 8)
    return _mm512_permutex2var_pd(first, order, second);
  else
    return _mm512_permutex2var_ps(first, order, second);
}

/// Collects the chosen lanes of row blocks of N columns in new row blocks. The last block, which is
/// not full yet, stays in registers.
template <class T, uword N>
struct Collector {
  static constexpr unsigned lanes = bytes / sizeof(T);
  Pack<T> last[N];
  T* out;
  unsigned count = 0;  // rows in `last`

  GASG21_INLINE explicit Collector(T* to) : out(to) {
    GASG21_UNROLL
    for (uword c = 0; c < N; ++c) last[c] = Pack<T>{};
  }

  GASG21_INLINE void add(const Pack<T> (&rows)[N], unsigned bits) {
    // Lane l of the result is lane l of `last` below `count`, then the next chosen one.
    __m512i chosen, order;
    if constexpr (sizeof(T) == 8) {
      const __m512i all = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
      chosen =
          _mm512_maskz_compress_epi64(__mmask8(bits), _mm512_add_epi64(all, _mm512_set1_epi64(8)));
      order = _mm512_mask_expand_epi64(all, __mmask8(0xffu << count), chosen);
    } else {
      const __m512i all = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
      chosen = _mm512_maskz_compress_epi32(__mmask16(bits),
                                           _mm512_add_epi32(all, _mm512_set1_epi32(16)));
      order = _mm512_mask_expand_epi32(all, __mmask16(0xffffu << count), chosen);
    }
    const unsigned total = count + unsigned(__builtin_popcount(bits));
    if (total < lanes) {
      GASG21_UNROLL
      for (uword c = 0; c < N; ++c) last[c] = in_order<T>(last[c], order, rows[c]);
      count = total;
      return;
    }
    const __m512i rest = after(chosen, lanes - count);
    GASG21_UNROLL
    for (uword c = 0; c < N; ++c) {
      store(out + c * lanes, in_order<T>(last[c], order, rows[c]));
      last[c] = in_order<T>(last[c], rest, rows[c]);
    }
    out += N * lanes;
    count = total - lanes;
  }

  /// Writes the last block, filled up with zeros. Returns the end of the blocks.
  GASG21_INLINE T* finish() {
    if (count == 0) return out;
    GASG21_UNROLL
    for (uword c = 0; c < N; ++c) {
      if constexpr (sizeof(T) == 8)
        last[c] = _mm512_maskz_mov_pd(__mmask8(~(0xffu << count)), last[c]);
      else
        last[c] = _mm512_maskz_mov_ps(__mmask16(~(0xffffu << count)), last[c]);
      store(out + c * lanes, last[c]);
    }
    return out + N * lanes;
  }

 private:
  /// The lanes of `chosen` from number `from` on.
  GASG21_INLINE static __m512i after(__m512i chosen, unsigned from) {
    if constexpr (sizeof(T) == 8) {
      const __m512i all = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
      return _mm512_maskz_permutexvar_epi64(0xff, _mm512_add_epi64(all, _mm512_set1_epi64(from)),
                                            chosen);
    } else {
      const __m512i all = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
      return _mm512_maskz_permutexvar_epi32(
          0xffff, _mm512_add_epi32(all, _mm512_set1_epi32(int(from))), chosen);
    }
  }
};

#endif

}  // namespace gasg21::kernels::GASG21_SET
