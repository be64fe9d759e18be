// Of impl/tracked_basis.hpp: the geodesic step of some rows.

namespace gasg21::kernels::GASG21_SET {

/// The numbers of a step, in all lanes.
template <class T>
struct StepNumbers {
  Pack<T> along, across, scale, back;

  template <class Step>
  GASG21_INLINE explicit StepNumbers(const Step& step)
      : along(broadcast<Pack<T> >(step.along)),
        across(broadcast<Pack<T> >(step.across)),
        scale(broadcast<Pack<T> >(step.scale)),
        back(broadcast<Pack<T> >(step.back)) {}
};

/// The shift of a register of rows, along U z + across e, where U z is given, and r less what it
/// has of U. Replaces r by the direction e, and gives it. Whole: nothing of r is NaN.
template <class T, bool Whole>
GASG21_INLINE Pack<T> shift_of(const Pack<T>& Uz, const Pack<T>& r, const Pack<T>& rest, T* e,
                               const StepNumbers<T>& step, Pack<T>& direction) {
  direction = Whole ? rest * step.scale : where_observed(r, rest * step.scale);
  store(e, direction);
  return Uz * step.along + direction * step.across;
}
template <class T, bool Refined, bool Whole>
GASG21_INLINE Pack<T> shift_of(const Pack<T>& Uz, const Pack<T>& Uy, T* e,
                               const StepNumbers<T>& step, Pack<T>& direction) {
  const Pack<T> r = load<Pack<T> >(e);
  return shift_of<T, Whole>(Uz, r, Refined ? r - Uy : r - Uz * step.back, e, step, direction);
}

/// A geodesic step for a register of rows, which is at u.
template <class T, uword D, bool Whole>
GASG21_INLINE void step_of_rows(Pack<T> (&u)[D], T* e, const Move<T>& move) {
  using P = Pack<T>;
  P Uz = P{}, Uy = P{};
  GASG21_UNROLL
  for (uword c = 0; c < D; ++c) Uz += u[c] * broadcast<P>(move.z[c]);
  if (move.y) {
    GASG21_UNROLL
    for (uword c = 0; c < D; ++c) Uy += u[c] * broadcast<P>(move.y[c]);
  }
  const StepNumbers<T> numbers(move);
  const P r = load<P>(e), rest = move.y ? r - Uy : r - Uz * numbers.back;
  P direction;
  const P shift = shift_of<T, Whole>(Uz, r, rest, e, numbers, direction);
  GASG21_UNROLL
  for (uword c = 0; c < D; ++c) u[c] += shift * broadcast<P>(move.v[c]);
}

// The same for K registers of rows at a time, which lie at u[0], u[1], ...

/// The first half: the shift, which v is multiplied with.
template <class T, bool Whole, int K>
GASG21_INLINE void find_shift(T* const (&u)[K], T* const (&e)[K], uword d, const Move<T>& move,
                              Pack<T> (&shift)[K]) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>;
  const StepNumbers<T> numbers(move);
  P Uz[K], direction;
  GASG21_UNROLL
  for (int k = 0; k < K; ++k) Uz[k] = P{};
  if (move.y) {
    P Uy[K];
    GASG21_UNROLL
    for (int k = 0; k < K; ++k) Uy[k] = P{};
    for (uword c = 0; c < d; ++c) {
      const P z = broadcast<P>(move.z[c]), y = broadcast<P>(move.y[c]);
      GASG21_UNROLL
      for (int k = 0; k < K; ++k) {
        const P column = load<P>(u[k] + c * L);
        Uz[k] += column * z;
        Uy[k] += column * y;
      }
    }
    GASG21_UNROLL
    for (int k = 0; k < K; ++k)
      shift[k] = shift_of<T, true, Whole>(Uz[k], Uy[k], e[k], numbers, direction);
  } else {
    for (uword c = 0; c < d; ++c) {
      const P z = broadcast<P>(move.z[c]);
      GASG21_UNROLL
      for (int k = 0; k < K; ++k) Uz[k] += load<P>(u[k] + c * L) * z;
    }
    GASG21_UNROLL
    for (int k = 0; k < K; ++k)
      shift[k] = shift_of<T, false, Whole>(Uz[k], P{}, e[k], numbers, direction);
  }
}

template <class T, int K>
GASG21_INLINE void carry_rows(T* const (&u)[K], T* const (&e)[K], uword d, const Move<T>& move) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>;
  P shift[K];
  find_shift<T, false>(u, e, d, move, shift);
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
void carry_out(T* U, uword n_blocks, uword d, const Move<T>& move) {
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
