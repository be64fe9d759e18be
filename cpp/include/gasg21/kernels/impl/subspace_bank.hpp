// The kernels of subspace_bank.hpp for one instruction set; included once for each set.

namespace gasg21::kernels::GASG21_SET {

/// What a pass over some rows of a panel sums: G = U_Omega'U_Omega and b = U_Omega'x over observed
/// rows, or only what G lacks of I over missing ones.
enum class BankSums { observed, missing };

/// How many rows of a pass have sums of their own, so that enough sums are under way: an addition
/// takes four cycles, and two can begin in each.
constexpr uword rows_at_once(uword n_sums) {
  constexpr uword enough = bytes == 64 ? 12 : 10;
  return n_sums >= enough ? 1 : enough / n_sums < 4 ? enough / n_sums : 4;
}

/// A pass over the rows of a panel that a sample names, for one register of lanes.
template <class T>
struct BankPass {
  const T* panel;
  uword d;
  const uword* rows;
  uword count;
  const T* values;  // of the sample in these rows, if they are observed
  const T* absent;  // as of BankPanel
};

/// Adds one row to the sums of the columns i, i + 1, ... (R of them) with j, j + 1, ... (C).
template <class T, uword R, uword C, bool Diagonal, BankSums Sums>
GASG21_INLINE void add_row(const BankPass<T>& pass, uword k, uword i, uword j,
                           Pack<T> (&products)[R][C], Pack<T> (&moments)[R]) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>;
  const T* u = pass.panel + pass.rows[k] * pass.d * L;
  GASG21_READ_AGAIN(u);  // one address: GCC would compute one for each column
  P left[R];
  GASG21_UNROLL
  for (uword r = 0; r < R; ++r) left[r] = load<P>(u + (i + r) * L);
  if constexpr (Diagonal && Sums == BankSums::observed) {
    const P value = broadcast<P>(pass.values[k]);
    GASG21_UNROLL
    for (uword r = 0; r < R; ++r) moments[r] += left[r] * value;
  }
  GASG21_UNROLL
  for (uword c = 0; c < C; ++c) {
    const P right = Diagonal ? left[c] : load<P>(u + (j + c) * L);
    GASG21_UNROLL
    for (uword r = 0; r < R; ++r)
      if (!Diagonal || c <= r) products[r][c] += left[r] * right;
  }
}

/// What becomes of a sum of products: an entry of G, which is I less the sum over missing rows.
template <class T, bool Missing, bool Diagonal>
GASG21_INLINE Pack<T> entry_of(const Pack<T>& sum, const T* absent, uword c) {
  using P = Pack<T>;
  if constexpr (!Missing) return sum;
  if constexpr (!Diagonal) return P{} - sum;
  const P one = broadcast<P>(T(1));
  return absent ? one - load<P>(absent + c * block_rows<T>) - sum : one - sum;
}

/// Sums the products of the columns i, i + 1, ... (R of them) with j, j + 1, ... (C) and, on the
/// diagonal (i = j), the moments of the former.
template <class T, uword R, uword C, bool Diagonal, BankSums Sums>
GASG21_INLINE void sum_entries(const BankPass<T>& pass, uword i, uword j, T* G, T* b) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>;
  constexpr bool missing = Sums == BankSums::missing, with_moments = Diagonal && !missing;
  constexpr uword at_once =
      rows_at_once((with_moments ? R : 0) + (Diagonal ? R * (R + 1) / 2 : R * C));
  P products[at_once][R][C], moments[at_once][R];
  GASG21_UNROLL
  for (uword a = 0; a < at_once; ++a) {
    GASG21_UNROLL
    for (uword r = 0; r < R; ++r) {
      moments[a][r] = P{};
      GASG21_UNROLL
      for (uword c = 0; c < C; ++c) products[a][r][c] = P{};
    }
  }
  uword k = 0;
  for (; k + at_once <= pass.count; k += at_once) {
    GASG21_UNROLL
    for (uword a = 0; a < at_once; ++a)
      add_row<T, R, C, Diagonal, Sums>(pass, k + a, i, j, products[a], moments[a]);
  }
  for (; k < pass.count; ++k)
    add_row<T, R, C, Diagonal, Sums>(pass, k, i, j, products[0], moments[0]);
  GASG21_UNROLL
  for (uword r = 0; r < R; ++r) {
    GASG21_UNROLL
    for (uword a = 1; a < at_once; ++a) {
      moments[0][r] += moments[a][r];
      GASG21_UNROLL
      for (uword c = 0; c < C; ++c) products[0][r][c] += products[a][r][c];
    }
    if constexpr (with_moments) store(b + (i + r) * L, moments[0][r]);
    GASG21_UNROLL
    for (uword c = 0; c < C; ++c) {
      T* entry = G + (packed_row(i + r) + j + c) * L;
      if (Diagonal && c == r)
        store(entry, entry_of<T, missing, true>(products[0][r][c], pass.absent, i + r));
      else if (!Diagonal || c < r)
        store(entry, entry_of<T, missing, false>(products[0][r][c], nullptr, 0));
    }
  }
}

/// Sums R rows of G from i on, and as many moments.
template <class T, uword R, BankSums Sums>
GASG21_INLINE void sum_rows_of_G(const BankPass<T>& pass, uword i, T* G, T* b) {
  for (uword j = 0; j < i; j += max_tile)
    sum_entries<T, R, max_tile, false, Sums>(pass, i, j, G, b);
  sum_entries<T, R, R, true, Sums>(pass, i, i, G, b);
}

/// Sums G and b: in registers if D = d is known, else in tiles.
template <class T, uword D, BankSums Sums>
GASG21_INLINE void sum_panel(const BankPass<T>& pass, T* G, T* b) {
  if constexpr (D != 0) {
    sum_entries<T, D, D, true, Sums>(pass, 0, 0, G, b);
  } else {
    const uword d = pass.d;
    uword i = 0;
    for (; i + max_tile <= d; i += max_tile) sum_rows_of_G<T, max_tile, Sums>(pass, i, G, b);
    if (d - i == 4) sum_rows_of_G<T, 4, Sums>(pass, i, G, b);
    if (d - i == 3) sum_rows_of_G<T, 3, Sums>(pass, i, G, b);
    if (d - i == 2) sum_rows_of_G<T, 2, Sums>(pass, i, G, b);
    if (d - i == 1) sum_rows_of_G<T, 1, Sums>(pass, i, G, b);
  }
}

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
/// One number in all lanes of the lower half, one in those of the upper half.
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
/// register holds those of two samples.
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

template <class T, uword D>
struct BankTable {
  using P = Pack<T>;
  static constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T);
  /// Samples whose moments are summed together, as many as the registers hold.
  static constexpr uword tile = bytes == 64 && D >= 1 && D <= 3 ? 8 : 4;
  static_assert(tile <= bank_samples, "a tile is part of the samples that go through a panel");

  /// b of S samples, zeros filled in, for one register of lanes. (Not inlined: with other loops
  /// around it AVX2 has no register left for the last sum, and takes twice as long.)
  template <uword S>
  GASG21_NOINLINE static void sum_filled(const BankPanel<T>& panel, const BankSample<T>* x, T* b,
                                         uword stride) {
    const uword d = D ? D : panel.d;
    constexpr uword columns = D ? D : max_tile < 4 ? max_tile : 4;
    uword c = 0;
    for (; c + columns <= d; c += columns) sum_columns<columns, S>(panel, d, c, x, b, stride);
    for (; c < d; ++c) sum_columns<1, S>(panel, d, c, x, b, stride);
  }

  template <uword R, uword S>
  GASG21_INLINE static void sum_columns(const BankPanel<T>& panel, uword d, uword i,
                                        const BankSample<T>* x, T* b, uword stride) {
#if GASG21_BYTES == 64
    if constexpr (S > 1)
      if (2 * panel.n_subspaces <= lanes)
        return sum_moments_in_pairs<T, R, S / 2>(panel, d, i, x, b, stride);
#endif
    sum_moments<T, R, S>(panel, d, i, x, b, stride);
  }

  /// What the rows that a sample names add to its G and, if they are observed, to its b.
  template <BankSums Sums>
  GASG21_INLINE static void sum_rows(const BankPanel<T>& panel, const BankSample<T>& x, T* G,
                                     T* b) {
    sum_panel<T, D, Sums>(
        {panel.entries, D ? D : panel.d, x.rows, x.n_rows, x.values, panel.absent}, G, b);
  }

  /// b of `count` samples, and G and b of those that are given by their observed rows.
  static void sum(const BankPanel<T>& panel, const BankSample<T>* x, uword count, T* G, T* b,
                  uword stride) {
    for (uword s = 0; s < count;) {
      const bool all = s + tile <= count && std::all_of(x + s, x + s + tile, [](const auto& each) {
                         return each.filled;
                       });
      if (all)
        sum_filled<tile>(panel, x + s, b + s * stride, stride);
      else if (x[s].filled)
        sum_filled<1>(panel, x + s, b + s * stride, stride);
      else
        sum_rows<BankSums::observed>(panel, x[s], G + s * stride, b + s * stride);
      s += all ? tile : 1;
    }
  }

  static bool is_complete(const BankSample<T>& x) { return x.filled && x.n_rows == 0; }

  /// The squared residuals of a sample, from its sums.
  static P solve(uword d, const BankSample<T>& x, const T* absent, T* G, T* b) {
    if (!is_complete(x)) return ldl_lanes<T, D>(d, G, b, absent);
    P r2 = broadcast<P>(T(1));  // G = I
    for (uword c = 0; c < d; ++c) {
      const auto moment = load<P>(b + c * L);
      r2 = r2 - moment * moment;
    }
    return r2;
  }

  static void fit(const BankPanel<T>& panel, const BankSample<T>* x, uword count,
                  PanelFit<T>* results, T* scratch) {
    const uword d = D ? D : panel.d, moments_at = packed_row(d) * L, stride = moments_at + d * L;
    for (uword s = 0; s < count; ++s) results[s].sound = true;
    for (uword l = 0; l < panel.n_subspaces; l += lanes) {
      const T* const absent = panel.absent ? panel.absent + l : nullptr;
      const BankPanel<T> here{panel.entries + l,
                              panel.n_subspaces - l,
                              panel.n,
                              d,
                              absent,
                              l == 0 ? panel.ahead : panel.entries};
      T *G = scratch + l, *b = G + moments_at;
      sum(here, x, count, G, b, stride);
      for (uword s = 0; s < count; ++s)
        if (x[s].filled && x[s].n_rows > 0)
          sum_rows<BankSums::missing>(here, x[s], G + s * stride, b + s * stride);
      for (uword s = 0; s < count; ++s)  // each waits for its divisions, so all in a row
        store(results[s].r2 + l,
              larger(P{}, solve(d, x[s], absent, G + s * stride, b + s * stride)));
      for (uword s = 0; s < count; ++s)
        results[s].sound &= find_pivots(d, x[s], G + s * stride, results[s], l);
    }
  }

  /// Of one register of lanes. Returns whether all are sound.
  static bool find_pivots(uword d, const BankSample<T>& x, const T* G, PanelFit<T>& result,
                          uword l) {
    T *smallest = result.smallest_inverse + l, *largest = result.largest_inverse + l;
    if (!is_complete(x)) return inverse_pivot_range(d, G, T(worst_pivot), smallest, largest);
    store(smallest, broadcast<P>(T(1)));  // G = I
    store(largest, broadcast<P>(T(1)));
    return true;
  }

  static constexpr SubspaceBankKernels<T> kernels{fit};
};

template <class T>
const SubspaceBankKernels<T>& subspace_bank_kernels(uword d) {
  constexpr uword most = max_tile;
  switch (d) {
    case 1:
      return BankTable<T, 1>::kernels;
    case 2:
      return BankTable<T, 2>::kernels;
    case 3:
      return BankTable<T, 3>::kernels;
    case 4:
      return BankTable < T, most >= 4 ? 4 : 0 > ::kernels;
    case 5:
      return BankTable < T, most >= 5 ? 5 : 0 > ::kernels;
    default:
      return BankTable<T, 0>::kernels;
  }
}

}  // namespace gasg21::kernels::GASG21_SET
