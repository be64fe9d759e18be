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

/// How many bits are set.
template <class Bits>
GASG21_INLINE int count_bits(Bits bits) {
#if defined(__GNUC__)
  return __builtin_popcountll(bits);
#else
  int count = 0;
  for (; bits; bits &= bits - 1) ++count;
  return count;
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
  for (int k = 0; k < K; ++k) store(r + k * lanes, where_observed(residual[k], residual[k]));
}

/// Sums R registers of products of the samples `bits`, and the sizes of these samples.
template <class T, uword R>
GASG21_INLINE T sum_products(const SampleGroup<T>& group, uword first, SampleBits<T> bits,
                             Pack<T> (&sum)[R]) {
  using P = Pack<T>;
  constexpr uword lanes = bytes / sizeof(T);
  const T* const terms = group.terms + first * lanes;
  T size = 0;
  while (bits) {
    const uword k = lowest_bit(bits);
    bits &= bits - 1;
    size += group.sizes[k];
    GASG21_UNROLL
    for (uword q = 0; q < R; ++q) sum[q] += load<P>(terms + k * group.stride + q * lanes);
  }
  return size;
}

/// Adds R registers of products from number `first` on, of one coordinate after the other.
template <class T, uword R>
GASG21_INLINE void add_registers(const CoordinateTileSums<T>& tile, const SampleGroup<T>& group,
                                 uword first, T total_size) {
  using P = Pack<T>;
  using Bits = SampleBits<T>;
  constexpr uword lanes = bytes / sizeof(T);
  const uword column = tile.products + tile.moments;
  const Bits all = group.size < sample_group<T> ? (Bits(1) << group.size) - 1 : ~Bits(0);
  // The last register may reach beyond the sums of its coordinate, where it adds zeros. It must not
  // reach beyond the tile, which another thread may be writing: there it works on a copy.
  const uword count = std::min(R * lanes, tile.products - first * lanes);
  T copy[R * lanes];
  for (uword i = 0; i < tile.n_rows; ++i) {
    const Bits seen = group.seen[i];
    if (seen == 0) continue;
    T* products = tile.sums + i * column + first * lanes;
    const bool inside = i * column + (first + R) * lanes <= tile.n_rows * column;
    if (!inside) {
      std::fill(copy, copy + R * lanes, T(0));
      std::copy(products, products + count, copy);
    }
    T* const to = inside ? products : copy;
    P sum[R], missed[R];
    GASG21_UNROLL
    for (uword q = 0; q < R; ++q) {
      sum[q] = load<P>(to + q * lanes);
      missed[q] = P{};
    }
    // The total less those that miss it, unless the difference would lose digits.
    if (2 * uword(count_bits(seen)) > group.size &&
        2 * sum_products<T, R>(group, first, all ^ seen, missed) <= total_size) {
      GASG21_UNROLL
      for (uword q = 0; q < R; ++q)
        sum[q] += load<P>(group.total + (first + q) * lanes) - missed[q];
    } else {
      sum_products<T, R>(group, first, seen, sum);
    }
    GASG21_UNROLL
    for (uword q = 0; q < R; ++q) store(to + q * lanes, sum[q]);
    if (!inside) std::copy(copy, copy + count, products);
  }
}

/// Adds all products, at most 8 registers of them at a time.
template <class T>
GASG21_INLINE void add_products(const CoordinateTileSums<T>& tile, const SampleGroup<T>& group) {
  using P = Pack<T>;
  constexpr uword lanes = bytes / sizeof(T), most = 8;
  const uword count = (tile.products + lanes - 1) / lanes, n_parts = (count + most - 1) / most;
  T total_size = 0;
  for (uword k = 0; k < group.size; ++k) total_size += group.sizes[k];
  for (uword q = 0; q < count; ++q) {
    P sum = P{};
    for (uword k = 0; k < group.size; ++k)
      sum += load<P>(group.terms + k * group.stride + q * lanes);
    store(group.total + q * lanes, sum);
  }
  uword first = 0, R;
  for (uword part = 0; part < n_parts; ++part, first += R) {
    R = (count - first + n_parts - part - 1) / (n_parts - part);
#define GASG21_REGISTERS(count) \
  if (R == (count)) add_registers<T, count>(tile, group, first, total_size);
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
}

/// Adds C moments from number c on, of a register of coordinates from i on: a lane each, since a
/// coordinate that a sample misses has a residual of 0.
template <class T, uword C>
GASG21_INLINE void add_moments(const CoordinateTileSums<T>& tile, const SampleGroup<T>& group,
                               uword c, uword i) {
  using P = Pack<T>;
  constexpr uword lanes = bytes / sizeof(T);
  const uword column = tile.products + tile.moments, here = std::min(lanes, tile.n_rows - i);
  T* const moments = tile.sums + i * column + tile.products + c;
  T memory[C][lanes] = {};
  P sum[C];
  for (uword l = 0; l < here; ++l) GASG21_UNROLL
  for (uword k = 0; k < C; ++k) memory[k][l] = moments[l * column + k];
  GASG21_UNROLL
  for (uword k = 0; k < C; ++k) sum[k] = load<P>(memory[k]);
  const T *terms = group.terms + group.moments_at + c, *r = group.r + i;
  for (uword k = 0; k < group.size; ++k, terms += group.stride, r += group.r_stride) {
    const P residual = load<P>(r);
    GASG21_UNROLL
    for (uword q = 0; q < C; ++q) sum[q] += broadcast<P>(terms[q]) * residual;
  }
  GASG21_UNROLL
  for (uword k = 0; k < C; ++k) store(memory[k], sum[k]);
  for (uword l = 0; l < here; ++l) GASG21_UNROLL
  for (uword k = 0; k < C; ++k) moments[l * column + k] = memory[k][l];
}

/// Adds all moments, 5 at a time.
template <class T>
GASG21_INLINE void add_all_moments(const CoordinateTileSums<T>& tile, const SampleGroup<T>& group) {
  constexpr uword lanes = bytes / sizeof(T);
  for (uword i = 0; i < tile.n_rows; i += lanes) {
    uword c = 0;
    for (; c + 5 <= tile.moments; c += 5) add_moments<T, 5>(tile, group, c, i);
    for (; c < tile.moments; ++c) add_moments<T, 1>(tile, group, c, i);
  }
}

template <class T>
struct CoordinateSumTable {
  static bool note(const T* x, uword n_rows, const T* U, uword stride, uword d,
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
    SampleBits<T> any = 0;
    for (i = 0; i < n_rows; ++i) {
      const SampleBits<T> observed = x[i] == x[i] ? bit : SampleBits<T>(0);
      seen[i] |= observed;
      any |= observed;
    }
    return any != 0;
  }
  static void add(const CoordinateTileSums<T>& tile, const SampleGroup<T>& group) {
    if (group.size == 0) return;
    add_products(tile, group);
    add_all_moments(tile, group);
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
      inverse_pivot_range(d, G + l, 0.0, smallest + l, largest + l);
    }
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
