// Of block_kernels_impl.hpp: the geodesic step of some rows.

namespace gasg21::kernels::GASG21_SET {

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

}  // namespace gasg21::kernels::GASG21_SET
