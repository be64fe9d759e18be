// The kernels of coordinate_sums.hpp for one instruction set; included once for each set.

namespace gasg21::kernels::GASG21_SET {

/// The index of the lowest bit that is set.
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

/// The residuals of K registers of rows.
template <class T, int K>
GASG21_INLINE void residuals_of(const T* x, const T* U, uword stride, uword d,
                                const FittedSample<T>& sample, T* r) {
  using P = Pack<T>;
  constexpr uword lanes = bytes / sizeof(T);
  const P up = broadcast<P>(sample.up), down = broadcast<P>(sample.down);
  P residual[K];
  GASG21_UNROLL
  for (int k = 0; k < K; ++k) residual[k] = (load<P>(x + k * lanes) * up) * down;
  for (uword c = 0; c < d; ++c) {
    const P w = broadcast<P>(sample.w[c]);
    GASG21_UNROLL
    for (int k = 0; k < K; ++k) residual[k] = residual[k] - load<P>(U + c * stride + k * lanes) * w;
  }
  GASG21_UNROLL
  for (int k = 0; k < K; ++k) store(r + k * lanes, residual[k]);
}

/// Adds the samples `bits` to R registers of products and Q registers of moments of one coordinate,
/// with residuals r.
template <class T, uword R, uword Q>
GASG21_INLINE void add_samples(const T* terms, const T* moment_terms, uword stride, const T* r,
                               uword r_stride, SampleBits<T> bits, T* products, T* moments) {
  using P = Pack<T>;
  constexpr uword lanes = bytes / sizeof(T);
  P sum[R ? R : 1], moment[Q ? Q : 1];
  GASG21_UNROLL
  for (uword q = 0; q < R; ++q) sum[q] = load<P>(products + q * lanes);
  GASG21_UNROLL
  for (uword q = 0; q < Q; ++q) moment[q] = load<P>(moments + q * lanes);
  while (bits) {
    const uword k = lowest_bit(bits);
    bits &= bits - 1;
    GASG21_UNROLL
    for (uword q = 0; q < R; ++q) sum[q] += load<P>(terms + k * stride + q * lanes);
    if constexpr (Q != 0) {
      const P residual = broadcast<P>(r[k * r_stride]);
      GASG21_UNROLL
      for (uword q = 0; q < Q; ++q)
        moment[q] += load<P>(moment_terms + k * stride + q * lanes) * residual;
    }
  }
  GASG21_UNROLL
  for (uword q = 0; q < R; ++q) store(products + q * lanes, sum[q]);
  GASG21_UNROLL
  for (uword q = 0; q < Q; ++q) store(moments + q * lanes, moment[q]);  // after the products
}

/// Adds R registers of products from number `first` on, and Q registers of moments from
/// `first_moment` on, of one coordinate after the other.
template <class T, uword R, uword Q>
GASG21_INLINE void add_registers(const CoordinateTileSums<T>& tile, const SampleGroup<T>& group,
                                 uword first, uword first_moment) {
  constexpr uword lanes = bytes / sizeof(T);
  const uword column = tile.products + tile.moments;
  const T *terms = group.terms + first * lanes,
          *moment_terms = group.terms + group.moments_at + first_moment * lanes;
  // The last register may reach beyond the sums of its coordinate, where it adds zeros. It must not
  // reach beyond the tile, which another thread may be writing: there it works on a copy.
  const uword reach =
      std::max(R ? (first + R) * lanes : 0, Q ? tile.products + (first_moment + Q) * lanes : 0);
  const uword n_products = R ? std::min(R * lanes, tile.products - first * lanes) : 0;
  const uword n_moments = Q ? std::min(Q * lanes, tile.moments - first_moment * lanes) : 0;
  T copy[(R + Q) * lanes];
  for (uword i = 0; i < tile.n_rows; ++i) {
    if (group.seen[i] == 0) continue;
    T *products = tile.sums + i * column + first * lanes,
      *moments = tile.sums + i * column + tile.products + first_moment * lanes;
    const bool inside = i * column + reach <= tile.n_rows * column;
    if (!inside) {
      std::fill(copy, copy + (R + Q) * lanes, T(0));
      std::copy(products, products + n_products, copy);
      std::copy(moments, moments + n_moments, copy + R * lanes);
    }
    add_samples<T, R, Q>(terms, moment_terms, group.stride, group.r + i, group.r_stride,
                         group.seen[i], inside ? products : copy,
                         inside ? moments : copy + R * lanes);
    if (!inside) {
      std::copy(copy, copy + n_products, products);
      std::copy(copy + R * lanes, copy + R * lanes + n_moments, moments);
    }
  }
}

/// The same for R, 1 to 8, known at run time.
template <class T, uword Q>
GASG21_INLINE void add_some(const CoordinateTileSums<T>& tile, const SampleGroup<T>& group, uword R,
                            uword first) {
#define GASG21_REGISTERS(count) \
  if (R == (count)) return add_registers<T, count, Q>(tile, group, first, 0);
  GASG21_REGISTERS(1)
  GASG21_REGISTERS(2)
  GASG21_REGISTERS(3)
  GASG21_REGISTERS(4)
  GASG21_REGISTERS(5)
  GASG21_REGISTERS(6)
  GASG21_REGISTERS(7)
  GASG21_REGISTERS(8)
#undef GASG21_REGISTERS
}

/// Adds all products and moments, at most 8 registers of products at a time. The first moments go
/// with the last products, which saves one loop over the bits.
template <class T>
GASG21_INLINE void add_all(const CoordinateTileSums<T>& tile, const SampleGroup<T>& group) {
  constexpr uword lanes = bytes / sizeof(T), most = 8;
  const uword count = (tile.products + lanes - 1) / lanes;
  const uword n_moments = (tile.moments + lanes - 1) / lanes;
  const uword n_parts = (count + most - 1) / most;
  uword first = 0;
  for (uword part = 0; part < n_parts; ++part) {
    const uword here = (count - first + n_parts - part - 1) / (n_parts - part);
    if (part + 1 < n_parts)
      add_some<T, 0>(tile, group, here, first);
    else if (n_moments == 1)
      add_some<T, 1>(tile, group, here, first);
    else
      add_some<T, 2>(tile, group, here, first);
    first += here;
  }
  uword q = 2;
  for (; q + 4 <= n_moments; q += 4) add_registers<T, 0, 4>(tile, group, 0, q);
  for (; q < n_moments; ++q) add_registers<T, 0, 1>(tile, group, 0, q);
}

template <class T>
struct CoordinateSumTable {
  static void note(const T* x, uword n_rows, const T* U, uword stride, uword d,
                   const FittedSample<T>& sample, SampleBits<T> bit, SampleBits<T>* seen, T* r) {
    constexpr uword lanes = bytes / sizeof(T);
    constexpr int K = 4;
    uword i = 0;
    for (; i + K * lanes <= n_rows; i += K * lanes)
      residuals_of<T, K>(x + i, U + i, stride, d, sample, r + i);
    for (; i + lanes <= n_rows; i += lanes)
      residuals_of<T, 1>(x + i, U + i, stride, d, sample, r + i);
    if (i < n_rows) {  // the last register, overlapping the one before
      i = n_rows - lanes;
      residuals_of<T, 1>(x + i, U + i, stride, d, sample, r + i);
    }
    for (i = 0; i < n_rows; ++i) seen[i] |= x[i] == x[i] ? bit : SampleBits<T>(0);
  }
  static void add(const CoordinateTileSums<T>& tile, const SampleGroup<T>& group) {
    add_all(tile, group);
  }
  static void solve(const T* sums, uword n_rows, uword d, double ridge, T* x, double* scratch) {
    constexpr uword L = block_rows<double>, lanes = bytes / sizeof(double);
    const uword packed = packed_row(d);
    double *G = scratch, *b = G + packed * L, trace[L] = {}, smallest[L], largest[L];
    std::fill(scratch, scratch + (packed + d) * L, 0.0);
    for (uword l = 0; l < n_rows; ++l) {  // from packed by columns to packed by rows
      const T* from = sums + l * (packed + d);
      for (uword c = 0; c < d; ++c) {
        double* to = G + (packed_row(c) + c) * L + l;
        for (uword r = c; r < d; to += ++r * L) *to = double(*from++);
      }
      for (uword c = 0; c < d; ++c) b[c * L + l] = double(*from++);
    }
    for (uword c = 0; c < d; ++c)
      for (uword l = 0; l < L; ++l) trace[l] += G[(packed_row(c) + c) * L + l];
    for (uword c = 0; c < d; ++c)
      for (uword l = 0; l < L; ++l) G[(packed_row(c) + c) * L + l] += ridge * trace[l];
    for (uword l = 0; l < L; l += lanes) {
      ldl_lanes<double, 0>(d, G + l, b + l, nullptr);
      ldl_lanes_backward(d, G + l, b + l);
    }
    inverse_pivot_range(d, G, smallest, largest);
    for (uword l = 0; l < n_rows; ++l) {
      const bool positive = trace[l] > 0 && smallest[l] > 0 &&  // false for NaN as well
                            largest[l] <= std::numeric_limits<double>::max();
      for (uword c = 0; c < d; ++c) x[l * d + c] = positive ? T(b[c * L + l]) : T(0);
    }
  }
  static constexpr CoordinateSumKernels<T> kernels{note, add, solve};
};

template <class T>
const CoordinateSumKernels<T>& coordinate_sum_kernels() {
  return CoordinateSumTable<T>::kernels;
}

}  // namespace gasg21::kernels::GASG21_SET
