// The geodesic step of some rows. A part of impl/tracked_basis.hpp.

namespace gasg21::kernels::GASG21_SET {

/// The factors of a step, in all lanes.
template <class T>
struct StepFactors {
  Pack<T> z_factor, e_factor, scale, y_over_z;

  template <class Step>
  GASG21_INLINE explicit StepFactors(const Step& step)
      : z_factor(broadcast<Pack<T>>(step.z_factor)),
        e_factor(broadcast<Pack<T>>(step.e_factor)),
        scale(broadcast<Pack<T>>(step.scale)),
        y_over_z(broadcast<Pack<T>>(step.y_over_z)) {}
};

/// The shift z_factor U z + e_factor e of a register of rows, where `residual` is r - U y. Replaces
/// r by the direction e, and returns it in `direction`. Whole: r has no NaN.
template <class T, bool Whole>
GASG21_INLINE Pack<T> shift_of(const Pack<T>& Uz, const Pack<T>& r, const Pack<T>& residual, T* e,
                               const StepFactors<T>& step, Pack<T>& direction) {
  direction = Whole ? residual * step.scale : where_observed(r, residual * step.scale);
  store(e, direction);
  return Uz * step.z_factor + direction * step.e_factor;
}
template <class T, bool WithY, bool Whole>
GASG21_INLINE Pack<T> shift_of(const Pack<T>& Uz, const Pack<T>& Uy, T* e,
                               const StepFactors<T>& step, Pack<T>& direction) {
  const Pack<T> r = load<Pack<T>>(e);
  return shift_of<T, Whole>(Uz, r, WithY ? r - Uy : r - Uz * step.y_over_z, e, step, direction);
}

/// Applies the step to a register of rows u.
template <class T, uword D, bool Whole>
GASG21_INLINE void apply_to_register(Pack<T> (&u)[D], T* e, const PendingStep<T>& step) {
  using P = Pack<T>;
  P Uz = P{}, Uy = P{};
  GASG21_UNROLL
  for (uword c = 0; c < D; ++c) Uz += u[c] * broadcast<P>(step.z[c]);
  if (step.y) {
    GASG21_UNROLL
    for (uword c = 0; c < D; ++c) Uy += u[c] * broadcast<P>(step.y[c]);
  }
  const StepFactors<T> factors(step);
  const P r = load<P>(e), residual = step.y ? r - Uy : r - Uz * factors.y_over_z;
  P direction;
  const P shift = shift_of<T, Whole>(Uz, r, residual, e, factors, direction);
  GASG21_UNROLL
  for (uword c = 0; c < D; ++c) u[c] += shift * broadcast<P>(step.v[c]);
}

/// Some columns of a row block.
template <class T, uword N>
GASG21_INLINE void load_block(const T* from, Pack<T> (&to)[N], uword count) {
  GASG21_UNROLL
  for (uword c = 0; c < N; ++c)
    if (c < count) to[c] = load<Pack<T>>(from + c * block_rows<T>);
}

/// Applies the step to K row blocks at once, which share the loads of z and v.
template <class T, uword D, int K>
GASG21_INLINE void apply_to_few_blocks(T* U, T* e, const PendingStep<T>& step) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>;
  const StepFactors<T> factors(step);
  P u[K][D], Uz[K], Uy[K], shift[K], direction;
  GASG21_UNROLL
  for (int k = 0; k < K; ++k) {
    load_block<T>(U + uword(k) * D * L, u[k], D);
    Uz[k] = Uy[k] = P{};
  }
  GASG21_UNROLL
  for (uword c = 0; c < D; ++c) {
    const P z = broadcast<P>(step.z[c]);
    GASG21_UNROLL
    for (int k = 0; k < K; ++k) Uz[k] += u[k][c] * z;
  }
  if (step.y) {
    GASG21_UNROLL
    for (uword c = 0; c < D; ++c) {
      const P y = broadcast<P>(step.y[c]);
      GASG21_UNROLL
      for (int k = 0; k < K; ++k) Uy[k] += u[k][c] * y;
    }
  }
  GASG21_UNROLL
  for (int k = 0; k < K; ++k) {
    const P r = load<P>(e + uword(k) * L);
    shift[k] = shift_of<T, false>(Uz[k], r, step.y ? r - Uy[k] : r - Uz[k] * factors.y_over_z,
                                  e + uword(k) * L, factors, direction);
  }
  GASG21_UNROLL
  for (uword c = 0; c < D; ++c) {
    const P v = broadcast<P>(step.v[c]);
    GASG21_UNROLL
    for (int k = 0; k < K; ++k) store(U + (uword(k) * D + c) * L, u[k][c] + shift[k] * v);
  }
}
/// Applies the step to the row blocks from <= b < to.
template <class T, uword D>
GASG21_INLINE void apply_to_blocks(T* U, uword from, uword to, const PendingStep<T>& step) {
  constexpr uword L = block_rows<T>;
  constexpr int K = D <= max_tile ? 4 : 2;
  for (; from + K <= to; from += K)
    apply_to_few_blocks<T, D, K>(U + from * D * L, step.e + from * L, step);
  for (; from < to; ++from) apply_to_few_blocks<T, D, 1>(U + from * D * L, step.e + from * L, step);
}

/// The shift of the K registers of rows at u[0], u[1], ...
template <class T, bool Whole, int K>
GASG21_INLINE void find_shift(T* const (&u)[K], T* const (&e)[K], uword d,
                              const PendingStep<T>& step, Pack<T> (&shift)[K]) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>;
  const StepFactors<T> factors(step);
  P Uz[K], direction;
  GASG21_UNROLL
  for (int k = 0; k < K; ++k) Uz[k] = P{};
  if (step.y) {
    P Uy[K];
    GASG21_UNROLL
    for (int k = 0; k < K; ++k) Uy[k] = P{};
    for (uword c = 0; c < d; ++c) {
      const P z = broadcast<P>(step.z[c]), y = broadcast<P>(step.y[c]);
      GASG21_UNROLL
      for (int k = 0; k < K; ++k) {
        const P column = load<P>(u[k] + c * L);
        Uz[k] += column * z;
        Uy[k] += column * y;
      }
    }
    GASG21_UNROLL
    for (int k = 0; k < K; ++k)
      shift[k] = shift_of<T, true, Whole>(Uz[k], Uy[k], e[k], factors, direction);
  } else {
    for (uword c = 0; c < d; ++c) {
      const P z = broadcast<P>(step.z[c]);
      GASG21_UNROLL
      for (int k = 0; k < K; ++k) Uz[k] += load<P>(u[k] + c * L) * z;
    }
    GASG21_UNROLL
    for (int k = 0; k < K; ++k)
      shift[k] = shift_of<T, false, Whole>(Uz[k], P{}, e[k], factors, direction);
  }
}

template <class T, int K>
GASG21_INLINE void apply_to_rows(T* const (&u)[K], T* const (&e)[K], uword d,
                                 const PendingStep<T>& step) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>;
  P shift[K];
  find_shift<T, false>(u, e, d, step, shift);
  for (uword c = 0; c < d; ++c) {
    const P v = broadcast<P>(step.v[c]);
    GASG21_UNROLL
    for (int k = 0; k < K; ++k) store(u[k] + c * L, load<P>(u[k] + c * L) + shift[k] * v);
  }
}

/// Addresses of K registers of rows from number g on, in the basis and in a vector.
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

/// Applies the step to all rows.
template <class T>
void apply_step(T* U, uword n_blocks, uword d, const PendingStep<T>& step) {
  constexpr uword parts = 64 / bytes;
  constexpr int K = 4;
  T *u[K], *e[K], *u1[1], *e1[1];
  uword g = 0;
  for (; g + K <= n_blocks * parts; g += K) {
    rows_from(g, d, U, u);
    entries_from(g, step.e, e);
    apply_to_rows<T>(u, e, d, step);
  }
  for (; g < n_blocks * parts; ++g) {
    rows_from(g, d, U, u1);
    entries_from(g, step.e, e1);
    apply_to_rows<T>(u1, e1, d, step);
  }
}

}  // namespace gasg21::kernels::GASG21_SET
