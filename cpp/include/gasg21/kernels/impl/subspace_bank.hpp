// The kernels of subspace_bank.hpp for one instruction set; included once for each.

namespace gasg21::kernels::GASG21_SET {

/// Where row c of the lower triangle of G begins, packed by rows.
GASG21_INLINE constexpr uword packed_row(uword c) { return c * (c + 1) / 2; }

/// The products of the columns i, i + 1, ... (R of them) with j, j + 1, ... (C), and, on the
/// diagonal (i = j), their moments with x, for one register of lanes.
template <class T, uword R, uword C, bool Diagonal, bool Full>
GASG21_INLINE void sum_entries(const T* panel, uword d, uword i, uword j,
                               const ObservedEntries<T>& x, T* G, T* b) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>;
  P products[R][C], moments[R];
  GASG21_UNROLL
  for (uword r = 0; r < R; ++r) {
    moments[r] = P{};
    GASG21_UNROLL
    for (uword c = 0; c < C; ++c) products[r][c] = P{};
  }
  for (uword k = 0; k < x.count; ++k) {
    const T* u = panel + x.rows[k] * d * L;
    P left[R];
    GASG21_UNROLL
    for (uword r = 0; r < R; ++r) left[r] = load<P>(u + (i + r) * L);
    if constexpr (Diagonal) {
      const P value = broadcast<P>(x.values[k]);
      GASG21_UNROLL
      for (uword r = 0; r < R; ++r) moments[r] += left[r] * value;
    }
    if constexpr (!Full) GASG21_UNROLL
    for (uword c = 0; c < C; ++c) {
      const P right = Diagonal ? left[c] : load<P>(u + (j + c) * L);
      GASG21_UNROLL
      for (uword r = 0; r < R; ++r)
        if (!Diagonal || c <= r) products[r][c] += left[r] * right;
    }
  }
  GASG21_UNROLL
  for (uword r = 0; r < R; ++r) {
    if constexpr (Diagonal) store(b + (i + r) * L, moments[r]);
    if constexpr (!Full) GASG21_UNROLL
    for (uword c = 0; c < C; ++c)
      if (!Diagonal || c <= r) store(G + (packed_row(i + r) + j + c) * L, products[r][c]);
  }
}

/// R rows of G from i on, and as many moments.
template <class T, uword R, bool Full>
GASG21_INLINE void sum_rows(const T* panel, uword d, uword i, const ObservedEntries<T>& x, T* G,
                            T* b) {
  if constexpr (!Full)
    for (uword j = 0; j < i; j += max_tile)
      sum_entries<T, R, max_tile, false, false>(panel, d, i, j, x, G, b);
  sum_entries<T, R, R, true, Full>(panel, d, i, i, x, G, b);
}

/// G and b of one register of lanes: all of them in registers when d is known, else in tiles.
template <class T, uword D, bool Full>
GASG21_INLINE void sum_panel(const T* panel, uword d, const ObservedEntries<T>& x, T* G, T* b) {
  if constexpr (D != 0) {
    sum_entries<T, D, D, true, Full>(panel, D, 0, 0, x, G, b);
  } else {
    uword i = 0;
    for (; i + max_tile <= d; i += max_tile) sum_rows<T, max_tile, Full>(panel, d, i, x, G, b);
    if (d - i == 4) sum_rows<T, 4, Full>(panel, d, i, x, G, b);
    if (d - i == 3) sum_rows<T, 3, Full>(panel, d, i, x, G, b);
    if (d - i == 2) sum_rows<T, 2, Full>(panel, d, i, x, G, b);
    if (d - i == 1) sum_rows<T, 1, Full>(panel, d, i, x, G, b);
  }
}

/// 1 - b'G^-1 b by G = L D L', for one register of lanes. Leaves the pivots D on the diagonal of G;
/// `inverse` is scratch.
template <class T, uword D>
GASG21_INLINE Pack<T> solve_panel(uword d_, T* G, T* b, T* inverse, const T* absent) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>;
  const uword d = D ? D : d_;
  const P one = broadcast<P>(T(1)), first = load<P>(G);
  P r2 = one;
  for (uword c = 0; c < d; ++c) {
    T* row = G + packed_row(c) * L;
    P pivot = load<P>(row + c * L), moment = load<P>(b + c * L);
    if (absent) pivot += first * load<P>(absent + c * L);
    for (uword a = 0; a < c; ++a) {  // row c of L D
      const T* above = G + packed_row(a) * L;
      P entry = load<P>(row + a * L);
      for (uword e = 0; e < a; ++e) entry = entry - load<P>(row + e * L) * load<P>(above + e * L);
      store(row + a * L, entry);
    }
    for (uword a = 0; a < c; ++a) {  // of L
      const P entry = load<P>(row + a * L), scaled = entry * load<P>(inverse + a * L);
      store(row + a * L, scaled);
      pivot = pivot - scaled * entry;
      moment = moment - scaled * load<P>(b + a * L);
    }
    const P reciprocal = one / pivot;
    store(row + c * L, pivot);
    store(b + c * L, moment);
    store(inverse + c * L, reciprocal);
    r2 = r2 - moment * moment * reciprocal;
  }
  return r2;
}

template <class T, uword D>
struct BankTable {
  static constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T);

  static void fit(const T* panel, uword d_, const ObservedEntries<T>& x, const T* absent,
                  PanelFit<T>& result, T* scratch) {
    const uword d = D ? D : d_;
    T *G = scratch, *b = G + packed_row(d) * L;
    for (uword l = 0; l < L; l += lanes) {
      Pack<T> r2 = broadcast<Pack<T>>(T(1));
      if (x.full) {  // G = I
        sum_panel<T, D, true>(panel + l, d, x, G + l, b + l);
        for (uword c = 0; c < d; ++c) {
          const auto moment = load<Pack<T>>(b + l + c * L);
          r2 = r2 - moment * moment;
        }
      } else {
        sum_panel<T, D, false>(panel + l, d, x, G + l, b + l);
        r2 = solve_panel<T, D>(d, G + l, b + l, b + d * L + l, absent ? absent + l : nullptr);
      }
      store(result.r2 + l, r2);
    }
    find_pivots(d, x.full, G, result);
  }

  static GASG21_INLINE void find_pivots(uword d, bool full, const T* G, PanelFit<T>& result) {
    for (uword l = 0; l < L; ++l) result.smallest[l] = result.largest[l] = full ? T(1) : G[l];
    for (uword c = 1; c < (full ? 0 : d); ++c) {
      const T* pivot = G + (packed_row(c) + c) * L;
      for (uword l = 0; l < L; ++l) {
        result.smallest[l] = std::min(result.smallest[l], pivot[l]);
        result.largest[l] = std::max(result.largest[l], pivot[l]);
      }
    }
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
