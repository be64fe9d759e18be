// `sums` for 6 to 10 columns with AVX-512, if something is missing: the rows in the minority,
// missing or observed, are compacted before their products are summed. Where they are the missing
// ones, U_Omega'U_Omega is I less their sum. A part of impl/tracked_basis.hpp.

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

/// Adds the products of N columns, the last one only with the others, in register tiles.
template <class T, uword N>
GASG21_INLINE void add_minority(const T* blocks, uword n_blocks, T* sums) {
  const Chunk<T> chunk{blocks, nullptr, n_blocks, N};
  const Ahead<T> none{blocks, 0};
  constexpr uword L = block_rows<T>;
#define GASG21_TILE(R, C, corner, i) \
  add_tile<T, R, C, corner, L, false, true>(chunk, i, 0, sums, none)
  if constexpr (N <= 8) {
    GASG21_TILE(4, 0, true, 0);
    GASG21_TILE(N - 4, 4, true, 4);
  } else if constexpr (N <= 10) {
    GASG21_TILE(5, 0, true, 0);
    GASG21_TILE(N - 5, 5, false, 5);
    GASG21_TILE(N - 5, 0, true, 5);
  } else {
    GASG21_TILE(5, 0, true, 0);
    GASG21_TILE(3, 5, true, 5);
    GASG21_TILE(3, 8, false, 8);
    GASG21_TILE(3, 0, true, 8);
  }
#undef GASG21_TILE
}

template <class T, uword D, bool Moving>
GASG21_INLINE T sums_of_minority(const SumsTask<T>& task) {
  using P = Pack<T>;
  constexpr uword N = D + 1, L = block_rows<T>, most = minority_blocks(D), at_once = 32;
  T *const products = task.scratch, *const blocks = products + N * (N + 1) / 2 * L;
  std::fill(products, blocks, T(0));
  const PendingStep<T> step = Moving ? *task.step : PendingStep<T>{};
  const T* const direction = Moving ? step.e : task.e;
  const bool missing = task.Ue != nullptr;
  P b[D], xe = P{};
  GASG21_UNROLL
  for (uword c = 0; c < D; ++c) b[c] = P{};
  Collector<T, N> minority(blocks);
  for (uword from = 0, to; from < task.n_blocks; from = to) {
    to = std::min(from + at_once, task.n_blocks);
    P u[N];
    if constexpr (Moving) apply_to_blocks<T, D>(task.U, from, to, step);
    for (uword block = from; block < to; ++block) {
      const T* const at = task.U + block * D * L;
      GASG21_PREFETCH_L2(task.next + block * L);
      load_block<T>(at, u, D);
      u[D] = load<P>(direction + block * L);
      const P x = load<P>(task.x + block * L), value = where_observed(x, x);
      xe += value * u[D];
      GASG21_UNROLL
      for (uword c = 0; c < D; ++c) b[c] += u[c] * value;
      minority.add(u, lanes_of<T>(x, missing));
    }
    if (uword(minority.out - blocks) >= most * N * L) {
      add_minority<T, N>(blocks, uword(minority.out - blocks) / (N * L), products);
      minority.out = blocks;
    }
  }
  const uword rest = uword(minority.finish() - blocks) / (N * L);
  if (rest > 0) add_minority<T, N>(blocks, rest, products);
  const auto product = [&](uword r, uword c) {
    return lane_sum<T>(load<P>(products + (r * (r + 1) / 2 + c) * L));
  };
  for (uword c = 0; c < D; ++c) {
    const T last = product(D, c);
    task.Ue_observed[c] = missing ? task.Ue[c] - last : last;
    for (uword a = 0; a <= c; ++a)
      task.G[c + a * D] = missing ? T(a == c) - product(c, a) : product(c, a);
  }
  GASG21_UNROLL
  for (uword c = 0; c < D; ++c) task.b[c] = lane_sum<T>(b[c]);
  return lane_sum<T>(xe);
}

#endif

}  // namespace gasg21::kernels::GASG21_SET
