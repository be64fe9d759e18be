// The kernels of subspace_bank.hpp for one instruction set; included once for each set.

namespace gasg21::kernels::GASG21_SET {

/// Sums the products of the columns i, i + 1, ... (R of them) with j, j + 1, ... (C) and, on the
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

/// Sums R rows of G from i on, and as many moments.
template <class T, uword R, bool Full>
GASG21_INLINE void sum_rows(const T* panel, uword d, uword i, const ObservedEntries<T>& x, T* G,
                            T* b) {
  if constexpr (!Full)
    for (uword j = 0; j < i; j += max_tile)
      sum_entries<T, R, max_tile, false, false>(panel, d, i, j, x, G, b);
  sum_entries<T, R, R, true, Full>(panel, d, i, i, x, G, b);
}

/// Sums G and b for one register of lanes: in registers if D = d is known, else in tiles.
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
        r2 = ldl_lanes<T, D>(d, G + l, b + l, absent ? absent + l : nullptr);
      }
      store(result.r2 + l, r2);
    }
    if (!x.full) return inverse_pivot_range(d, G, result.smallest_inverse, result.largest_inverse);
    std::fill(result.smallest_inverse, result.smallest_inverse + L, T(1));
    std::fill(result.largest_inverse, result.largest_inverse + L, T(1));
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
