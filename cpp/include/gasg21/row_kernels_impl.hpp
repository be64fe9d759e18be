// The kernels of row_kernels.hpp for one instruction set; included once for each.

namespace gasg21::kernels::GASG21_SET {

/// The number of the lowest bit that is set.
template <class Bits>
GASG21_INLINE uword lowest_bit(Bits bits) {
#if defined(__GNUC__)
  return uword(__builtin_ctzll(bits));
#else
  uword k = 0;
  for (; !(bits & 1); bits >>= 1) ++k;
  return k;
#endif
}

/// For one entry; in a register all the same, so that it gives the same bits as among others.
template <class T>
GASG21_INLINE T residual_entry(T x, const T* u, uword stride, uword d,
                               const FittedSample<T>& sample) {
  using P = Pack<T>;
  P rest = (broadcast<P>(x) * broadcast<P>(sample.up)) * broadcast<P>(sample.down);
  for (uword c = 0; c < d; ++c)
    rest = rest - broadcast<P>(u[c * stride]) * broadcast<P>(sample.w[c]);
  return rest[0];
}

/// The residuals of K registers of rows.
template <class T, int K>
GASG21_INLINE void residuals_of(const T* x, const T* U, uword stride, uword d,
                                const FittedSample<T>& sample, T* r) {
  using P = Pack<T>;
  constexpr uword lanes = bytes / sizeof(T);
  const P up = broadcast<P>(sample.up), down = broadcast<P>(sample.down);
  P rest[K];
  GASG21_UNROLL
  for (int k = 0; k < K; ++k) rest[k] = (load<P>(x + k * lanes) * up) * down;
  for (uword c = 0; c < d; ++c) {
    const P w = broadcast<P>(sample.w[c]);
    GASG21_UNROLL
    for (int k = 0; k < K; ++k) rest[k] = rest[k] - load<P>(U + c * stride + k * lanes) * w;
  }
  GASG21_UNROLL
  for (int k = 0; k < K; ++k) store(r + k * lanes, rest[k]);
}

/// For R registers of products, or of moments, of one coordinate after the other.
template <class T, uword R, bool Moments>
GASG21_INLINE void add_registers(const RowTileSums<T>& tile, uword from, const T* terms,
                                 const SampleGroup<T>& group) {
  using P = Pack<T>;
  constexpr uword lanes = bytes / sizeof(T);
  const uword column = tile.products + tile.moments;
  const T* end = tile.sums + tile.n_rows * column;
  for (uword i = 0; i < tile.n_rows; ++i) {
    SampleBits<T> bits = group.seen[i];
    if (bits == 0) continue;
    T* sums = tile.sums + i * column + from;
    // A register may reach into the next coordinates, to which it adds zeros; but not beyond the
    // tile, which another thread may be writing.
    const uword inside = std::min<uword>(R * lanes, uword(end - sums));
    T copy[R * lanes];
    T* at = sums;
    if (inside < R * lanes) {
      std::fill(copy, copy + R * lanes, T(0));
      std::copy(sums, sums + inside, copy);
      at = copy;
    }
    P sum[R];
    GASG21_UNROLL
    for (uword q = 0; q < R; ++q) sum[q] = load<P>(at + q * lanes);
    const T* r = group.r + i;
    while (bits) {
      const uword k = lowest_bit(bits);
      bits &= bits - 1;
      const T* term = terms + k * group.stride;
      if constexpr (Moments) {
        const P rest = broadcast<P>(r[k * group.r_stride]);
        GASG21_UNROLL
        for (uword q = 0; q < R; ++q) sum[q] += load<P>(term + q * lanes) * rest;
      } else {
        GASG21_UNROLL
        for (uword q = 0; q < R; ++q) sum[q] += load<P>(term + q * lanes);
      }
    }
    GASG21_UNROLL
    for (uword q = 0; q < R; ++q) store(at + q * lanes, sum[q]);
    if (at == copy) std::copy(copy, copy + inside, sums);
  }
}

/// All registers of the products, or of the moments; so many at a time that they stay registers.
template <class T, bool Moments>
GASG21_INLINE void add_all(const RowTileSums<T>& tile, const SampleGroup<T>& group) {
  constexpr uword lanes = bytes / sizeof(T), most = 8;
  const uword first = Moments ? tile.products : 0;
  const T* terms = group.terms + (Moments ? group.moments_at : 0);
  const uword count = ((Moments ? tile.moments : tile.products) + lanes - 1) / lanes;
  const uword n_parts = (count + most - 1) / most;
  for (uword part = 0, q = 0; part < n_parts; ++part) {
    const uword here = (count - q + n_parts - part - 1) / (n_parts - part);
#define GASG21_REGISTERS(R)                                                          \
  case R:                                                                            \
    add_registers<T, R, Moments>(tile, first + q * lanes, terms + q * lanes, group); \
    break;
    switch (here) {
      GASG21_REGISTERS(1)
      GASG21_REGISTERS(2)
      GASG21_REGISTERS(3)
      GASG21_REGISTERS(4)
      GASG21_REGISTERS(5)
      GASG21_REGISTERS(6)
      GASG21_REGISTERS(7)
      GASG21_REGISTERS(8)
    }
#undef GASG21_REGISTERS
    q += here;
  }
}

template <class T>
struct RowTable {
  static void note(const T* x, uword n_rows, const T* U, uword stride, uword d,
                   const FittedSample<T>& sample, SampleBits<T> bit, SampleBits<T>* seen, T* r) {
    constexpr uword lanes = bytes / sizeof(T);
    constexpr int K = 4;
    uword i = 0;
    for (; i + K * lanes <= n_rows; i += K * lanes)
      residuals_of<T, K>(x + i, U + i, stride, d, sample, r + i);
    for (; i + lanes <= n_rows; i += lanes)
      residuals_of<T, 1>(x + i, U + i, stride, d, sample, r + i);
    for (; i < n_rows; ++i) r[i] = residual_entry(x[i], U + i, stride, d, sample);
    for (i = 0; i < n_rows; ++i) seen[i] |= x[i] == x[i] ? bit : SampleBits<T>(0);
  }
  static T residual(T x, const T* u, uword d, const FittedSample<T>& sample) {
    return residual_entry(x, u, 1, d, sample);
  }
  static void add(const RowTileSums<T>& tile, const SampleGroup<T>& group) {
    add_all<T, false>(tile, group);
    add_all<T, true>(tile, group);
  }
  static constexpr RowKernels<T> kernels{note, residual, add};
};

template <class T>
const RowKernels<T>& row_kernels() {
  return RowTable<T>::kernels;
}

}  // namespace gasg21::kernels::GASG21_SET
