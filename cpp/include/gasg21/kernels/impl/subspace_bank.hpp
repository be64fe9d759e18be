// The kernels of subspace_bank.hpp for one instruction set; included once for each set.
// clang-format off: the second uses the first
#include "gasg21/kernels/impl/bank_rows.hpp"
#include "gasg21/kernels/impl/bank_moments.hpp"
// clang-format on

namespace gasg21::kernels::GASG21_SET {

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

  /// Adds the rows that a sample names to its G and, if they are observed, to its b.
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
