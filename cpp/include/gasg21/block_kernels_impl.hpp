// The kernels of block_kernels.hpp for one instruction set; included once for each.

namespace gasg21::kernels::GASG21_SET {

/// Columns of which all products stay in registers.
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
    const P direction = (load<P>(e[k]) - off[k]) * scale;
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
GASG21_INLINE T sums_in_registers(T* U, uword n_blocks, const Move<T>* move, const T* last,
                                  const T* x, const T* next, T* G, T* b) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T);
  P products[D][D], moments[D];
  GASG21_UNROLL
  for (uword c = 0; c < D; ++c) {
    moments[c] = P{};
    GASG21_UNROLL
    for (uword a = 0; a <= c; ++a) products[c][a] = P{};
  }
  P across = P{};
  T *rows[1], *e[1];
  for (uword g = 0; g < n_blocks * (L / lanes); ++g) {
    rows_from(g, D, U, rows);
    GASG21_PREFETCH(next + g * lanes);
    if constexpr (Moving) {
      entries_from(g, move->e, e);
      carry_rows<T, D>(rows, e, D, *move);
    }
    const P seen = load<P>(x + g * lanes);
    const P value = Full ? seen : where_observed(seen, seen);
    if constexpr (Full) across += value * load<P>(last + g * lanes);
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
  GASG21_UNROLL
  for (uword c = 0; c < D; ++c) {
    b[c] = lane_sum<T>(moments[c]);
    if constexpr (!Full) GASG21_UNROLL
    for (uword a = 0; a <= c; ++a) G[c + a * D] = lane_sum<T>(products[c][a]);
  }
  return lane_sum<T>(across);
}

/// Adds to the products of the columns i, i + 1, ... (R of them) and j, j + 1, ... (C) of a chunk.
template <class T, uword R, uword C, bool Diagonal>
GASG21_INLINE void add_tile(const T* chunk, uword n_packs, uword d, uword i, uword j, T* sums) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T), parts = L / lanes;
  P tile[R][C];
  GASG21_UNROLL
  for (uword r = 0; r < R; ++r) GASG21_UNROLL
  for (uword c = 0; c < C; ++c)
    if (!Diagonal || c <= r)
      tile[r][c] = load<P>(sums + ((i + r) * (i + r + 1) / 2 + j + c) * lanes);
  for (uword g = 0; g < n_packs; ++g) {
    const T* u = chunk + g / parts * d * L + g % parts * lanes;
    P left[R];
    GASG21_UNROLL
    for (uword r = 0; r < R; ++r) left[r] = load<P>(u + (i + r) * L);
    GASG21_UNROLL
    for (uword c = 0; c < C; ++c) {
      const P right = Diagonal ? left[c] : load<P>(u + (j + c) * L);
      GASG21_UNROLL
      for (uword r = 0; r < R; ++r)
        if (!Diagonal || c <= r) tile[r][c] += left[r] * right;
    }
  }
  GASG21_UNROLL
  for (uword r = 0; r < R; ++r) GASG21_UNROLL
  for (uword c = 0; c < C; ++c)
    if (!Diagonal || c <= r) store(sums + ((i + r) * (i + r + 1) / 2 + j + c) * lanes, tile[r][c]);
}

/// The columns of tile t of d columns in as few tiles as it takes, of nearly the same width.
struct Tiling {
  uword count, width, wide;  // the first `wide` tiles have one column more than `width`
  GASG21_INLINE Tiling(uword d, uword most)
      : count((d + most - 1) / most), width(d / count), wide(d % count) {}
  GASG21_INLINE uword first(uword t) const { return t * width + std::min(t, wide); }
  GASG21_INLINE uword columns(uword t) const { return width + (t < wide); }
};

template <class T>
GASG21_INLINE void add_tiles(const T* chunk, uword n_packs, uword d, T* sums) {
  constexpr uword A = max_tile, B = A - 1, C = A == 5 ? A - 2 : B;  // widths that occur
  const Tiling tiling(d, A);
  for (uword s = 0; s < tiling.count; ++s)
    for (uword t = 0; t <= s; ++t) {
      const uword i = tiling.first(s), j = tiling.first(t);
      const uword rows = tiling.columns(s), columns = tiling.columns(t);
#define GASG21_TILE(R, K)                                                                \
  if (rows == (R) && columns == (K)) {                                                   \
    if (s == t)                                                                          \
      add_tile<T, R, (R) == (K) ? (R) : (K), (R) == (K)>(chunk, n_packs, d, i, j, sums); \
    else                                                                                 \
      add_tile<T, R, K, false>(chunk, n_packs, d, i, j, sums);                           \
    continue;                                                                            \
  }
      GASG21_TILE(A, A)
      GASG21_TILE(B, A)
      GASG21_TILE(B, B)
      if constexpr (A == 5) {
        GASG21_TILE(C, B)
        GASG21_TILE(C, C)
      }
#undef GASG21_TILE
    }
}

/// For K registers of rows: the second half of a step, b += U'x, and the observed rows of U into
/// the chunk.
template <class T, uword D, bool Full, bool Moving, int K>
GASG21_INLINE void take_rows(T* const (&u)[K], T* const (&e)[K], const T* const (&x)[K],
                             const T* const (&last)[K], uword d_, const Move<T>* move,
                             T* const (&out)[K], T* moments, Pack<T>& across) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T);
  const uword d = D ? D : d_;
  P shift[K], seen[K], value[K];
  if constexpr (Moving) find_shift<T, D>(u, e, d, *move, shift);
  GASG21_UNROLL
  for (int k = 0; k < K; ++k) {
    seen[k] = load<P>(x[k]);
    value[k] = Full ? seen[k] : where_observed(seen[k], seen[k]);
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
      if constexpr (!Full) store(out[k] + c * L, where_observed(seen[k], column));
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
  T *moments = scratch, *products = moments + d * L, *rows = products + pairs * L;
  std::fill(moments, Full ? products : rows, T(0));
  T *u[K], *e[K], *out[K], *u1[1], *e1[1], *out1[1];
  const T *at[K], *before[K], *at1[1], *before1[1];
  P across = P{};
  for (uword from = 0; from < n_blocks; from += chunk) {
    const uword n_packs = std::min(chunk, n_blocks - from) * parts;
    uword g = 0;
    for (; g + K <= n_packs; g += K) {
      rows_from(g, d, U + from * d * L, u);
      rows_from(g, d, rows, out);
      entries_from(g, x + from * L, at);
      entries_from(g, last + from * L, before);
      if constexpr (Moving) entries_from(g, move->e + from * L, e);
      GASG21_UNROLL
      for (uword k = 0; k < uword(K); k += parts) GASG21_PREFETCH(next + from * L + (g + k) * lanes);
      take_rows<T, D, Full, Moving>(u, e, at, before, d, move, out, moments, across);
    }
    for (; g < n_packs; ++g) {
      rows_from(g, d, U + from * d * L, u1);
      rows_from(g, d, rows, out1);
      entries_from(g, x + from * L, at1);
      entries_from(g, last + from * L, before1);
      if constexpr (Moving) entries_from(g, move->e + from * L, e1);
      take_rows<T, D, Full, Moving>(u1, e1, at1, before1, d, move, out1, moments, across);
    }
    if constexpr (!Full) add_tiles<T>(rows, n_packs, d, products);
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
template <class T, uword D, int K>
GASG21_INLINE void residual_rows(const T* const (&u)[K], const T* const (&x)[K],
                                 const T* const (&e)[K], T* const (&r)[K], uword d_, const T* w,
                                 Pack<T> (&q)[D ? D : 1], T* q_memory, Pack<T>& rr, Pack<T>& re) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T);
  const uword d = D ? D : d_;
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
    rest[k] = where_observed(rest[k], rest[k]);  // NaN - p is NaN
    store(r[k], rest[k]);
    rr += rest[k] * rest[k];
    re += rest[k] * load<P>(e[k]);
  }
  for (uword c = 0; c < d; ++c) {
    P sum = D ? q[D ? c : 0] : load<P>(q_memory + c * lanes);
    GASG21_UNROLL
    for (int k = 0; k < K; ++k) sum += load<P>(u[k] + c * L) * rest[k];
    if constexpr (D != 0)
      q[c] = sum;
    else
      store(q_memory + c * lanes, sum);
  }
}

template <class T, uword D>
GASG21_INLINE void residual_of(const T* U, uword n_blocks, uword d, const T* w, const T* x,
                               const T* e, T* r, T* q_out, T* products) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T), parts = L / lanes;
  constexpr int K = D ? 1 : 4;
  P q[D ? D : 1], rr = P{}, re = P{};
  for (uword c = 0; c < (D ? D : 1); ++c) q[c] = P{};
  if (!D) std::fill(q_out, q_out + d * L, T(0));  // room for a register each, see below
  const T *u[K], *at[K], *ee[K], *u1[1], *at1[1], *ee1[1];
  T *rr_at[K], *rr_at1[1];
  uword g = 0;
  for (; g + K <= n_blocks * parts; g += K) {
    rows_from(g, D ? D : d, U, u);
    entries_from(g, x, at);
    entries_from(g, e, ee);
    entries_from(g, r, rr_at);
    residual_rows<T, D, K>(u, at, ee, rr_at, d, w, q, q_out, rr, re);
  }
  for (; g < n_blocks * parts; ++g) {
    rows_from(g, D ? D : d, U, u1);
    entries_from(g, x, at1);
    entries_from(g, e, ee1);
    entries_from(g, r, rr_at1);
    residual_rows<T, D, 1>(u1, at1, ee1, rr_at1, d, w, q, q_out, rr, re);
  }
  for (uword c = 0; c < (D ? D : 0); ++c) q_out[c] = lane_sum<T>(q[c]);
  for (uword c = 0; c < (D ? 0 : d); ++c)  // never overtakes what it reads
    q_out[c] = lane_sum<T>(load<P>(q_out + c * lanes));
  products[0] = lane_sum<T>(rr);
  products[1] = lane_sum<T>(re);
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
    residual_of<T, D>(U, n_blocks, d, w, x, e, r, q, products);
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
