// Many small symmetric systems side by side, one per lane: G = L D L', and G^-1 b. The lower
// triangle of G is packed by rows; entry p of lane l is at [p][l], with one cache line of lanes.
// These functions take the lanes of one register. For one instruction set; included once for each
// set.

namespace gasg21::kernels::GASG21_SET {

/// Index of the first entry of row c in a lower triangle that is packed by rows.
GASG21_INLINE constexpr uword packed_row(uword c) { return c * (c + 1) / 2; }

/// Factors G in place: leaves L below the diagonal and 1 / D on it. Sets b := L^-1 b. Returns
/// 1 - b'G^-1 b for the b given. `absent` [c][l] is 1 for columns that a system does not have, else
/// 0, or null: the first pivot stands in for theirs. D is d if it is known at compile time, else 0.
template <class T, uword D>
GASG21_INLINE Pack<T> ldl_lanes(uword d_, T* G, T* b, const T* absent) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>;
  const uword d = D ? D : d_;
  const P one = broadcast<P>(T(1)), first = load<P>(G);
  P rest = one;
  for (uword c = 0; c < d; ++c) {
    T* row = G + packed_row(c) * L;
    P pivot = load<P>(row + c * L), moment = load<P>(b + c * L);
    if (absent) pivot += first * load<P>(absent + c * L);
    for (uword a = 0; a < c; ++a) {  // row c of L D
      const T* above = G + packed_row(a) * L;
      P entry = load<P>(row + a * L);
      for (uword e = 0; e < a; ++e) entry = entry - load<P>(row + e * L) * load<P>(above + e * L);
      store(row + a * L, entry);
    }
    for (uword a = 0; a < c; ++a) {  // row c of L
      const P entry = load<P>(row + a * L);
      const P scaled = entry * load<P>(G + (packed_row(a) + a) * L);
      store(row + a * L, scaled);
      pivot = pivot - scaled * entry;
      moment = moment - scaled * load<P>(b + a * L);
    }
    const P inverse = one / pivot;
    store(row + c * L, inverse);
    store(b + c * L, moment);
    rest = rest - moment * moment * inverse;
  }
  return rest;
}

/// b := L'^-1 D^-1 b after `ldl_lanes`, so that b is the solution.
template <class T>
GASG21_INLINE void ldl_lanes_backward(uword d, const T* G, T* b) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>;
  for (uword c = 0; c < d; ++c) {
    T* const at = b + c * L;
    store(at, load<P>(at) * load<P>(G + (packed_row(c) + c) * L));
  }
  for (uword r = d; r-- > 1;) {  // all entries above at once: none waits for the others
    const T* row = G + packed_row(r) * L;
    const P x = load<P>(b + r * L);
    for (uword c = 0; c < r; ++c) store(b + c * L, load<P>(b + c * L) - load<P>(row + c * L) * x);
  }
}

/// The smallest and the largest inverse pivot of each lane. A system is positive definite if the
/// smallest is positive and the largest is finite. Returns whether the smallest is above `ratio`
/// times the largest in all lanes.
template <class T>
GASG21_INLINE bool inverse_pivot_range(uword d, const T* G, T ratio, T* smallest, T* largest) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>;
  P least = load<P>(G), most = least;
  for (uword c = 1; c < d; ++c) {
    const P inverse = load<P>(G + (packed_row(c) + c) * L);
    least = smaller(inverse, least);
    most = larger(inverse, most);
  }
  store(smallest, least);
  store(largest, most);
  return all_less<T>(broadcast<P>(ratio) * most, least);
}

}  // namespace gasg21::kernels::GASG21_SET
