// `residual`. A part of impl/tracked_basis.hpp. It runs from the last rows to the first, where
// `sums` starts: the rows where one pass ends are still in the near caches when the other starts
// (at n = 20000, d = 10, both take 54 us instead of 65).

namespace gasg21::kernels::GASG21_SET {

/// `residual` for K registers of rows.
template <class T, int K>
GASG21_INLINE void residual_rows(const T* const (&u)[K], const T* const (&x)[K],
                                 const T* const (&e)[K], T* const (&r)[K], uword d, const T* w,
                                 T* q, Pack<T>& rr, Pack<T>& re) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T);
  P residual[K];
  GASG21_UNROLL
  for (int k = 0; k < K; ++k) residual[k] = load<P>(x[k]);
  for (uword c = 0; c < d; ++c) {
    const P weight = broadcast<P>(w[c]);
    GASG21_UNROLL
    for (int k = 0; k < K; ++k) residual[k] = residual[k] - load<P>(u[k] + c * L) * weight;
  }
  GASG21_UNROLL
  for (int k = 0; k < K; ++k) {
    store(r[k], residual[k]);  // NaN off Omega, as x
    residual[k] = where_observed(residual[k], residual[k]);
    rr += residual[k] * residual[k];
    re += residual[k] * load<P>(e[k]);
  }
  for (uword c = 0; c < d; ++c) {
    P sum = load<P>(q + c * lanes);
    GASG21_UNROLL
    for (int k = 0; k < K; ++k) sum += load<P>(u[k] + c * L) * residual[k];
    store(q + c * lanes, sum);
  }
}

/// `residual` for few columns and 32 registers: they hold a register of rows and all sums.
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
  for (uword block = n_blocks; block-- > 0;) {
    GASG21_UNROLL
    for (uword part = 0; part < L; part += lanes) {
      const uword at = block * L + part;
      P u[D], residual = load<P>(x + at), other = P{};
      GASG21_UNROLL
      for (uword c = 0; c < D; ++c) u[c] = load<P>(U + (block * D + c) * L + part);
      GASG21_UNROLL
      for (uword c = 0; c < D; ++c) {  // two sums: in one, each step waits for the last
        if (c % 2 == 0)
          residual = residual - u[c] * weight[c];
        else
          other += u[c] * weight[c];
      }
      residual = residual - other;
      store(r + at, residual);  // NaN off Omega, as x
      residual = where_observed(residual, residual);
      rr += residual * residual;
      re += residual * load<P>(e + at);
      GASG21_UNROLL
      for (uword c = 0; c < D; ++c) q[c] += u[c] * residual;
    }
  }
  GASG21_UNROLL
  for (uword c = 0; c < D; ++c) q_out[c] = lane_sum<T>(q[c]);
  products[0] = lane_sum<T>(rr);
  products[1] = lane_sum<T>(re);
}

/// `residual` for few columns and 16 registers: K registers of rows at a time, which are read twice
/// and share the loads of w.
template <class T, uword D, int K>
GASG21_INLINE void residual_by(const T* U, const T* w, const T* x, const T* e, T* r,
                               Pack<T> (&q)[D], Pack<T>& rr, Pack<T>& re) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T), parts = L / lanes;
  const auto rows = [&](int k) { return U + uword(k) / parts * D * L + uword(k) % parts * lanes; };
  P residual[K];
  GASG21_UNROLL
  for (int k = 0; k < K; ++k) residual[k] = load<P>(x + k * lanes);
  GASG21_UNROLL
  for (uword c = 0; c < D; ++c) {
    const P weight = broadcast<P>(w[c]);
    GASG21_UNROLL
    for (int k = 0; k < K; ++k) residual[k] = residual[k] - load<P>(rows(k) + c * L) * weight;
  }
  GASG21_UNROLL
  for (int k = 0; k < K; ++k) {
    store(r + k * lanes, residual[k]);  // NaN off Omega, as x
    residual[k] = where_observed(residual[k], residual[k]);
    rr += residual[k] * residual[k];
    re += residual[k] * load<P>(e + k * lanes);
  }
  GASG21_UNROLL
  for (uword c = 0; c < D; ++c) GASG21_UNROLL
  for (int k = 0; k < K; ++k) q[c] += load<P>(rows(k) + c * L) * residual[k];
}
template <class T, uword D>
GASG21_INLINE void residual_by_four(const T* U, uword n_blocks, const T* w, const T* x, const T* e,
                                    T* r, T* q_out, T* products) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, parts = 64 / bytes, two = 4 / parts;
  P q[D], rr = P{}, re = P{};
  GASG21_UNROLL
  for (uword c = 0; c < D; ++c) q[c] = P{};
  uword block = n_blocks;
  for (; block >= two; block -= two) {
    GASG21_READ_AGAIN(w);
    const uword at = (block - two) * L;
    residual_by<T, D, 4>(U + at * D, w, x + at, e + at, r + at, q, rr, re);
  }
  while (block-- > 0)
    residual_by<T, D, int(parts)>(U + block * D * L, w, x + block * L, e + block * L, r + block * L,
                                  q, rr, re);
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
  uword g = n_blocks * parts;
  for (; g >= K; g -= K) {
    rows_from(g - K, d, U, u);
    entries_from(g - K, x, at);
    entries_from(g - K, e, last);
    entries_from(g - K, r, out);
    residual_rows<T>(u, at, last, out, d, w, q, rr, re);
  }
  while (g-- > 0) {
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

}  // namespace gasg21::kernels::GASG21_SET
