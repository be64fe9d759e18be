// Gram matrices of some rows, in register tiles. A part of impl/tracked_basis.hpp.

namespace gasg21::kernels::GASG21_SET {

/// Some rows of the basis, and the entries of x that belong to them.
template <class T>
struct Chunk {
  const T *U, *x;
  uword n_blocks, stride;  // `stride` blocks from one row block to the next
};

/// Cache lines to prefetch with each row block.
template <class T>
struct Ahead {
  const T* from;
  uword lines;
};

/// Whether a tile of R rows holds entry (r, c): C columns and, if Corner, the lower triangle of the
/// R columns that are its rows.
template <uword C, bool Corner>
GASG21_INLINE constexpr bool in_tile(uword r, uword c) {
  return c < C || (Corner && c - C <= r);
}

/// Where the sum of columns i + r and j + c is, or of i + r and i + c - C in the corner.
template <class T, uword C, bool Wide>
GASG21_INLINE T* tile_sum(T* sums, uword i, uword j, uword r, uword c) {
  const uword row = i + r, column = c < C ? j + c : i + c - C;
  return sums + (row * (row + 1) / 2 + column) * (Wide ? bytes / sizeof(T) : 1);
}

/// Adds the products of one register of rows to a tile.
template <class T, uword R, uword C, bool Corner, uword Apart>
GASG21_INLINE void add_to_tile(const Pack<T> (&left)[R], const T* columns,
                               Pack<T> (&tile)[R][C + R]) {
  GASG21_UNROLL
  for (uword c = 0; c < C; ++c) {
    const Pack<T> right = load<Pack<T>>(columns + c * Apart);
    GASG21_UNROLL
    for (uword r = 0; r < R; ++r) tile[r][c] = multiply_add<T>(left[r], right, tile[r][c]);
  }
  if constexpr (Corner) {
    GASG21_UNROLL
    for (uword r = 0; r < R; ++r) GASG21_UNROLL
    for (uword c = 0; c <= r; ++c)
      tile[r][C + c] = multiply_add<T>(left[r], left[c], tile[r][C + c]);
  }
}

/// Adds a tile of the Gram matrix of a chunk to the sums: the products of the columns i, i + 1, ...
/// (R of them) with j, j + 1, ... (C) and, if Corner, with one another. Columns are Apart from each
/// other. Masked: over the observed entries of x. Otherwise all entries are observed. Wide: a sum
/// is a register. Otherwise it is one number: many columns have more sums than the near caches hold
/// registers.
template <class T, uword R, uword C, bool Corner, uword Apart = block_rows<T>, bool Masked = true,
          bool Wide = Masked>
GASG21_INLINE void add_tile(const Chunk<T>& chunk, uword i, uword j, T* sums, Ahead<T> ahead) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T);
  P tile[R][C + R];
  GASG21_UNROLL
  for (uword r = 0; r < R; ++r) GASG21_UNROLL
  for (uword c = 0; c < C + R; ++c)
    if (in_tile<C, Corner>(r, c))
      tile[r][c] = Wide ? load<P>(tile_sum<T, C, Wide>(sums, i, j, r, c)) : P{};
  // A pointer for each side, so that columns are at constant distances from it.
  const T *rows = chunk.U + i * Apart, *columns = chunk.U + j * Apart, *x = chunk.x;
  const uword step = chunk.stride * L;
  for (uword b = 0; b < chunk.n_blocks;
       ++b, rows += step, columns += step, x += L, ahead.from += step) {
    if constexpr (bytes != 32)  // with AVX2 on a Zen 3 prefetching costs more than waiting (4-9 %)
      for (uword k = 0; k < ahead.lines; ++k) GASG21_PREFETCH_L1(ahead.from + k * L);
    GASG21_UNROLL
    for (uword part = 0; part < L; part += lanes) {
      P left[R], entries = P{};
      if constexpr (Masked) entries = load<P>(x + part);
      GASG21_UNROLL
      for (uword r = 0; r < R; ++r) {
        const P column = load<P>(rows + r * Apart + part);
        left[r] = Masked ? where_observed(entries, column) : column;
      }
      add_to_tile<T, R, C, Corner, Apart>(left, columns + part, tile);
    }
  }
  GASG21_UNROLL
  for (uword r = 0; r < R; ++r) GASG21_UNROLL
  for (uword c = 0; c < C + R; ++c)
    if (in_tile<C, Corner>(r, c)) {
      T* const sum = tile_sum<T, C, Wide>(sums, i, j, r, c);
      if constexpr (Wide)
        store(sum, tile[r][c]);
      else
        *sum += lane_sum<T>(tile[r][c]);
    }
}

/// Adds two corners: the products of the columns i, ..., i + R - 1 with one another, and of
/// j, ..., j + S - 1. The sums of a single corner would wait for each other.
template <class T, uword R, uword S>
GASG21_INLINE void add_corners(const Chunk<T>& chunk, uword i, uword j, T* sums) {
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
  const T *one = chunk.U + i * L, *other = chunk.U + j * L, *x = chunk.x;
  const uword step = chunk.stride * L;
  for (uword b = 0; b < chunk.n_blocks; ++b, one += step, other += step, x += L) {
    GASG21_UNROLL
    for (uword part = 0; part < L; part += lanes) {
      const P entries = load<P>(x + part);
      P u[R], v[S];
      GASG21_UNROLL
      for (uword r = 0; r < R; ++r) {
        u[r] = where_observed(entries, load<P>(one + r * L + part));
        GASG21_UNROLL
        for (uword c = 0; c <= r; ++c) first[r][c] = multiply_add<T>(u[r], u[c], first[r][c]);
      }
      GASG21_UNROLL
      for (uword r = 0; r < S; ++r) {
        v[r] = where_observed(entries, load<P>(other + r * L + part));
        GASG21_UNROLL
        for (uword c = 0; c <= r; ++c) second[r][c] = multiply_add<T>(v[r], v[c], second[r][c]);
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

/// The Gram matrix of D columns, 4 to 10, with 16 registers.
template <class T, uword D>
GASG21_INLINE void add_small_tiles(const Chunk<T>& chunk, T* sums, const T* ahead) {
  if constexpr (D == 4) {
    add_tile<T, 4, 0, true>(chunk, 0, 0, sums, {ahead, D});
  } else if constexpr (D == 5) {
    add_tile<T, 2, 3, true>(chunk, 3, 0, sums, {ahead, D});
    add_tile<T, 3, 0, true>(chunk, 0, 0, sums, {ahead, 0});
  } else if constexpr (D <= 7) {  // 3, 3 and 4, 3
    constexpr uword A = D - 3;
    add_tile<T, 3, A, false>(chunk, A, 0, sums, {ahead, D});
    if constexpr (A == 3) {
      add_corners<T, 3, 3>(chunk, 0, 3, sums);
    } else {
      add_tile<T, 4, 0, true>(chunk, 0, 0, sums, {ahead, 0});
      add_tile<T, 3, 0, true>(chunk, 4, 0, sums, {ahead, 0});
    }
  } else {  // 3, 3, 2; 3, 3, 3 and 4, 3, 3
    constexpr uword A = D == 10 ? 4 : 3, B = 3, C = D - A - B, half = (D + 1) / 2;
    add_tile<T, B, A, false>(chunk, A, 0, sums, {ahead, half});
    add_tile<T, C, A, false>(chunk, A + B, 0, sums, {ahead + half * block_rows<T>, D / 2});
    add_tile<T, C, B, false>(chunk, A + B, A, sums, {ahead, 0});
    add_tile<T, A, 0, true>(chunk, 0, 0, sums, {ahead, 0});
    add_corners<T, B, C>(chunk, A, A + B, sums);
  }
}

/// Splits d columns into tiles of nearly the same width: 5, 4 or 3 with 32 registers; 3, and one of
/// 4 or 2, with 16 registers.
struct Tiling {
  uword count, width, wide;  // the first `wide` tiles have one column more than `width`
  GASG21_INLINE explicit Tiling(uword d)
      : count(bytes == 64 ? (d + 4) / 5 : std::max<uword>(d / 3 + (d % 3 == 2), 1)),
        width(d / count),
        wide(d % count) {}
  GASG21_INLINE uword first(uword t) const { return t * width + std::min(t, wide); }
  GASG21_INLINE uword columns(uword t) const { return width + (t < wide); }
};

/// The Gram matrix of the d columns of a chunk. Prefetches a share of the chunk `ahead` with each
/// tile.
template <class T, uword Apart = block_rows<T>, bool Masked = true>
GASG21_INLINE void add_tiles(const Chunk<T>& chunk, uword d, T* sums, const T* ahead) {
  constexpr uword A = bytes == 64 ? 5 : 4, B = A - 1, C = A - 2;  // the widths that occur
  const Tiling tiling(d);
  const uword n_tiles = tiling.count * (tiling.count + 1) / 2, share = (d + n_tiles - 1) / n_tiles;
  uword fetched = 0;
  for (uword s = 0; s < tiling.count; ++s)
    for (uword t = 0; t <= s; ++t) {
      const uword i = tiling.first(s), j = tiling.first(t);
      const uword rows = tiling.columns(s), columns = tiling.columns(t);
      const uword lines = std::min(share, d - fetched);
      const Ahead<T> next{ahead + fetched * block_rows<T>, lines};
      fetched += lines;
#define GASG21_TILE(R, K)                                             \
  if (rows == (R) && columns == (K)) {                                \
    add_tile<T, R, K, false, Apart, Masked>(chunk, i, j, sums, next); \
    continue;                                                         \
  }
#define GASG21_DIAGONAL_TILE(R)                                      \
  if (s == t && rows == (R)) {                                       \
    add_tile<T, R, 0, true, Apart, Masked>(chunk, i, j, sums, next); \
    continue;                                                        \
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

/// The same, after the observed rows of the chunk are compacted: each column by itself, with zeros
/// up to whole row blocks. Compacting takes 1 / d of the time of the products, of which fewer
/// remain. (Not tried with AVX-512.)
template <class T>
GASG21_INLINE void add_compacted(const Chunk<T>& chunk, T* sums, T* compacted) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T), parts = L / lanes;
  constexpr uword apart = compacted_apart<T>;
  const uword d = chunk.stride;
  T* out = compacted;
  for (uword g = 0; g < chunk.n_blocks * parts; ++g) {
    const unsigned bits = observed_bits<T>(load<P>(chunk.x + g * lanes));
    const T* const rows = chunk.U + g / parts * d * L + g % parts * lanes;
    for (uword c = 0; c < d; ++c) store(out + c * apart, compress<T>(load<P>(rows + c * L), bits));
    out += __builtin_popcount(bits);
  }
  for (uword c = 0; c < d; ++c) GASG21_UNROLL
  for (uword part = 0; part < L; part += lanes) store(out + c * apart + part, P{});
  const uword count = uword(out - compacted);
  add_tiles<T, apart, false>({compacted, nullptr, (count + L - 1) / L, 1}, d, sums, compacted);
}

#endif

}  // namespace gasg21::kernels::GASG21_SET
