// Moments of samples, zeros filled in, over all rows of a panel. A part of impl/subspace_bank.hpp.

namespace gasg21::kernels::GASG21_SET {

/// Adds row k of the panel, at u, to the moments of S samples and R columns.
template <class T, uword R, uword S>
GASG21_INLINE void add_moments(const T* u, const T* const (&values)[S], uword k,
                               Pack<T> (&moments)[S][R]) {
  using P = Pack<T>;
  P entries[R];
  GASG21_UNROLL
  for (uword r = 0; r < R; ++r) entries[r] = load<P>(u + r * block_rows<T>);
  GASG21_UNROLL
  for (uword s = 0; s < S; ++s) {
    const P value = broadcast<P>(values[s][k]);
    GASG21_UNROLL
    for (uword r = 0; r < R; ++r) moments[s][r] = multiply_add<T>(entries[r], value, moments[s][r]);
  }
}

/// The moments of S samples, zeros filled in, and R columns from i on: each entry of the panel is
/// read once for all samples.
template <class T, uword R, uword S>
GASG21_INLINE void sum_moments(const BankPanel<T>& panel, uword d, uword i, const BankSample<T>* x,
                               T* b, uword stride) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, at_once = rows_at_once(R * S);
  P moments[at_once][S][R];
  const T* values[S];
  GASG21_UNROLL
  for (uword s = 0; s < S; ++s) {
    values[s] = x[s].filled;
    GASG21_UNROLL
    for (uword a = 0; a < at_once; ++a) {
      GASG21_UNROLL
      for (uword r = 0; r < R; ++r) moments[a][s][r] = P{};
    }
  }
  const uword n = panel.n;
  const T *u = panel.entries + i * L, *const ahead = panel.ahead;
  uword k = 0;
  for (; k + at_once <= n; k += at_once) {
    GASG21_UNROLL
    for (uword a = 0; a < at_once; ++a, u += d * L) {
      if (S > 1) GASG21_PREFETCH_L1(ahead + (k + a) * L);
      add_moments<T, R, S>(u, values, k + a, moments[a]);
    }
  }
  for (; k < n; ++k, u += d * L) add_moments<T, R, S>(u, values, k, moments[0]);
  GASG21_UNROLL
  for (uword s = 0; s < S; ++s) {
    GASG21_UNROLL
    for (uword r = 0; r < R; ++r) {
      GASG21_UNROLL
      for (uword a = 1; a < at_once; ++a) moments[0][s][r] += moments[a][s][r];
      store(b + s * stride + (i + r) * L, moments[0][s][r]);
    }
  }
}

#if GASG21_BYTES == 64

/// Half a register in both halves. (Masked, as in `lane_sum`.)
template <class T>
GASG21_INLINE Pack<T> in_both_halves(const T* from) {
  if constexpr (sizeof(T) == 8)
    return _mm512_maskz_broadcast_f64x4(0xff, _mm256_loadu_pd(from));
  else
    return _mm512_maskz_broadcast_f32x8(0xffff, _mm256_loadu_ps(from));
}
/// One number in all lanes of the lower half, another in the upper half.
template <class T>
GASG21_INLINE Pack<T> in_halves(T lower, T upper) {
  if constexpr (sizeof(T) == 8)
    return _mm512_mask_broadcastsd_pd(_mm512_set1_pd(lower), 0xf0, _mm_set_sd(upper));
  else
    return _mm512_mask_broadcastss_ps(_mm512_set1_ps(lower), 0xff00, _mm_set_ss(upper));
}
template <class T>
GASG21_INLINE Pack<T> swap_halves(const Pack<T>& p) {
  if constexpr (sizeof(T) == 8)
    return _mm512_maskz_shuffle_f64x2(0xff, p, p, 0x4e);
  else
    return _mm512_maskz_shuffle_f32x4(0xffff, p, p, 0x4e);
}

/// `sum_moments` of S pairs of samples where subspaces fill no more than half of a register: a
/// register holds two samples.
template <class T, uword R, uword S>
GASG21_INLINE void sum_moments_in_pairs(const BankPanel<T>& panel, uword d, uword i,
                                        const BankSample<T>* x, T* b, uword stride) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>;
  P moments[S][R];
  const T* values[2 * S];
  GASG21_UNROLL
  for (uword s = 0; s < 2 * S; ++s) values[s] = x[s].filled;
  GASG21_UNROLL
  for (uword s = 0; s < S; ++s) {
    GASG21_UNROLL
    for (uword r = 0; r < R; ++r) moments[s][r] = P{};
  }
  const T *u = panel.entries + i * L, *const ahead = panel.ahead;
  for (uword k = 0; k < panel.n; ++k, u += d * L) {
    GASG21_PREFETCH_L1(ahead + k * L);
    P entries[R];
    GASG21_UNROLL
    for (uword r = 0; r < R; ++r) entries[r] = in_both_halves(u + r * L);
    GASG21_UNROLL
    for (uword s = 0; s < S; ++s) {
      const P value = in_halves(values[2 * s][k], values[2 * s + 1][k]);
      GASG21_UNROLL
      for (uword r = 0; r < R; ++r) moments[s][r] += entries[r] * value;
    }
  }
  GASG21_UNROLL
  for (uword s = 0; s < S; ++s) {
    GASG21_UNROLL
    for (uword r = 0; r < R; ++r) {
      T* const to = b + 2 * s * stride + (i + r) * L;
      store(to, moments[s][r]);
      store(to + stride, swap_halves<T>(moments[s][r]));
    }
  }
}

#endif

}  // namespace gasg21::kernels::GASG21_SET
