// The kernels of block_kernels.hpp for one instruction set; included once for each.

namespace gasg21::kernels::GASG21_SET {

/// Columns of which all products stay in registers, of which there are 32, or 16.
inline constexpr uword max_tile = bytes == 64 ? 5 : 3;

/// The first half of a geodesic step for K registers of rows, which begin at u[0], u[1], ...:
/// shift = along U v + across e. Replaces e.
template <class T, uword D, int K>
GASG21_INLINE void find_shift(T* const (&u)[K], T* const (&e)[K], uword d_, const Move<T>& move,
                              Pack<T> (&shift)[K]) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>;
  const uword d = D ? D : d_;
  P off[K];
  GASG21_UNROLL
  for (int k = 0; k < K; ++k) shift[k] = off[k] = P{};
  if (move.y) {
    for (uword c = 0; c < d; ++c) {
      const P v = broadcast<P>(move.v[c]), y = broadcast<P>(move.y[c]);
      GASG21_UNROLL
      for (int k = 0; k < K; ++k) {
        const P column = load<P>(u[k] + c * L);
        shift[k] += column * v;
        off[k] += column * y;
      }
    }
  } else {
    for (uword c = 0; c < d; ++c) {
      const P v = broadcast<P>(move.v[c]);
      GASG21_UNROLL
      for (int k = 0; k < K; ++k) shift[k] += load<P>(u[k] + c * L) * v;
    }
  }
  const P along = broadcast<P>(move.along), across = broadcast<P>(move.across),
          scale = broadcast<P>(move.scale);
  GASG21_UNROLL
  for (int k = 0; k < K; ++k) {
    const P rest = load<P>(e[k]), direction = where_observed(rest, (rest - off[k]) * scale);
    store(e[k], direction);
    shift[k] = shift[k] * along + direction * across;
  }
}

/// The second half: U += shift v'.
template <class T, uword D, int K>
GASG21_INLINE void turn_rows(T* const (&u)[K], uword d_, const Move<T>& move,
                             const Pack<T> (&shift)[K]) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>;
  const uword d = D ? D : d_;
  for (uword c = 0; c < d; ++c) {
    const P v = broadcast<P>(move.v[c]);
    GASG21_UNROLL
    for (int k = 0; k < K; ++k) store(u[k] + c * L, load<P>(u[k] + c * L) + shift[k] * v);
  }
}

template <class T, uword D, int K>
GASG21_INLINE void carry_rows(T* const (&u)[K], T* const (&e)[K], uword d, const Move<T>& move) {
  Pack<T> shift[K];
  find_shift<T, D>(u, e, d, move, shift);
  turn_rows<T, D>(u, d, move, shift);
}

/// Where the K registers of rows from number g on lie: their basis rows, and their entries.
template <class T, int K>
GASG21_INLINE void rows_from(uword g, uword d, T* U, T* (&u)[K]) {
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T), parts = L / lanes;
  GASG21_UNROLL
  for (int k = 0; k < K; ++k)
    u[k] = U + (g + uword(k)) / parts * d * L + (g + uword(k)) % parts * lanes;
}
template <class T, int K>
GASG21_INLINE void entries_from(uword g, T* x, T* (&at)[K]) {
  GASG21_UNROLL
  for (int k = 0; k < K; ++k) at[k] = x + (g + uword(k)) * (bytes / sizeof(T));
}

template <class T, uword D>
GASG21_INLINE void carry_out(T* U, uword n_blocks, uword d, const Move<T>& move) {
  constexpr uword parts = 64 / bytes;
  constexpr int K = D ? 1 : 4;
  T *u[K], *e[K], *u1[1], *e1[1];
  uword g = 0;
  for (; g + K <= n_blocks * parts; g += K) {
    rows_from(g, d, U, u);
    entries_from(g, move.e, e);
    carry_rows<T, D>(u, e, d, move);
  }
  for (; g < n_blocks * parts; ++g) {
    rows_from(g, d, U, u1);
    entries_from(g, move.e, e1);
    carry_rows<T, D>(u1, e1, d, move);
  }
}

/// `sums` for few columns: all sums in registers.
template <class T, uword D, bool Full, bool Moving>
GASG21_INLINE T sums_in_registers(T* U, uword n_blocks, const Move<T>* move_, const T* last,
                                  const T* x, const T* next, T* G, T* b) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T);
  P products[D][D], moments[D], across = P{};
  GASG21_UNROLL
  for (uword c = 0; c < D; ++c) {
    moments[c] = P{};
    GASG21_UNROLL
    for (uword a = 0; a <= c; ++a) products[c][a] = P{};
  }
  const Move<T> move = Moving ? *move_ : Move<T>{};
  for (uword block = 0; block < n_blocks; ++block) {
    GASG21_PREFETCH(next + block * L);
    GASG21_UNROLL
    for (uword part = 0; part < L; part += lanes) {
      T* const rows[1] = {U + block * D * L + part};
      if constexpr (Moving) {
        T* const e[1] = {move.e + block * L + part};
        carry_rows<T, D>(rows, e, D, move);
      }
      const P seen = load<P>(x + block * L + part);
      const P value = Full ? seen : where_observed(seen, seen);
      if constexpr (Full) across += value * load<P>(last + block * L + part);
      P u[D];
      GASG21_UNROLL
      for (uword c = 0; c < D; ++c) u[c] = load<P>(rows[0] + c * L);
      GASG21_UNROLL
      for (uword c = 0; c < D; ++c) {
        moments[c] += u[c] * value;
        if constexpr (!Full) {
          const P masked = where_observed(seen, u[c]);
          GASG21_UNROLL
          for (uword a = 0; a <= c; ++a) products[c][a] += masked * u[a];
        }
      }
    }
  }
  GASG21_UNROLL
  for (uword c = 0; c < D; ++c) {
    b[c] = lane_sum<T>(moments[c]);
    if constexpr (!Full) {
      GASG21_UNROLL
      for (uword a = 0; a <= c; ++a) G[c + a * D] = lane_sum<T>(products[c][a]);
    }
  }
  return lane_sum<T>(across);
}

/// `sums` for one or two columns more than that: what the first ones need in one go with the step,
/// the others in a second go over a chunk that is still in the first cache.
template <class T, uword D, bool Moving>
GASG21_INLINE void sums_in_two(T* U, uword n_blocks, const Move<T>* move_, const T* x,
                               const T* next, T* G, T* b) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T), M = max_tile, chunk = 32;
  constexpr uword N = D - M;
  P first[M][M], others[N][D], moments[D];
  GASG21_UNROLL
  for (uword c = 0; c < D; ++c) moments[c] = P{};
  GASG21_UNROLL
  for (uword c = 0; c < M; ++c) GASG21_UNROLL
  for (uword a = 0; a <= c; ++a) first[c][a] = P{};
  GASG21_UNROLL
  for (uword c = 0; c < N; ++c) GASG21_UNROLL
  for (uword a = 0; a <= M + c; ++a) others[c][a] = P{};
  const Move<T> move = Moving ? *move_ : Move<T>{};
  for (uword from = 0; from < n_blocks; from += chunk) {
    const uword to = std::min(from + chunk, n_blocks);
    for (uword block = from; block < to; ++block) {
      GASG21_PREFETCH(next + block * L);
      GASG21_UNROLL
      for (uword part = 0; part < L; part += lanes) {
        T* const rows[1] = {U + block * D * L + part};
        if constexpr (Moving) {
          T* const e[1] = {move.e + block * L + part};
          carry_rows<T, D>(rows, e, D, move);
        }
        const P seen = load<P>(x + block * L + part), value = where_observed(seen, seen);
        P u[M];
        GASG21_UNROLL
        for (uword c = 0; c < M; ++c) {
          u[c] = load<P>(rows[0] + c * L);
          moments[c] += u[c] * value;
          const P masked = where_observed(seen, u[c]);
          GASG21_UNROLL
          for (uword a = 0; a <= c; ++a) first[c][a] += masked * u[a];
        }
      }
    }
    for (uword block = from; block < to; ++block) {
      GASG21_UNROLL
      for (uword part = 0; part < L; part += lanes) {
        const T* rows = U + block * D * L + part;
        const P seen = load<P>(x + block * L + part), value = where_observed(seen, seen);
        P masked[N];
        GASG21_UNROLL
        for (uword c = 0; c < N; ++c) {
          masked[c] = where_observed(seen, load<P>(rows + (M + c) * L));
          moments[M + c] += masked[c] * value;
        }
        GASG21_UNROLL
        for (uword a = 0; a < M; ++a) {
          const P column = load<P>(rows + a * L);
          GASG21_UNROLL
          for (uword c = 0; c < N; ++c) others[c][a] += masked[c] * column;
        }
        GASG21_UNROLL
        for (uword c = 0; c < N; ++c) GASG21_UNROLL
        for (uword a = 0; a <= c; ++a) others[c][M + a] += masked[c] * masked[a];
      }
    }
  }
  GASG21_UNROLL
  for (uword c = 0; c < D; ++c) b[c] = lane_sum<T>(moments[c]);
  GASG21_UNROLL
  for (uword c = 0; c < M; ++c) GASG21_UNROLL
  for (uword a = 0; a <= c; ++a) G[c + a * D] = lane_sum<T>(first[c][a]);
  GASG21_UNROLL
  for (uword c = 0; c < N; ++c) GASG21_UNROLL
  for (uword a = 0; a <= M + c; ++a) G[M + c + a * D] = lane_sum<T>(others[c][a]);
}

/// Adds to the products of the columns i, i + 1, ... (R of them) and j, j + 1, ... (C) of a chunk
/// of U over what is observed of x. Meanwhile it fetches `n_ahead` lines a block of what comes
/// next.
template <class T, uword R, uword C, bool Diagonal>
GASG21_INLINE void add_tile(const T* chunk, const T* x, uword n_blocks, uword d, uword i, uword j,
                            T* sums, const T* ahead, uword n_ahead) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T);
  P tile[R][C];
  GASG21_UNROLL
  for (uword r = 0; r < R; ++r) GASG21_UNROLL
  for (uword c = 0; c < C; ++c)
    if (!Diagonal || c <= r)
      tile[r][c] = load<P>(sums + ((i + r) * (i + r + 1) / 2 + j + c) * lanes);
  for (uword b = 0; b < n_blocks; ++b, chunk += d * L, x += L, ahead += d * L) {
    for (uword k = 0; k < n_ahead; ++k) GASG21_PREFETCH(ahead + k * L);
    GASG21_UNROLL
    for (uword part = 0; part < L; part += lanes) {
      const P seen = load<P>(x + part);
      P left[R];
      GASG21_UNROLL
      for (uword r = 0; r < R; ++r)
        left[r] = where_observed(seen, load<P>(chunk + (i + r) * L + part));
      GASG21_UNROLL
      for (uword c = 0; c < C; ++c) {
        const P right = Diagonal ? left[Diagonal ? c : 0] : load<P>(chunk + (j + c) * L + part);
        GASG21_UNROLL
        for (uword r = 0; r < R; ++r)
          if (!Diagonal || c <= r) tile[r][c] += left[r] * right;
      }
    }
  }
  GASG21_UNROLL
  for (uword r = 0; r < R; ++r) GASG21_UNROLL
  for (uword c = 0; c < C; ++c)
    if (!Diagonal || c <= r) store(sums + ((i + r) * (i + r + 1) / 2 + j + c) * lanes, tile[r][c]);
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

template <class T>
GASG21_INLINE void add_tiles(const T* chunk, const T* x, uword n_blocks, uword d, T* sums,
                             const T* ahead) {
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
#define GASG21_TILE(R, K)                                                     \
  if (rows == (R) && columns == (K)) {                                        \
    add_tile<T, R, K, false>(chunk, x, n_blocks, d, i, j, sums, next, lines); \
    continue;                                                                 \
  }
#define GASG21_DIAGONAL_TILE(R)                                              \
  if (s == t && rows == (R)) {                                               \
    add_tile<T, R, R, true>(chunk, x, n_blocks, d, i, j, sums, next, lines); \
    continue;                                                                \
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

/// For K registers of rows: the second half of a step, b += U'x, and the observed rows of U into
/// the chunk.
template <class T, uword D, bool Full, bool Moving, int K>
GASG21_INLINE void take_rows(T* const (&u)[K], T* const (&e)[K], const T* const (&x)[K],
                             const T* const (&last)[K], uword d_, const Move<T>* move, T* moments,
                             Pack<T>& across) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T);
  const uword d = D ? D : d_;
  P shift[K], value[K];
  if constexpr (Moving) find_shift<T, D>(u, e, d, *move, shift);
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
template <class T, uword D, bool Full, bool Moving>
GASG21_INLINE T sums_in_tiles(T* U, uword n_blocks, uword d_, const Move<T>* move, const T* last,
                              const T* x, const T* next, T* G, T* b, T* scratch) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T), parts = L / lanes;
  constexpr int K = 4;
  const uword d = D ? D : d_, pairs = d * (d + 1) / 2, chunk = chunk_blocks(d);
  T *moments = scratch, *products = moments + d * L;
  std::fill(moments, Full ? products : products + pairs * L, T(0));
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
        GASG21_PREFETCH(next + from * L + (g + k) * lanes);
      take_rows<T, D, Full, Moving>(u, e, at, before, d, move, moments, across);
    }
    for (; g < n_packs; ++g) {
      rows_from(g, d, U + from * d * L, u1);
      entries_from(g, x + from * L, at1);
      entries_from(g, last + from * L, before1);
      if constexpr (Moving) entries_from(g, move->e + from * L, e1);
      take_rows<T, D, Full, Moving>(u1, e1, at1, before1, d, move, moments, across);
    }
    if constexpr (!Full) {
      const uword here = n_packs / parts, next_here = std::min(from + here, n_blocks - 1);
      add_tiles<T>(U + from * d * L, x + from * L, here, d, products, U + next_here * d * L);
    }
  }
  for (uword c = 0; c < d; ++c) {
    b[c] = lane_sum<T>(load<P>(moments + c * lanes));
    if constexpr (!Full) GASG21_UNROLL
    for (uword a = 0; a <= c; ++a)
      G[c + a * d] = lane_sum<T>(load<P>(products + (c * (c + 1) / 2 + a) * lanes));
  }
  return lane_sum<T>(across);
}

template <class T, uword D, bool Full, bool Moving>
GASG21_INLINE T sums_for(T* U, uword n_blocks, uword d, const Move<T>* move, const T* e, const T* x,
                         const T* next, T* G, T* b, T* scratch) {
  if constexpr (D != 0 && (Full || D <= max_tile))
    return sums_in_registers<T, D, Full, Moving>(U, n_blocks, move, e, x, next, G, b);
  else if constexpr (D != 0)
    return sums_in_two<T, D, Moving>(U, n_blocks, move, x, next, G, b), T(0);
  else
    return sums_in_tiles<T, D, Full, Moving>(U, n_blocks, d, move, e, x, next, G, b, scratch);
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

/// `residual` for K registers of rows.
template <class T, int K>
GASG21_INLINE void residual_rows(const T* const (&u)[K], const T* const (&x)[K],
                                 const T* const (&e)[K], T* const (&r)[K], uword d, const T* w,
                                 T* q, Pack<T>& rr, Pack<T>& re) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T);
  P rest[K];
  GASG21_UNROLL
  for (int k = 0; k < K; ++k) rest[k] = load<P>(x[k]);
  for (uword c = 0; c < d; ++c) {
    const P weight = broadcast<P>(w[c]);
    GASG21_UNROLL
    for (int k = 0; k < K; ++k) rest[k] = rest[k] - load<P>(u[k] + c * L) * weight;
  }
  GASG21_UNROLL
  for (int k = 0; k < K; ++k) {
    store(r[k], rest[k]);  // NaN off Omega, as x
    rest[k] = where_observed(rest[k], rest[k]);
    rr += rest[k] * rest[k];
    re += rest[k] * load<P>(e[k]);
  }
  for (uword c = 0; c < d; ++c) {
    P sum = load<P>(q + c * lanes);
    GASG21_UNROLL
    for (int k = 0; k < K; ++k) sum += load<P>(u[k] + c * L) * rest[k];
    store(q + c * lanes, sum);
  }
}

/// `residual` for few columns: all sums in registers.
template <class T, uword D>
GASG21_INLINE void residual_in_registers(const T* U, uword n_blocks, const T* w, const T* x,
                                         const T* e, T* r, T* q_out, T* products) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T);
  P q[D], weight[D], rr = P{}, re = P{};
  GASG21_UNROLL
  for (uword c = 0; c < D; ++c) {
    q[c] = P{};
    weight[c] = broadcast<P>(w[c]);
  }
  for (uword block = 0; block < n_blocks; ++block) {
    GASG21_UNROLL
    for (uword part = 0; part < L; part += lanes) {
      const uword at = block * L + part;
      P u[D], rest = load<P>(x + at), other = P{};
      GASG21_UNROLL
      for (uword c = 0; c < D; ++c) u[c] = load<P>(U + (block * D + c) * L + part);
      GASG21_UNROLL
      for (uword c = 0; c < D; ++c) {  // two chains: one would wait for each step
        if (c % 2 == 0)
          rest = rest - u[c] * weight[c];
        else
          other += u[c] * weight[c];
      }
      rest = rest - other;
      store(r + at, rest);  // NaN off Omega, as x
      rest = where_observed(rest, rest);
      rr += rest * rest;
      re += rest * load<P>(e + at);
      GASG21_UNROLL
      for (uword c = 0; c < D; ++c) q[c] += u[c] * rest;
    }
  }
  GASG21_UNROLL
  for (uword c = 0; c < D; ++c) q_out[c] = lane_sum<T>(q[c]);
  products[0] = lane_sum<T>(rr);
  products[1] = lane_sum<T>(re);
}

/// `residual` for many columns: four registers of rows at a time.
template <class T>
GASG21_INLINE void residual_of_many(const T* U, uword n_blocks, uword d, const T* w, const T* x,
                                    const T* e, T* r, T* q, T* products) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T), parts = L / lanes;
  constexpr int K = 4;
  P rr = P{}, re = P{};
  std::fill(q, q + d * L, T(0));  // room for a register each
  const T *u[K], *at[K], *last[K], *u1[1], *at1[1], *last1[1];
  T *out[K], *out1[1];
  uword g = 0;
  for (; g + K <= n_blocks * parts; g += K) {
    rows_from(g, d, U, u);
    entries_from(g, x, at);
    entries_from(g, e, last);
    entries_from(g, r, out);
    residual_rows<T>(u, at, last, out, d, w, q, rr, re);
  }
  for (; g < n_blocks * parts; ++g) {
    rows_from(g, d, U, u1);
    entries_from(g, x, at1);
    entries_from(g, e, last1);
    entries_from(g, r, out1);
    residual_rows<T>(u1, at1, last1, out1, d, w, q, rr, re);
  }
  for (uword c = 0; c < d; ++c) q[c] = lane_sum<T>(load<P>(q + c * lanes));  // never overtakes
  products[0] = lane_sum<T>(rr);
  products[1] = lane_sum<T>(re);
}

/// column[i] -= sum_k G[i + k d] factors[k] for i in [from, to), as far as whole registers go, K at
/// a time. Returns where it stopped.
template <class T, int K>
GASG21_INLINE uword subtract_columns(const T* G, uword d, uword count, const T* factors, T* column,
                                     uword from, uword to) {
  using P = Pack<T>;
  constexpr uword lanes = bytes / sizeof(T);
  for (; from + K * lanes <= to; from += K * lanes) {
    P sum[K];
    GASG21_UNROLL
    for (int k = 0; k < K; ++k) sum[k] = load<P>(column + from + k * lanes);
    for (uword c = 0; c < count; ++c) {
      const P factor = broadcast<P>(factors[c]);
      GASG21_UNROLL
      for (int k = 0; k < K; ++k) sum[k] = sum[k] - load<P>(G + c * d + from + k * lanes) * factor;
    }
    GASG21_UNROLL
    for (int k = 0; k < K; ++k) store(column + from + k * lanes, sum[k]);
  }
  return from;
}

/// kernels::ldl for many columns.
template <class T>
T ldl(T* G, uword d) {
  T smallest = 0, largest = 0;
  for (uword j = 0; j < d; ++j) {
    T* column = G + j * d;  // above the diagonal: D L'
    uword i = subtract_columns<T, 4>(G, d, j, column, column, j, d);
    i = subtract_columns<T, 1>(G, d, j, column, column, i, d);
    for (; i < d; ++i)
      for (uword k = 0; k < j; ++k) column[i] -= G[i + k * d] * column[k];
    const T pivot = column[j];
    if (!(pivot > 0)) return 0;
    smallest = j == 0 ? pivot : std::min(smallest, pivot);
    largest = std::max(largest, pivot);
    column[j] = 1 / pivot;
    for (i = j + 1; i < d; ++i) {
      G[j + i * d] = column[i];
      column[i] *= column[j];
    }
  }
  return smallest / largest;
}

/// kernels::ldl_solve for many columns.
template <class T>
void ldl_solve(const T* G, uword d, T* b) {
  using P = Pack<T>;
  constexpr uword lanes = bytes / sizeof(T);
  for (uword j = 0; j < d; ++j) {
    uword i = subtract_columns<T, 1>(G + j * d, d, 1, b + j, b, j + 1, d);
    for (; i < d; ++i) b[i] -= G[i + j * d] * b[j];
  }
  for (uword j = 0; j < d; ++j) b[j] *= G[j + j * d];
  for (uword j = d; j-- > 0;) {
    P sum = P{};
    uword i = j + 1;
    for (; i + lanes <= d; i += lanes) sum += load<P>(G + i + j * d) * load<P>(b + i);
    T rest = lane_sum<T>(sum);
    for (; i < d; ++i) rest += G[i + j * d] * b[i];
    b[j] -= rest;
  }
}

/// out = x. Returns the sum of the squares of what is observed, and counts it.
template <class T>
T observe(const T* x, uword n, T* out, uword& count) {
  using P = Pack<T>;
  constexpr uword lanes = bytes / sizeof(T);
  P counts[2] = {P{}, P{}}, squares[2] = {P{}, P{}};
  const P one = broadcast<P>(T(1));
  uword i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    GASG21_UNROLL
    for (int k = 0; k < 2; ++k) {
      const P seen = load<P>(x + i + k * lanes), value = where_observed(seen, seen);
      store(out + i + k * lanes, seen);
      counts[k] += where_observed(seen, one);
      squares[k] += value * value;
    }
  }
  count = lane_count<T>(counts[0]) + lane_count<T>(counts[1]);
  T square = lane_sum<T>(squares[0] + squares[1]);
  for (; i < n; ++i) {
    out[i] = x[i];
    count += x[i] == x[i];
    square += x[i] == x[i] ? x[i] * x[i] : T(0);
  }
  return square;
}

/// What is observed of x, and where.
template <class T>
void compact(const T* x, uword n, uword* rows, T* values) {
  uword next = 0, i = 0;
#if GASG21_BYTES == 64
  const __m512i eight = _mm512_set1_epi64(8);
  __m512i at = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
  for (; i + 8 <= n; i += 8, at = _mm512_add_epi64(at, eight)) {
    __mmask8 observed;
    if constexpr (sizeof(T) == 8) {
      const __m512d seen = _mm512_loadu_pd(x + i);
      observed = _mm512_cmp_pd_mask(seen, seen, _CMP_ORD_Q);
      _mm512_storeu_pd(values + next, _mm512_maskz_compress_pd(observed, seen));
    } else {
      const __m256 seen = _mm256_loadu_ps(x + i);
      observed = _mm256_cmp_ps_mask(seen, seen, _CMP_ORD_Q);
      _mm256_storeu_ps(values + next, _mm256_maskz_compress_ps(observed, seen));
    }
    _mm512_storeu_si512(rows + next, _mm512_maskz_compress_epi64(observed, at));
    next += uword(__builtin_popcount(observed));
  }
#endif
  for (; i < n; ++i) {  // without a branch, which could not be guessed
    rows[next] = i;
    values[next] = x[i];
    next += x[i] == x[i];
  }
}

template <class T, uword D>
struct BlockTable {
  static T sums(T* U, uword n_blocks, uword d, const Move<T>* move, const T* e, const T* x,
                const T* next, T* G, T* b, T* scratch) {
    return sums_of<T, D>(U, n_blocks, d, move, e, x, next, G, b, scratch);
  }
  static void residual(const T* U, uword n_blocks, uword d, const T* w, const T* x, const T* e,
                       T* r, T* q, T* products) {
    if constexpr (D != 0)
      residual_in_registers<T, D>(U, n_blocks, w, x, e, r, q, products);
    else
      residual_of_many<T>(U, n_blocks, d, w, x, e, r, q, products);
  }
  static void carry(T* U, uword n_blocks, uword d, const Move<T>& move) {
    carry_out<T, D>(U, n_blocks, d, move);
  }
  static constexpr BlockKernels<T> kernels{sums, residual, carry};
};

template <class T>
const BlockKernels<T>& block_kernels(uword d) {
  switch (d) {
    case 1:
      return BlockTable<T, 1>::kernels;
    case 2:
      return BlockTable<T, 2>::kernels;
    case 3:
      return BlockTable<T, 3>::kernels;
    case 4:
      return BlockTable<T, 4>::kernels;
    case 5:
      return BlockTable<T, 5>::kernels;
    default:
      return BlockTable<T, 0>::kernels;
  }
}

}  // namespace gasg21::kernels::GASG21_SET
