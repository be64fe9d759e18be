// Of block_kernels_impl.hpp: `sums`, in three ways by the number of columns.

namespace gasg21::kernels::GASG21_SET {

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
        step_of_rows<T, D>(u, e + at, move);
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

/// The same, without products, where registers are too few to keep rows in them: two registers of
/// rows at a time, read twice, share what is read of v and y, and neither waits for the other.
template <class T, uword D, bool Full, bool Moving>
GASG21_INLINE void take_blocks_by_two(T* U, uword n_blocks, const Move<T>& move, T* e,
                                      const T* last, const T* x, const T* next,
                                      Pack<T> (&moments)[D], Pack<T>& across) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T);
  const Move<T>* step = &move;
  for (uword block = 0; block < n_blocks; ++block) {
    GASG21_PREFETCH_L2(next + block * L);
    GASG21_UNROLL
    for (uword part = 0; part < L; part += 2 * lanes) {
      GASG21_READ_AGAIN(step);
      T* const rows = U + block * D * L + part;
      const uword at = block * L + part;
      P shift[2], value[2];
      if constexpr (Moving) shift_of_two<T, D>(rows, e + at, *step, shift);
      GASG21_UNROLL
      for (int k = 0; k < 2; ++k) {
        const P seen = load<P>(x + at + k * lanes);
        value[k] = Full ? seen : where_observed(seen, seen);
        if constexpr (Full) across += value[k] * load<P>(last + at + k * lanes);
      }
      GASG21_UNROLL
      for (uword c = 0; c < D; ++c) {
        T* const column = rows + c * L;
        P u[2] = {load<P>(column), load<P>(column + lanes)};
        if constexpr (Moving) {
          const P v = broadcast<P>(step->v[c]);
          GASG21_UNROLL
          for (int k = 0; k < 2; ++k) {
            u[k] += shift[k] * v;
            store(column + k * lanes, u[k]);
          }
        }
        GASG21_UNROLL
        for (int k = 0; k < 2; ++k) moments[c] += u[k] * value[k];
      }
    }
  }
}

template <class T, uword D, uword M, bool Full, bool Moving>
GASG21_INLINE void take_blocks(T* U, uword n_blocks, const Move<T>& move, T* e, const T* last,
                               const T* x, const T* next, Pack<T> (&moments)[D], Pack<T>& across,
                               Pack<T> (&products)[M + 1][M + 1]) {
  if constexpr (bytes == 64 || M > 0)
    take_blocks_by_one<T, D, M, Full, Moving>(U, n_blocks, move, e, last, x, next, moments, across,
                                              products);
  else
    take_blocks_by_two<T, D, Full, Moving>(U, n_blocks, move, e, last, x, next, moments, across);
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

/// Adds to the products of the columns i, i + 1, ... (R of them) with j, j + 1, ... (C), and, if
/// Corner, with one another, of a chunk of U over what is observed of x. Meanwhile it fetches
/// `n_ahead` lines a block of what comes next. Columns are Apart from each other, and their blocks
/// d blocks. If not Masked, all is observed, x is not looked at, and a sum is kept as one number:
/// so many columns have more sums than the near caches hold registers of them.
template <class T, uword R, uword C, bool Corner, uword Apart = block_rows<T>, bool Masked = true>
GASG21_INLINE void add_tile(const T* chunk, const T* x, uword n_blocks, uword d, uword i, uword j,
                            T* sums, const T* ahead, uword n_ahead) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T);
  P tile[R][C + R];
  const auto at = [&](uword r, uword c) {
    const uword row = i + r, column = c < C ? j + c : i + c - C;
    return sums + (row * (row + 1) / 2 + column) * (Masked ? lanes : 1);
  };
  GASG21_UNROLL
  for (uword r = 0; r < R; ++r) GASG21_UNROLL
  for (uword c = 0; c < C + R; ++c)
    if (c < C || (Corner && c - C <= r)) tile[r][c] = Masked ? load<P>(at(r, c)) : P{};
  // A pointer for each side, so that columns are at constant distances from it.
  const T *rows = chunk + i * Apart, *columns = chunk + j * Apart;
  for (uword b = 0; b < n_blocks; ++b, rows += d * L, columns += d * L, x += L, ahead += d * L) {
    if constexpr (bytes != 32)  // with AVX2 on a Zen 3 asking costs more than waiting (4 to 9 %)
      for (uword k = 0; k < n_ahead; ++k) GASG21_PREFETCH_L1(ahead + k * L);
    GASG21_UNROLL
    for (uword part = 0; part < L; part += lanes) {
      P left[R];
      if constexpr (Masked) {
        const P seen = load<P>(x + part);
        GASG21_UNROLL
        for (uword r = 0; r < R; ++r)
          left[r] = where_observed(seen, load<P>(rows + r * Apart + part));
      } else {
        GASG21_UNROLL
        for (uword r = 0; r < R; ++r) left[r] = load<P>(rows + r * Apart + part);
      }
      GASG21_UNROLL
      for (uword c = 0; c < C; ++c) {
        const P right = load<P>(columns + c * Apart + part);
        GASG21_UNROLL
        for (uword r = 0; r < R; ++r) tile[r][c] += left[r] * right;
      }
      if constexpr (Corner) {
        GASG21_UNROLL
        for (uword r = 0; r < R; ++r) GASG21_UNROLL
        for (uword c = 0; c <= r; ++c) tile[r][C + c] += left[r] * left[c];
      }
    }
  }
  GASG21_UNROLL
  for (uword r = 0; r < R; ++r) GASG21_UNROLL
  for (uword c = 0; c < C + R; ++c)
    if (c < C || (Corner && c - C <= r)) {
      if constexpr (Masked)
        store(at(r, c), tile[r][c]);
      else
        *at(r, c) += lane_sum<T>(tile[r][c]);
    }
}

/// Adds to the products of the columns i, ..., i + R - 1 with one another, and of j, ..., j + S -
/// 1: of one such corner alone the sums would wait for each other.
template <class T, uword R, uword S>
GASG21_INLINE void add_corners(const T* chunk, const T* x, uword n_blocks, uword d, uword i,
                               uword j, T* sums) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T);
  P first[R][R], second[S][S];
  const auto at = [&](uword from, uword r, uword c) {
    return sums + ((from + r) * (from + r + 1) / 2 + from + c) * lanes;
  };
  GASG21_UNROLL
  for (uword r = 0; r < R; ++r) GASG21_UNROLL
  for (uword c = 0; c <= r; ++c) first[r][c] = load<P>(at(i, r, c));
  GASG21_UNROLL
  for (uword r = 0; r < S; ++r) GASG21_UNROLL
  for (uword c = 0; c <= r; ++c) second[r][c] = load<P>(at(j, r, c));
  const T *one = chunk + i * L, *other = chunk + j * L;
  for (uword b = 0; b < n_blocks; ++b, one += d * L, other += d * L, x += L) {
    GASG21_UNROLL
    for (uword part = 0; part < L; part += lanes) {
      const P seen = load<P>(x + part);
      P u[R], v[S];
      GASG21_UNROLL
      for (uword r = 0; r < R; ++r) {
        u[r] = where_observed(seen, load<P>(one + r * L + part));
        GASG21_UNROLL
        for (uword c = 0; c <= r; ++c) first[r][c] += u[r] * u[c];
      }
      GASG21_UNROLL
      for (uword r = 0; r < S; ++r) {
        v[r] = where_observed(seen, load<P>(other + r * L + part));
        GASG21_UNROLL
        for (uword c = 0; c <= r; ++c) second[r][c] += v[r] * v[c];
      }
    }
  }
  GASG21_UNROLL
  for (uword r = 0; r < R; ++r) GASG21_UNROLL
  for (uword c = 0; c <= r; ++c) store(at(i, r, c), first[r][c]);
  GASG21_UNROLL
  for (uword r = 0; r < S; ++r) GASG21_UNROLL
  for (uword c = 0; c <= r; ++c) store(at(j, r, c), second[r][c]);
}

/// All products of D columns, 4 to 10, of a chunk, with 16 registers.
template <class T, uword D>
GASG21_INLINE void add_small_tiles(const T* chunk, const T* x, uword n_blocks, T* sums,
                                   const T* ahead) {
  if constexpr (D == 4) {
    add_tile<T, 4, 0, true>(chunk, x, n_blocks, D, 0, 0, sums, ahead, D);
  } else if constexpr (D == 5) {
    add_tile<T, 2, 3, true>(chunk, x, n_blocks, D, 3, 0, sums, ahead, D);
    add_tile<T, 3, 0, true>(chunk, x, n_blocks, D, 0, 0, sums, ahead, 0);
  } else if constexpr (D <= 7) {  // 3, 3 and 4, 3
    constexpr uword A = D - 3;
    add_tile<T, 3, A, false>(chunk, x, n_blocks, D, A, 0, sums, ahead, D);
    if constexpr (A == 3) {
      add_corners<T, 3, 3>(chunk, x, n_blocks, D, 0, 3, sums);
    } else {
      add_tile<T, 4, 0, true>(chunk, x, n_blocks, D, 0, 0, sums, ahead, 0);
      add_tile<T, 3, 0, true>(chunk, x, n_blocks, D, 4, 0, sums, ahead, 0);
    }
  } else {  // 3, 3, 2; 3, 3, 3 and 4, 3, 3
    constexpr uword A = D == 10 ? 4 : 3, B = 3, C = D - A - B;
    add_tile<T, B, A, false>(chunk, x, n_blocks, D, A, 0, sums, ahead, (D + 1) / 2);
    add_tile<T, C, A, false>(chunk, x, n_blocks, D, A + B, 0, sums,
                             ahead + (D + 1) / 2 * block_rows<T>, D / 2);
    add_tile<T, C, B, false>(chunk, x, n_blocks, D, A + B, A, sums, ahead, 0);
    add_tile<T, A, 0, true>(chunk, x, n_blocks, D, 0, 0, sums, ahead, 0);
    add_corners<T, B, C>(chunk, x, n_blocks, D, A, A + B, sums);
  }
}

/// `sums` for some more columns, when something is missing: the step, the moments and,
/// where registers are left for them, a few products of a chunk of rows; then the others, in tiles,
/// while it is in the first cache and the next chunk on its way there.
template <class T, uword D, bool Moving>
GASG21_INLINE void sums_in_chunks(T* U, uword n_blocks, const Move<T>* move, const T* x,
                                  const T* next, T* G, T* b, T* scratch) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T), chunk = 24;
  constexpr uword M = bytes == 64 && D <= max_tile + 2 ? 3 : 0;
  P moments[D], across, products[M + 1][M + 1];
  clear<T, D, M>(moments, across, products);
  std::fill(scratch, scratch + D * (D + 1) / 2 * L, T(0));
  const Move<T> step = Moving ? *move : Move<T>{};
  for (uword from = 0; from < n_blocks; from += chunk) {
    const uword here = std::min(chunk, n_blocks - from);
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

/// d columns in tiles of nearly the same width: 5, 4 or 3 with 32 registers; with 16 of them 3, and
/// one of 4 or 2.
struct Tiling {
  uword count, width, wide;  // the first `wide` tiles have one column more than `width`
  GASG21_INLINE explicit Tiling(uword d)
      : count(bytes == 64 ? (d + 4) / 5 : std::max<uword>(d / 3 + (d % 3 == 2), 1)),
        width(d / count),
        wide(d % count) {}
  GASG21_INLINE uword first(uword t) const { return t * width + std::min(t, wide); }
  GASG21_INLINE uword columns(uword t) const { return width + (t < wide); }
};

/// All products of the columns of a chunk.
template <class T, uword Apart = block_rows<T>, bool Masked = true>
GASG21_INLINE void add_tiles(const T* chunk, const T* x, uword n_blocks, uword d, T* sums,
                             const T* ahead) {
  const uword step = Masked ? d : 1;
  constexpr uword A = bytes == 64 ? 5 : 4, B = A - 1, C = A - 2;  // the widths that occur
  const Tiling tiling(d);
  const uword n_tiles = tiling.count * (tiling.count + 1) / 2, share = (d + n_tiles - 1) / n_tiles;
  uword fetched = 0;
  for (uword s = 0; s < tiling.count; ++s)
    for (uword t = 0; t <= s; ++t) {
      const uword i = tiling.first(s), j = tiling.first(t);
      const uword rows = tiling.columns(s), columns = tiling.columns(t);
      const uword lines = std::min(share, d - fetched);
      const T* next = ahead + fetched * block_rows<T>;
      fetched += lines;
#define GASG21_TILE(R, K)                                                                       \
  if (rows == (R) && columns == (K)) {                                                          \
    add_tile<T, R, K, false, Apart, Masked>(chunk, x, n_blocks, step, i, j, sums, next, lines); \
    continue;                                                                                   \
  }
#define GASG21_DIAGONAL_TILE(R)                                                                \
  if (s == t && rows == (R)) {                                                                 \
    add_tile<T, R, 0, true, Apart, Masked>(chunk, x, n_blocks, step, i, j, sums, next, lines); \
    continue;                                                                                  \
  }
      GASG21_DIAGONAL_TILE(A)
      GASG21_DIAGONAL_TILE(B)
      GASG21_DIAGONAL_TILE(C)
      if constexpr (bytes == 64) {
        GASG21_TILE(A, A)
        GASG21_TILE(C, C)
      }
      GASG21_TILE(B, A)
      GASG21_TILE(B, B)
      GASG21_TILE(C, B)
#undef GASG21_TILE
#undef GASG21_DIAGONAL_TILE
    }
}

#if GASG21_BYTES == 32

/// What is observed of a chunk, each column by itself, zeros up to whole blocks; then the products
/// of these. Moving it takes 1 / d of the time of the products, of which fewer are left, and they
/// run through memory. (With AVX-512 it was not tried.)
template <class T>
GASG21_INLINE void add_observed(const T* chunk, const T* x, uword n_blocks, uword d, T* sums,
                                T* room) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T), parts = L / lanes;
  constexpr uword apart = compressed_apart<T>;
  T* out = room;
  for (uword g = 0; g < n_blocks * parts; ++g) {
    const unsigned bits = observed_bits<T>(load<P>(x + g * lanes));
    const T* const rows = chunk + g / parts * d * L + g % parts * lanes;
    for (uword c = 0; c < d; ++c) store(out + c * apart, compress<T>(load<P>(rows + c * L), bits));
    out += __builtin_popcount(bits);
  }
  for (uword c = 0; c < d; ++c) GASG21_UNROLL
  for (uword part = 0; part < L; part += lanes) store(out + c * apart + part, P{});
  const uword count = uword(out - room);
  add_tiles<T, apart, false>(room, x, (count + L - 1) / L, d, sums, room);
}

#endif

/// For K registers of rows: the step, and b += U'x.
template <class T, bool Full, bool Moving, int K>
GASG21_INLINE void take_rows(T* const (&u)[K], T* const (&e)[K], const T* const (&x)[K],
                             const T* const (&last)[K], uword d, const Move<T>* move, T* moments,
                             Pack<T>& across) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T);
  P shift[K], value[K];
  if constexpr (Moving) find_shift<T>(u, e, d, *move, shift);
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
  // (More columns than five, none missing: where rows do not stay in registers, there is nothing to
  // gain from their number.)
  if constexpr (D != 0 && ((Full && (bytes == 64 || D <= 5)) || D <= max_tile))
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
