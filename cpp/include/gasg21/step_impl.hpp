// Of block_kernels_impl.hpp: the geodesic step of some rows.

namespace gasg21::kernels::GASG21_SET {

/// shift = along U v + across e, where U v is given as `shift` and U y as `off`. Replaces e.
template <class T>
GASG21_INLINE Pack<T> finish_shift(const Pack<T>& shift, const Pack<T>& off, T* e,
                                   const Move<T>& move) {
  using P = Pack<T>;
  const P rest = load<P>(e);
  const P direction = where_observed(rest, (rest - off) * broadcast<P>(move.scale));
  store(e, direction);
  return shift * broadcast<P>(move.along) + direction * broadcast<P>(move.across);
}

/// A geodesic step for a register of rows, which is at u.
template <class T, uword D>
GASG21_INLINE void step_of_rows(Pack<T> (&u)[D], T* e, const Move<T>& move) {
  using P = Pack<T>;
  P shift = P{}, off = P{};
  GASG21_UNROLL
  for (uword c = 0; c < D; ++c) shift += u[c] * broadcast<P>(move.v[c]);
  if (move.y) {
    GASG21_UNROLL
    for (uword c = 0; c < D; ++c) off += u[c] * broadcast<P>(move.y[c]);
  }
  shift = finish_shift<T>(shift, off, e, move);
  GASG21_UNROLL
  for (uword c = 0; c < D; ++c) u[c] += shift * broadcast<P>(move.v[c]);
}

/// The shift of two registers of rows, which v is multiplied with. Replaces e.
template <class T, uword D>
GASG21_INLINE void shift_of_two(const T* rows, T* e, const Move<T>& move, Pack<T> (&shift)[2]) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T);
  P off[2];
  GASG21_UNROLL
  for (int k = 0; k < 2; ++k) shift[k] = off[k] = P{};
  if (move.y) {
    GASG21_UNROLL
    for (uword c = 0; c < D; ++c) {
      const P v = broadcast<P>(move.v[c]), y = broadcast<P>(move.y[c]);
      GASG21_UNROLL
      for (int k = 0; k < 2; ++k) {
        const P u = load<P>(rows + c * L + k * lanes);
        shift[k] += u * v;
        off[k] += u * y;
      }
    }
  } else {
    GASG21_UNROLL
    for (uword c = 0; c < D; ++c) {
      const P v = broadcast<P>(move.v[c]);
      GASG21_UNROLL
      for (int k = 0; k < 2; ++k) shift[k] += load<P>(rows + c * L + k * lanes) * v;
    }
  }
  GASG21_UNROLL
  for (int k = 0; k < 2; ++k) shift[k] = finish_shift<T>(shift[k], off[k], e + k * lanes, move);
}

// The same for K registers of rows at a time, which lie at u[0], u[1], ...

/// The first half: the shift, which v is multiplied with.
template <class T, int K>
GASG21_INLINE void find_shift(T* const (&u)[K], T* const (&e)[K], uword d, const Move<T>& move,
                              Pack<T> (&shift)[K]) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>;
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
  GASG21_UNROLL
  for (int k = 0; k < K; ++k) shift[k] = finish_shift<T>(shift[k], off[k], e[k], move);
}

template <class T, int K>
GASG21_INLINE void carry_rows(T* const (&u)[K], T* const (&e)[K], uword d, const Move<T>& move) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>;
  P shift[K];
  find_shift<T>(u, e, d, move, shift);
  for (uword c = 0; c < d; ++c) {
    const P v = broadcast<P>(move.v[c]);
    GASG21_UNROLL
    for (int k = 0; k < K; ++k) store(u[k] + c * L, load<P>(u[k] + c * L) + shift[k] * v);
  }
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

template <class T>
GASG21_INLINE void carry_out(T* U, uword n_blocks, uword d, const Move<T>& move) {
  constexpr uword parts = 64 / bytes;
  constexpr int K = 4;
  T *u[K], *e[K], *u1[1], *e1[1];
  uword g = 0;
  for (; g + K <= n_blocks * parts; g += K) {
    rows_from(g, d, U, u);
    entries_from(g, move.e, e);
    carry_rows<T>(u, e, d, move);
  }
  for (; g < n_blocks * parts; ++g) {
    rows_from(g, d, U, u1);
    entries_from(g, move.e, e1);
    carry_rows<T>(u1, e1, d, move);
  }
}

}  // namespace gasg21::kernels::GASG21_SET
