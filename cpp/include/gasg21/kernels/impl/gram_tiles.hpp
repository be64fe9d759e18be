// Of impl/tracked_basis.hpp: the products of the columns of some rows, in tiles of
// registers.

namespace gasg21::kernels::GASG21_SET {

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
        for (uword r = 0; r < R; ++r) tile[r][c] = multiply_add<T>(left[r], right, tile[r][c]);
      }
      if constexpr (Corner) {
        GASG21_UNROLL
        for (uword r = 0; r < R; ++r) GASG21_UNROLL
        for (uword c = 0; c <= r; ++c)
          tile[r][C + c] = multiply_add<T>(left[r], left[c], tile[r][C + c]);
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
        for (uword c = 0; c <= r; ++c) first[r][c] = multiply_add<T>(u[r], u[c], first[r][c]);
      }
      GASG21_UNROLL
      for (uword r = 0; r < S; ++r) {
        v[r] = where_observed(seen, load<P>(other + r * L + part));
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

}  // namespace gasg21::kernels::GASG21_SET
