// Compacts rows, for gram_minority.hpp. A part of impl/tracked_basis.hpp.

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

/// Lanes of two row blocks, chosen by bits.
template <class T>
struct ChosenLanes {
  static constexpr unsigned lanes = bytes / sizeof(T), all = (1u << lanes) - 1;
  __m512i both, second;  // the first `lanes` of them, in order; the same of the second row block
  unsigned in_first, in_both;

  GASG21_INLINE ChosenLanes(unsigned first_bits, unsigned second_bits)
      : in_first(unsigned(__builtin_popcount(first_bits))),
        in_both(in_first + unsigned(__builtin_popcount(second_bits))) {
    if constexpr (sizeof(T) == 8) {
      const __m512i number = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
      second = _mm512_maskz_compress_epi64(__mmask8(second_bits),
                                           _mm512_add_epi64(number, _mm512_set1_epi64(lanes)));
      both = _mm512_mask_expand_epi64(_mm512_maskz_compress_epi64(__mmask8(first_bits), number),
                                      __mmask8(all << in_first), second);
    } else {
      const __m512i number = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
      second = _mm512_maskz_compress_epi32(__mmask16(second_bits),
                                           _mm512_add_epi32(number, _mm512_set1_epi32(int(lanes))));
      both = _mm512_mask_expand_epi32(_mm512_maskz_compress_epi32(__mmask16(first_bits), number),
                                      __mmask16(all << in_first), second);
    }
  }
};

/// Compacts the chosen lanes of two row blocks at a time: appends lanes of each of N columns, in
/// order, to a column of `rows` entries of its own. Neither branches nor aligns what it stores: a
/// branch on how many lanes are chosen cannot be predicted, and costs more than both.
template <class T, uword N>
struct Collector {
  static constexpr unsigned lanes = bytes / sizeof(T);
  static constexpr uword rows = minority_rows<T>(N - 1);
  T* columns;
  uword count = 0;  // rows so far

  /// Appends the chosen lanes of column c, up to a register of them.
  GASG21_INLINE void append(uword c, const Pack<T>& first, const Pack<T>& second,
                            const ChosenLanes<T>& chosen) {
    store(columns + c * rows + count, in_order<T>(first, chosen.both, second));
  }
  /// Appends the chosen lanes of the second row block that `append` left out; `second(c)` is column
  /// c of it. Goes on behind them.
  template <class Column>
  GASG21_INLINE void go_on(const ChosenLanes<T>& chosen, Column&& second) {
    if (GASG21_UNLIKELY(chosen.in_both > lanes)) {
      T* const to = columns + count + chosen.in_first;
      GASG21_UNROLL
      for (uword c = 0; c < N; ++c) {
        const Pack<T> column = second(c);
        store(to + c * rows, in_order<T>(column, chosen.second, column));
      }
    }
    count += chosen.in_both;
  }
  /// Fills the last row block up with zeros and starts anew. Returns how many row blocks there are.
  GASG21_INLINE uword finish() {
    GASG21_UNROLL
    for (uword c = 0; c < N; ++c) store(columns + c * rows + count, Pack<T>{});
    return (std::exchange(count, 0) + lanes - 1) / lanes;
  }
};

#elif GASG21_BYTES == 32

/// Lanes of the two registers of a row block, chosen by whether x is missing there, or observed.
template <class T>
struct ChosenLanes {
  static constexpr unsigned lanes = bytes / sizeof(T), all = (1u << lanes) - 1, words = 8 / lanes;
  __m256i first, second;  // where they go in a register for both; `from_first`: which is there
  __m256i from_first, second_alone;  // the second register from lane 0 on
  unsigned in_first, count;

  GASG21_INLINE ChosenLanes(const Pack<T>& x, const Pack<T>& y, bool missing) {
    const unsigned flip = missing ? all : 0;
    const unsigned bits = observed_bits<T>(x) ^ flip, more = observed_bits<T>(y) ^ flip;
    in_first = unsigned(__builtin_popcount(bits));
    count = in_first + unsigned(__builtin_popcount(more));
    const __m256i number = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    const __m256i begin = _mm256_set1_epi32(int(in_first * words));
    first = order_of(bits);
    second_alone = order_of(more);
    from_first = _mm256_cmpgt_epi32(begin, number);
    second = _mm256_permutevar8x32_epi32(second_alone, _mm256_sub_epi32(number, begin));
  }
  /// The first `lanes` chosen ones of a column, in order.
  GASG21_INLINE Pack<T> of(const Pack<T>& u, const Pack<T>& v) const {
    const __m256i ahead = _mm256_permutevar8x32_epi32((__m256i)u, first);
    const __m256i behind = _mm256_permutevar8x32_epi32((__m256i)v, second);
    return (Pack<T>)_mm256_blendv_epi8(behind, ahead, from_first);
  }
  /// Those of its second register.
  GASG21_INLINE Pack<T> of_second(const Pack<T>& v) const {
    return (Pack<T>)_mm256_permutevar8x32_epi32((__m256i)v, second_alone);
  }

 private:
  GASG21_INLINE static __m256i order_of(unsigned bits) {
    return _mm256_load_si256(
        reinterpret_cast<const __m256i*>(&lane_orders<int(lanes), int(words)>.parts[bits]));
  }
};

#endif

}  // namespace gasg21::kernels::GASG21_SET
