// Sums over the rows of a panel that a sample names: those observed, or those missing. A part of
// impl/subspace_bank.hpp.

namespace gasg21::kernels::GASG21_SET {

/// Sums of a pass over some rows of a panel: G = U_Omega'U_Omega and b = U_Omega'x over observed
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

/// Turns a sum of products into an entry of G, which is I less the sum over missing rows.
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

}  // namespace gasg21::kernels::GASG21_SET
