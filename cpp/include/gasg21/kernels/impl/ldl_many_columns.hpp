// The kernels of small_solve.hpp for one instruction set; included once for each set.

namespace gasg21::kernels::GASG21_SET {

/// column[i] -= sum_k G[i + k d] factors[k] for i in [from, to), in whole registers, K at a
/// time. Returns the first i that is left.
template <class T, int K>
GASG21_INLINE uword subtract_columns(const T* G, uword d, uword count, const T* factors, T* column,
                                     uword from, uword to) {
  using P = Pack<T>;
  constexpr uword lanes = bytes / sizeof(T);
  for (; from + K * lanes <= to; from += K * lanes) {
    P sum[K];
    GASG21_UNROLL
    for (int k = 0; k < K; ++k) sum[k] = load<P>(column + from + k * lanes);
    for (uword c = 0; c < count; ++c) {
      const P factor = broadcast<P>(factors[c]);
      GASG21_UNROLL
      for (int k = 0; k < K; ++k) sum[k] = sum[k] - load<P>(G + c * d + from + k * lanes) * factor;
    }
    GASG21_UNROLL
    for (int k = 0; k < K; ++k) store(column + from + k * lanes, sum[k]);
  }
  return from;
}

/// kernels::ldl for many columns.
template <class T>
T ldl(T* G, uword d) {
  T smallest = 0, largest = 0;
  for (uword j = 0; j < d; ++j) {
    T* column = G + j * d;  // above the diagonal: D L'
    uword i = subtract_columns<T, 4>(G, d, j, column, column, j, d);
    i = subtract_columns<T, 1>(G, d, j, column, column, i, d);
    for (; i < d; ++i)
      for (uword k = 0; k < j; ++k) column[i] -= G[i + k * d] * column[k];
    const T pivot = column[j];
    if (!(pivot > 0)) return 0;
    smallest = j == 0 ? pivot : std::min(smallest, pivot);
    largest = std::max(largest, pivot);
    column[j] = 1 / pivot;
    for (i = j + 1; i < d; ++i) {
      G[j + i * d] = column[i];
      column[i] *= column[j];
    }
  }
  return smallest / largest;
}

/// kernels::ldl_solve for many columns.
template <class T>
void ldl_solve(const T* G, uword d, T* b) {
  using P = Pack<T>;
  constexpr uword lanes = bytes / sizeof(T);
  for (uword j = 0; j < d; ++j) {
    uword i = subtract_columns<T, 1>(G + j * d, d, 1, b + j, b, j + 1, d);
    for (; i < d; ++i) b[i] -= G[i + j * d] * b[j];
  }
  for (uword j = 0; j < d; ++j) b[j] *= G[j + j * d];
  for (uword j = d; j-- > 0;) {
    P sum = P{};
    uword i = j + 1;
    for (; i + lanes <= d; i += lanes) sum += load<P>(G + i + j * d) * load<P>(b + i);
    T rest = lane_sum<T>(sum);
    for (; i < d; ++i) rest += G[i + j * d] * b[i];
    b[j] -= rest;
  }
}

template <class T>
inline constexpr LdlKernels<T> ldl_table{ldl<T>, ldl_solve<T>};

template <class T>
const LdlKernels<T>& ldl_kernels() {
  return ldl_table<T>;
}

}  // namespace gasg21::kernels::GASG21_SET
