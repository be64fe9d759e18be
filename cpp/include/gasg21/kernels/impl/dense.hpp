// The kernels of dense.hpp for one instruction set; included once for each set.

namespace gasg21::kernels::GASG21_SET {

template <class T>
struct DenseTable {
  using P = Pack<T>;
  static constexpr uword lanes = bytes / sizeof(T);
  // The sums of a tile, one column of both factors and one entry fill the registers.
  static constexpr uword tile_registers = bytes == 64 ? 3 : 2;
  static constexpr uword tile_rows = tile_registers * lanes;
  static constexpr uword tile_columns = bytes == 64 ? 8 : bytes == 32 ? 6 : 4;

  /// One panel of `width` vectors whose entries are contiguous.
  static GASG21_INLINE void pack_transposed(const T* from, uword next, uword depth, uword width,
                                            T* to) {
    uword p = 0;
    for (; width % lanes == 0 && p + lanes <= depth; p += lanes)
      for (uword i = 0; i < width; i += lanes) {
        P row[lanes];
        GASG21_UNROLL
        for (uword l = 0; l < lanes; ++l) row[l] = load<P>(from + (i + l) * next + p);
        transpose<T>(row);
        GASG21_UNROLL
        for (uword l = 0; l < lanes; ++l) store(to + (p + l) * width + i, row[l]);
      }
    for (; p < depth; ++p)
      for (uword i = 0; i < width; ++i) to[p * width + i] = from[i * next + p];
  }

  static void pack(const Vectors<T>& vectors, uword width, T* to) {
    const uword depth = vectors.depth, next = vectors.next, step = vectors.step;
    for (uword first = 0; first < vectors.count; first += width, to += width * depth) {
      const uword here = std::min(width, vectors.count - first);
      const T* from = vectors.memory + first * next;
      if (here == width && step == 1) {
        pack_transposed(from, next, depth, width, to);
        continue;
      }
      for (uword p = 0; p < depth; ++p) {
        T* at = to + p * width;
        if (next == 1)
          std::copy_n(from + p * step, here, at);
        else
          for (uword i = 0; i < here; ++i) at[i] = from[i * next + p * step];
        std::fill(at + here, at + width, T(0));
      }
    }
  }

  static void multiply_tile(const T* X, const T* Y, uword depth, T factor, T* C, uword stride,
                            uword rows, uword columns) {
    P sum[tile_columns][tile_registers] = {};
    for (uword p = 0; p < depth; ++p, X += tile_rows, Y += tile_columns) {
      P x[tile_registers];
      GASG21_UNROLL
      for (uword r = 0; r < tile_registers; ++r) x[r] = load<P>(X + r * lanes);
      GASG21_UNROLL
      for (uword c = 0; c < tile_columns; ++c) {
        const P y = broadcast<P>(Y[c]);
        GASG21_UNROLL
        for (uword r = 0; r < tile_registers; ++r) sum[c][r] = multiply_add<T>(x[r], y, sum[c][r]);
      }
    }
    T tile[tile_rows * tile_columns];
    const bool whole = rows == tile_rows && columns == tile_columns;
    T* to = whole ? C : tile;
    const uword next = whole ? stride : tile_rows;
    if (!whole) std::fill(tile, tile + tile_rows * tile_columns, T(0));
    GASG21_UNROLL
    for (uword c = 0; c < tile_columns; ++c) {
      GASG21_UNROLL
      for (uword r = 0; r < tile_registers; ++r) {
        T* at = to + c * next + r * lanes;
        store(at, load<P>(at) + broadcast<P>(factor) * sum[c][r]);
      }
    }
    if (whole) return;
    for (uword c = 0; c < columns; ++c)
      for (uword i = 0; i < rows; ++i) C[c * stride + i] += tile[c * tile_rows + i];
  }

  // Vectors of X and of Y whose products stay in registers.
  static constexpr uword thin_rows = bytes == 64 ? 4 : 3, thin_columns = bytes == 64 ? 6 : 4;

  /// A tile of a thin product. The order of each sum does not depend on the size of the tile.
  template <uword R, uword C>
  static GASG21_INLINE void thin_tile(const T* X, uword next_x, const T* Y, uword next_y,
                                      uword depth, T factor, T* out, uword stride) {
    P sum[R][C] = {};
    uword p = 0;
    for (; p + lanes <= depth; p += lanes) {
      P x[R];
      GASG21_UNROLL
      for (uword r = 0; r < R; ++r) x[r] = load<P>(X + r * next_x + p);
      GASG21_UNROLL
      for (uword c = 0; c < C; ++c) {
        const P y = load<P>(Y + c * next_y + p);
        GASG21_UNROLL
        for (uword r = 0; r < R; ++r) sum[r][c] = multiply_add<T>(x[r], y, sum[r][c]);
      }
    }
    if (p < depth) {
      P x[R];
      GASG21_UNROLL
      for (uword r = 0; r < R; ++r) x[r] = load_first(X + r * next_x + p, depth - p);
      GASG21_UNROLL
      for (uword c = 0; c < C; ++c) {
        const P y = load_first(Y + c * next_y + p, depth - p);
        GASG21_UNROLL
        for (uword r = 0; r < R; ++r) sum[r][c] = multiply_add<T>(x[r], y, sum[r][c]);
      }
    }
    GASG21_UNROLL
    for (uword c = 0; c < C; ++c) {
      GASG21_UNROLL
      for (uword r = 0; r < R; ++r) out[c * stride + r] += factor * lane_sum<T>(sum[r][c]);
    }
  }

  static void multiply_thin(const Vectors<T>& X, const Vectors<T>& Y, T factor, T* out,
                            uword stride) {
    uword i = 0;
    for (; i + thin_rows <= X.count; i += thin_rows) {
      const auto tile = [&](auto columns, uword c) {
        thin_tile<thin_rows, columns()>(X.memory + i * X.next, X.next, Y.memory + c * Y.next,
                                        Y.next, X.depth, factor, out + c * stride + i, stride);
      };
      uword c = 0;
      for (; c + thin_columns <= Y.count; c += thin_columns)
        tile(std::integral_constant<uword, thin_columns>(), c);
      for (; c + 2 <= Y.count; c += 2) tile(std::integral_constant<uword, 2>(), c);
      if (c < Y.count) tile(std::integral_constant<uword, 1>(), c);
    }
    for (; i < X.count; ++i)
      for (uword c = 0; c < Y.count; ++c)
        thin_tile<1, 1>(X.memory + i * X.next, X.next, Y.memory + c * Y.next, Y.next, X.depth,
                        factor, out + c * stride + i, stride);
  }

  /// The products of K columns with x. The order of each sum does not depend on K.
  template <uword K>
  static GASG21_INLINE void products(const T* A, uword stride, uword n, const T* x, T* out) {
    P sum[K] = {};
    uword i = 0;
    for (; i + lanes <= n; i += lanes) {
      const P entries = load<P>(x + i);
      GASG21_UNROLL
      for (uword k = 0; k < K; ++k)
        sum[k] = multiply_add<T>(load<P>(A + k * stride + i), entries, sum[k]);
    }
    if (i < n) {
      const P entries = load_first(x + i, n - i);
      GASG21_UNROLL
      for (uword k = 0; k < K; ++k)
        sum[k] = multiply_add<T>(load_first(A + k * stride + i, n - i), entries, sum[k]);
    }
    GASG21_UNROLL
    for (uword k = 0; k < K; ++k) out[k] = lane_sum<T>(sum[k]);
  }

  static void transpose_times(const T* A, uword stride, uword n, uword d, const T* x, T* out) {
    uword c = 0;
    for (; c + 4 <= d; c += 4) products<4>(A + c * stride, stride, n, x, out + c);
    for (; c < d; ++c) products<1>(A + c * stride, stride, n, x, out + c);
  }

  template <uword K>
  static GASG21_INLINE void add_columns(const T* A, uword stride, uword n, const T* w, T* y) {
    P factor[K];
    GASG21_UNROLL
    for (uword k = 0; k < K; ++k) factor[k] = broadcast<P>(w[k]);
    uword i = 0;
    for (; i + lanes <= n; i += lanes) {
      P sum = load<P>(y + i);
      GASG21_UNROLL
      for (uword k = 0; k < K; ++k)
        sum = multiply_add<T>(load<P>(A + k * stride + i), factor[k], sum);
      store(y + i, sum);
    }
    if (i == n) return;
    P sum = load_first(y + i, n - i);
    GASG21_UNROLL
    for (uword k = 0; k < K; ++k)
      sum = multiply_add<T>(load_first(A + k * stride + i, n - i), factor[k], sum);
    store_first(y + i, sum, n - i);
  }

  static void add_times(const T* A, uword stride, uword n, uword d, const T* w, T* y) {
    uword c = 0;
    for (; c + 4 <= d; c += 4) add_columns<4>(A + c * stride, stride, n, w + c, y);
    for (; c < d; ++c) add_columns<1>(A + c * stride, stride, n, w + c, y);
  }

  /// Adds the products with K columns and, by symmetry, with the rows of the same entries, below
  /// the diagonal block of these columns.
  template <uword K>
  static GASG21_INLINE void add_columns_and_rows(const T* A, uword stride, uword from, uword n,
                                                 const T* x, const T* own, T* out, T* products) {
    P factor[K], sum[K] = {};
    GASG21_UNROLL
    for (uword k = 0; k < K; ++k) factor[k] = broadcast<P>(own[k]);
    uword i = from;
    for (; i + lanes <= n; i += lanes) {
      P y = load<P>(out + i);
      const P entries = load<P>(x + i);
      GASG21_UNROLL
      for (uword k = 0; k < K; ++k) {
        const P a = load<P>(A + k * stride + i);
        y = multiply_add<T>(a, factor[k], y);
        sum[k] = multiply_add<T>(a, entries, sum[k]);
      }
      store(out + i, y);
    }
    if (i < n) {
      P y = load_first(out + i, n - i);
      const P entries = load_first(x + i, n - i);
      GASG21_UNROLL
      for (uword k = 0; k < K; ++k) {
        const P a = load_first(A + k * stride + i, n - i);
        y = multiply_add<T>(a, factor[k], y);
        sum[k] = multiply_add<T>(a, entries, sum[k]);
      }
      store_first(out + i, y, n - i);
    }
    GASG21_UNROLL
    for (uword k = 0; k < K; ++k) products[k] = lane_sum<T>(sum[k]);
  }

  static void symmetric_times(const T* A, uword stride, uword n, const T* x, T* out) {
    constexpr uword K = 4;
    std::fill(out, out + n, T(0));
    uword j = 0;
    for (; j + K <= n; j += K) {
      const T* block = A + j * stride;
      T products[K];
      add_columns_and_rows<K>(block, stride, j + K, n, x, x + j, out, products);
      for (uword k = 0; k < K; ++k)
        for (uword i = 0; i < K; ++i)
          products[k] += block[std::min(i, k) * stride + j + std::max(i, k)] * x[j + i];
      for (uword k = 0; k < K; ++k) out[j + k] += products[k];
    }
    for (uword c = j; c < n; ++c)
      for (uword i = j; i < n; ++i) out[c] += A[std::min(i, c) * stride + std::max(i, c)] * x[i];
  }

  /// Rotates the columns of K registers of rows; of the last one `left` rows, 0 for all.
  template <uword K, bool Whole>
  static GASG21_INLINE void rotate_rows(T* Z, uword rows, uword left, const Sweep* sweeps,
                                        uword count, const T* rotations) {
    const auto get = [&](const T* from) {
      if constexpr (Whole)
        return load<P>(from);
      else
        return load_first(from, left);
    };
    const auto put = [&](T* to, const P& p) {
      if constexpr (Whole)
        store(to, p);
      else
        store_first(to, p, left);
    };
    for (uword sweep = 0; sweep < count; ++sweep) {
      T* column = Z + sweeps[sweep].last * rows;
      P carried[K];
      GASG21_UNROLL
      for (uword k = 0; k < K; ++k) carried[k] = get(column + k * lanes);
      for (uword i = sweeps[sweep].last; i > sweeps[sweep].first; --i, rotations += 2) {
        const P c = broadcast<P>(rotations[0]), s = broadcast<P>(rotations[1]);
        T* before = column - rows;
        GASG21_UNROLL
        for (uword k = 0; k < K; ++k) {
          const P z = get(before + k * lanes);
          put(column + k * lanes, s * z + c * carried[k]);
          carried[k] = c * z - s * carried[k];
        }
        column = before;
      }
      GASG21_UNROLL
      for (uword k = 0; k < K; ++k) put(column + k * lanes, carried[k]);
    }
  }

  static void rotate(T* Z, uword rows, const Sweep* sweeps, uword count, const T* rotations) {
    uword i = 0;
    for (; i + 4 * lanes <= rows; i += 4 * lanes)
      rotate_rows<4, true>(Z + i, rows, 0, sweeps, count, rotations);
    for (; i + lanes <= rows; i += lanes)
      rotate_rows<1, true>(Z + i, rows, 0, sweeps, count, rotations);
    if (i < rows) rotate_rows<1, false>(Z + i, rows, rows - i, sweeps, count, rotations);
  }

  static constexpr DenseKernels<T> kernels{tile_rows,     tile_columns,    pack,
                                           multiply_tile, multiply_thin,   transpose_times,
                                           add_times,     symmetric_times, rotate};
};

template <class T>
const DenseKernels<T>& dense_kernels() {
  return DenseTable<T>::kernels;
}

}  // namespace gasg21::kernels::GASG21_SET
