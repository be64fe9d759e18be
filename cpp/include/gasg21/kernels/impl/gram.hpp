// Of impl/tracked_basis.hpp: `sums`, in three ways by the number of columns.

namespace gasg21::kernels::GASG21_SET {

/// A step by values: a pointer to T might be changed by what is stored, and would be read again.
template <class T, uword D, bool Moving, bool Refined>
struct FixedStep {
  T v[D], z[D], y[D], along, across, scale, back;

  GASG21_INLINE explicit FixedStep(const Move<T>& move)
      : along(move.along), across(move.across), scale(move.scale), back(move.back) {
    for (uword c = 0; c < D; ++c) {
      v[c] = Moving ? move.v[c] : T(0);
      z[c] = Moving ? move.z[c] : T(0);
      y[c] = Refined ? move.y[c] : T(0);
    }
  }
};

/// The step of some blocks, while a register of rows at a time stays in registers; adds to
/// b = U_Omega'x (`moments`), to x'e when nothing is missing, and to the products of the first M
/// columns.
template <class T, uword D, uword M, bool Full, bool Moving>
GASG21_INLINE void take_blocks_by_one(T* U, uword n_blocks, const Move<T>& move, T* e,
                                      const T* last, const T* x, const T* next,
                                      Pack<T> (&moments)[D], Pack<T>& across,
                                      Pack<T> (&products)[M + 1][M + 1]) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T);
  for (uword block = 0; block < n_blocks; ++block) {
    GASG21_PREFETCH_L2(next + block * L);
    GASG21_UNROLL
    for (uword part = 0; part < L; part += lanes) {
      T* const rows = U + block * D * L + part;
      const uword at = block * L + part;
      P u[D];
      GASG21_UNROLL
      for (uword c = 0; c < D; ++c) u[c] = load<P>(rows + c * L);
      if constexpr (Moving) {
        step_of_rows<T, D, Full>(u, e + at, move);
        GASG21_UNROLL
        for (uword c = 0; c < D; ++c) store(rows + c * L, u[c]);
      }
      const P seen = load<P>(x + at), value = Full ? seen : where_observed(seen, seen);
      if constexpr (Full) across += value * load<P>(last + at);
      GASG21_UNROLL
      for (uword c = 0; c < D; ++c) {
        moments[c] += u[c] * value;
        if (c < M) {
          const P masked = where_observed(seen, u[c]);
          GASG21_UNROLL
          for (uword a = 0; a <= c; ++a) products[c][a] += masked * u[a];
        }
      }
    }
  }
}

/// The same, without products, for K registers of rows, which are too many to be kept: read twice,
/// they share what is read of v and z, and none waits for the others. `last` is looked at only when
/// nothing moves.
template <class T, uword D, int K, bool Full, bool Moving, bool Refined>
GASG21_INLINE void take_registers(T* U, const FixedStep<T, D, Moving, Refined>& step, T* e,
                                  const T* last, const T* x, Pack<T> (&moments)[D],
                                  Pack<T>& across) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T), parts = L / lanes;
  const auto rows = [&](int k) { return U + uword(k) / parts * D * L + uword(k) % parts * lanes; };
  P shift[K], value[K];
  if constexpr (Moving) {
    P Uz[K], Uy[K];
    GASG21_UNROLL
    for (int k = 0; k < K; ++k) Uz[k] = Uy[k] = P{};
    GASG21_UNROLL
    for (uword c = 0; c < D; ++c) {
      const P z = broadcast<P>(step.z[c]), y = broadcast<P>(step.y[c]);
      GASG21_UNROLL
      for (int k = 0; k < K; ++k) {
        const P u = load<P>(rows(k) + c * L);
        Uz[k] += u * z;
        if constexpr (Refined) Uy[k] += u * y;
      }
    }
    const StepNumbers<T> numbers(step);
    GASG21_UNROLL
    for (int k = 0; k < K; ++k) {
      P direction;
      shift[k] = shift_of<T, Refined, Full>(Uz[k], Uy[k], e + k * lanes, numbers, direction);
      if constexpr (Full) across += load<P>(x + k * lanes) * direction;
    }
  }
  GASG21_UNROLL
  for (int k = 0; k < K; ++k) {
    const P seen = load<P>(x + k * lanes);
    value[k] = Full ? seen : where_observed(seen, seen);
    if constexpr (Full && !Moving) across += seen * load<P>(last + k * lanes);
  }
  GASG21_UNROLL
  for (uword c = 0; c < D; ++c) {
    const P v = broadcast<P>(step.v[c]);
    GASG21_UNROLL
    for (int k = 0; k < K; ++k) {
      T* const column = rows(k) + c * L;
      P u = load<P>(column);
      if constexpr (Moving) {
        u += shift[k] * v;
        store(column, u);
      }
      moments[c] += u * value[k];
    }
  }
}
template <class T, uword D, bool Full, bool Moving, bool Refined>
GASG21_INLINE void take_blocks_by_four(T* U, uword n_blocks, const Move<T>& move, T* e,
                                       const T* last, const T* x, const T* next,
                                       Pack<T> (&moments)[D], Pack<T>& across) {
  constexpr uword L = block_rows<T>, parts = L / (bytes / sizeof(T)), at_once = 4 / parts;
  const FixedStep<T, D, Moving, Refined> fixed(move), *step = &fixed;
  const auto e_at = [&](uword at) { return Moving ? e + at : nullptr; };
  const auto last_at = [&](uword at) { return Full && !Moving ? last + at : nullptr; };
  uword block = 0;
  for (; block + at_once <= n_blocks; block += at_once) {
    GASG21_READ_AGAIN(step);
    const uword at = block * L;
    GASG21_UNROLL
    for (uword b = 0; b < at_once; ++b) GASG21_PREFETCH_L2(next + at + b * L);
    take_registers<T, D, 4, Full, Moving, Refined>(U + at * D, *step, e_at(at), last_at(at), x + at,
                                                   moments, across);
  }
  for (; block < n_blocks; ++block) {
    const uword at = block * L;
    take_registers<T, D, int(parts), Full, Moving, Refined>(U + at * D, *step, e_at(at),
                                                            last_at(at), x + at, moments, across);
  }
}

template <class T, uword D, uword M, bool Full, bool Moving>
GASG21_INLINE void take_blocks(T* U, uword n_blocks, const Move<T>& move, T* e, const T* last,
                               const T* x, const T* next, Pack<T> (&moments)[D], Pack<T>& across,
                               Pack<T> (&products)[M + 1][M + 1]) {
  if constexpr (bytes == 64 || M > 0)
    take_blocks_by_one<T, D, M, Full, Moving>(U, n_blocks, move, e, last, x, next, moments, across,
                                              products);
  else if (Moving && move.y)
    take_blocks_by_four<T, D, Full, Moving, Moving>(U, n_blocks, move, e, last, x, next, moments,
                                                    across);
  else
    take_blocks_by_four<T, D, Full, Moving, false>(U, n_blocks, move, e, last, x, next, moments,
                                                   across);
}

/// Zeros for `take_blocks`.
template <class T, uword D, uword M>
GASG21_INLINE void clear(Pack<T> (&moments)[D], Pack<T>& across,
                         Pack<T> (&products)[M + 1][M + 1]) {
  across = Pack<T>{};
  GASG21_UNROLL
  for (uword c = 0; c < D; ++c) moments[c] = Pack<T>{};
  GASG21_UNROLL
  for (uword c = 0; c < M; ++c) GASG21_UNROLL
  for (uword a = 0; a <= c; ++a) products[c][a] = Pack<T>{};
}

/// `sums` for few columns: all sums in registers.
template <class T, uword D, bool Full, bool Moving>
GASG21_INLINE T sums_in_registers(T* U, uword n_blocks, const Move<T>* move, const T* last,
                                  const T* x, const T* next, T* G, T* b) {
  constexpr uword M = Full ? 0 : D;
  Pack<T> moments[D], across, products[M + 1][M + 1];
  clear<T, D, M>(moments, across, products);
  const Move<T> step = Moving ? *move : Move<T>{};
  take_blocks<T, D, M, Full, Moving>(U, n_blocks, step, step.e, last, x, next, moments, across,
                                     products);
  GASG21_UNROLL
  for (uword c = 0; c < D; ++c) b[c] = lane_sum<T>(moments[c]);
  GASG21_UNROLL
  for (uword c = 0; c < M; ++c) GASG21_UNROLL
  for (uword a = 0; a <= c; ++a) G[c + a * D] = lane_sum<T>(products[c][a]);
  return lane_sum<T>(across);
}

/// `sums` for some more columns, when something is missing: the step, the moments and,
/// where registers are left for them, a few products of a chunk of rows; then the others, in tiles,
/// while it is in the first cache and the next chunk on its way there.
template <class T, uword D, bool Moving>
GASG21_INLINE void sums_in_chunks(T* U, uword n_blocks, const Move<T>* move, const T* x,
                                  const T* next, T* G, T* b, T* scratch) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T), most = 320 / D;
  constexpr uword M = bytes == 64 && D <= max_tile + 2 ? 3 : 0;
  P moments[D], across, products[M + 1][M + 1];
  clear<T, D, M>(moments, across, products);
  std::fill(scratch, scratch + D * (D + 1) / 2 * L, T(0));
  const Move<T> step = Moving ? *move : Move<T>{};
  const uword n_chunks = (n_blocks + most - 1) / most;
  for (uword from = 0, k = 0, here; k < n_chunks; from += here, ++k) {
    here = (n_blocks - from) / (n_chunks - k);  // of nearly the same size
    T* const rows = U + from * D * L;
    const T *seen = x + from * L, *ahead = U + std::min(from + here, n_blocks - 1) * D * L;
    take_blocks<T, D, M, false, Moving>(rows, here, step, Moving ? step.e + from * L : nullptr,
                                        nullptr, seen, next + from * L, moments, across, products);
    if constexpr (bytes < 64) {
      add_small_tiles<T, D>(rows, seen, here, scratch, ahead);
    } else if constexpr (M > 0) {
      add_tile<T, D - M, M, true>(rows, seen, here, D, M, 0, scratch, ahead, D);
    } else {
      constexpr uword A = (D + 1) / 2, B = D - A, share = (D + 2) / 3;
      add_tile<T, A, 0, true>(rows, seen, here, D, 0, 0, scratch, ahead, share);
      add_tile<T, B, A, false>(rows, seen, here, D, A, 0, scratch, ahead + share * L, share);
      add_tile<T, B, 0, true>(rows, seen, here, D, A, 0, scratch, ahead + 2 * share * L,
                              D - 2 * share);
    }
  }
  GASG21_UNROLL
  for (uword c = 0; c < D; ++c) {
    b[c] = lane_sum<T>(moments[c]);
    GASG21_UNROLL
    for (uword a = 0; a <= c; ++a)
      G[c + a * D] = lane_sum<T>(c < M ? products[c < M ? c : 0][a < M ? a : 0]
                                       : load<P>(scratch + (c * (c + 1) / 2 + a) * lanes));
  }
}

/// For K registers of rows: the step, and b += U'x.
template <class T, bool Full, bool Moving, int K>
GASG21_INLINE void take_rows(T* const (&u)[K], T* const (&e)[K], const T* const (&x)[K],
                             const T* const (&last)[K], uword d, const Move<T>* move, T* moments,
                             Pack<T>& across) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T);
  P shift[K], value[K];
  if constexpr (Moving) find_shift<T, Full>(u, e, d, *move, shift);
  GASG21_UNROLL
  for (int k = 0; k < K; ++k) {
    const P seen = load<P>(x[k]);
    value[k] = Full ? seen : where_observed(seen, seen);
    if constexpr (Full) across += value[k] * load<P>(last[k]);
  }
  for (uword c = 0; c < d; ++c) {
    P moment = load<P>(moments + c * lanes), v = P{};
    if constexpr (Moving) v = broadcast<P>(move->v[c]);
    GASG21_UNROLL
    for (int k = 0; k < K; ++k) {
      P column = load<P>(u[k] + c * L);
      if constexpr (Moving) {
        column += shift[k] * v;
        store(u[k] + c * L, column);
      }
      moment += column * value[k];
    }
    store(moments + c * lanes, moment);
  }
}

/// `sums` for many columns: a chunk of rows at a time, in tiles.
template <class T, bool Full, bool Moving>
GASG21_INLINE T sums_in_tiles(T* U, uword n_blocks, uword d, const Move<T>* move, const T* last,
                              const T* x, const T* next, T* G, T* b, T* scratch) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T), parts = L / lanes;
  constexpr int K = 4;
  const bool compressed = !Full && bytes == 32 && d >= least_compressed;
  const uword pairs = d * (d + 1) / 2, chunk = compressed ? most_compressed : chunk_blocks(d);
  T *moments = scratch, *products = moments + d * L;
  [[maybe_unused]] T* const room = products + pairs * L;
  std::fill(moments, Full ? products : products + pairs * (compressed ? 1 : lanes), T(0));
  T *u[K], *e[K], *u1[1], *e1[1];
  const T *at[K], *before[K], *at1[1], *before1[1];
  P across = P{};
  for (uword from = 0; from < n_blocks; from += chunk) {
    const uword n_packs = std::min(chunk, n_blocks - from) * parts;
    uword g = 0;
    for (; g + K <= n_packs; g += K) {
      rows_from(g, d, U + from * d * L, u);
      entries_from(g, x + from * L, at);
      entries_from(g, last + from * L, before);
      if constexpr (Moving) entries_from(g, move->e + from * L, e);
      GASG21_UNROLL
      for (uword k = 0; k < uword(K); k += parts)
        GASG21_PREFETCH_L2(next + from * L + (g + k) * lanes);
      take_rows<T, Full, Moving>(u, e, at, before, d, move, moments, across);
    }
    for (; g < n_packs; ++g) {
      rows_from(g, d, U + from * d * L, u1);
      entries_from(g, x + from * L, at1);
      entries_from(g, last + from * L, before1);
      if constexpr (Moving) entries_from(g, move->e + from * L, e1);
      take_rows<T, Full, Moving>(u1, e1, at1, before1, d, move, moments, across);
    }
    if constexpr (!Full) {
      const uword here = n_packs / parts;
#if GASG21_BYTES == 32
      if (compressed) {
        add_observed<T>(U + from * d * L, x + from * L, here, d, products, room);
        continue;
      }
#endif
      const uword next_here = std::min(from + here, n_blocks - 1);
      add_tiles<T>(U + from * d * L, x + from * L, here, d, products, U + next_here * d * L);
    }
  }
  for (uword c = 0; c < d; ++c) {
    b[c] = lane_sum<T>(load<P>(moments + c * lanes));
    if constexpr (!Full)
      for (uword a = 0; a <= c; ++a) {
        const uword pair = c * (c + 1) / 2 + a;
        G[c + a * d] = compressed ? products[pair] : lane_sum<T>(load<P>(products + pair * lanes));
      }
  }
  return lane_sum<T>(across);
}

template <class T, uword D, bool Full, bool Moving>
GASG21_INLINE T sums_for(T* U, uword n_blocks, uword d, const Move<T>* move, const T* e, const T* x,
                         const T* next, T* G, T* b, T* scratch) {
  if constexpr (D != 0 && (Full || D <= max_tile))
    return sums_in_registers<T, D, Full, Moving>(U, n_blocks, move, e, x, next, G, b);
  else if constexpr (D != 0 && !Full)
    return sums_in_chunks<T, D, Moving>(U, n_blocks, move, x, next, G, b, scratch), T(0);
  else
    return sums_in_tiles<T, Full, Moving>(U, n_blocks, d, move, e, x, next, G, b, scratch);
}

template <class T, uword D>
GASG21_INLINE T sums_of(T* U, uword n_blocks, uword d, const Move<T>* move, const T* e, const T* x,
                        const T* next, T* G, T* b, T* scratch) {
  if (move && G)
    return sums_for<T, D, false, true>(U, n_blocks, d, move, e, x, next, G, b, scratch);
  if (move) return sums_for<T, D, true, true>(U, n_blocks, d, move, e, x, next, G, b, scratch);
  if (G) return sums_for<T, D, false, false>(U, n_blocks, d, move, e, x, next, G, b, scratch);
  return sums_for<T, D, true, false>(U, n_blocks, d, move, e, x, next, G, b, scratch);
}

}  // namespace gasg21::kernels::GASG21_SET
