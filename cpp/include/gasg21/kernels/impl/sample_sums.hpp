// The kernels of sample_sums.hpp for one instruction set; included once for each set.

namespace gasg21::kernels::GASG21_SET {

inline constexpr uword sample_block = 8;  // samples side by side, whatever the register size

/// Copies the samples first, first + 1, ... to a block [c][l] of doubles; zeros beyond the last.
template <class T>
GASG21_INLINE void transpose_block(const T* W, uword d, uword first, uword m, double* block) {
  const uword here = std::min(sample_block, m - first);
  if (here < sample_block) std::fill(block, block + d * sample_block, 0.0);
  for (uword l = 0; l < here; ++l)
    for (uword c = 0; c < d; ++c) block[c * sample_block + l] = double(W[(first + l) * d + c]);
}

/// The products of K columns with x. The order of each sum does not depend on K.
template <class T, uword K>
GASG21_INLINE void column_products(const T* A, uword n, const T* x, T* out) {
  using P = Pack<T>;
  constexpr uword lanes = bytes / sizeof(T);
  P sum[K];
  GASG21_UNROLL
  for (uword k = 0; k < K; ++k) sum[k] = P{};
  for (uword i = 0; i < n; i += lanes) {
    const P entries = load<P>(x + i);
    GASG21_UNROLL
    for (uword k = 0; k < K; ++k) sum[k] += load<P>(A + k * n + i) * entries;
  }
  GASG21_UNROLL
  for (uword k = 0; k < K; ++k) out[k] = lane_sum<T>(sum[k]);
}

// The numbers of weights for which everything stays in registers.
#define GASG21_FEW_WEIGHTS \
  GASG21_WEIGHTS(1)        \
  GASG21_WEIGHTS(2) GASG21_WEIGHTS(3) GASG21_WEIGHTS(4) GASG21_WEIGHTS(5) GASG21_WEIGHTS(6)

template <class T>
struct SampleTable {
  using P = Pack<double>;
  static constexpr uword lanes = bytes / sizeof(double);

  /// For D weights, which stay in registers.
  template <uword D>
  static void lengths_of(const T* W, uword m, const double* L, double* out) {
    double block[D * sample_block], square[sample_block];
    for (uword first = 0; first < m; first += sample_block) {
      transpose_block(W, D, first, m, block);
      for (uword l = 0; l < sample_block; l += lanes) {
        P z[D], sum = P{};
        GASG21_UNROLL
        for (uword c = 0; c < D; ++c) z[c] = load<P>(block + c * sample_block + l);
        GASG21_UNROLL
        for (uword c = 0; c < D; ++c) {
          sum += z[c] * z[c] * broadcast<P>(L[c * D + c]);
          GASG21_UNROLL
          for (uword i = c + 1; i < D; ++i) z[i] = z[i] - z[c] * broadcast<P>(L[c * D + i]);
        }
        store(square + l, sum);
      }
      std::copy(square, square + std::min(sample_block, m - first), out + first);
    }
  }

  static void lengths(const T* W, uword d, uword m, const double* L, double* out, double* block) {
#define GASG21_WEIGHTS(count) \
  if (d == (count)) return lengths_of<count>(W, m, L, out);
    GASG21_FEW_WEIGHTS
#undef GASG21_WEIGHTS
    double square[sample_block];
    for (uword first = 0; first < m; first += sample_block) {
      transpose_block(W, d, first, m, block);
      for (uword l = 0; l < sample_block; l += lanes) {
        P sum = P{};
        for (uword c = 0; c < d;
             ++c) {  // update all later entries at once: one sum at a time would wait
          const double* column = L + c * d;
          const P z = load<P>(block + c * sample_block + l);
          sum += z * z * broadcast<P>(column[c]);
          for (uword i = c + 1; i < d; ++i) {
            double* at = block + i * sample_block + l;
            store(at, load<P>(at) - z * broadcast<P>(column[i]));
          }
        }
        store(square + l, sum);
      }
      std::copy(square, square + std::min(sample_block, m - first), out + first);
    }
  }

  /// Copies the next 8 samples with a weight to a block. Samples without one take no lane, so that
  /// they change no bit of the result.
  static GASG21_INLINE void take_weighted(const T* W, uword d, uword m, const double* weight,
                                          uword& j, double* block, double* factor) {
    uword l = 0;
    for (; j < m && l < sample_block; ++j) {
      if (weight[j] == 0) continue;
      factor[l] = weight[j];
      for (uword c = 0; c < d; ++c) block[c * sample_block + l] = double(W[j * d + c]);
      ++l;
    }
    for (; l < sample_block; ++l) {
      factor[l] = 0;
      for (uword c = 0; c < d; ++c) block[c * sample_block + l] = 0;
    }
  }

  /// For D weights: the sums stay in registers.
  template <uword D>
  static void gram_of(const T* W, uword m, const double* weight, double* G) {
    constexpr uword parts = sample_block / lanes;
    double block[D * sample_block], factor[sample_block];
    P sums[D * (D + 1) / 2][parts] = {};
    for (uword j = 0; j < m;) {
      take_weighted(W, D, m, weight, j, block, factor);
      GASG21_UNROLL
      for (uword p = 0; p < parts; ++p) {
        const P omega = load<P>(factor + p * lanes);
        P x[D];
        GASG21_UNROLL
        for (uword c = 0; c < D; ++c) x[c] = load<P>(block + c * sample_block + p * lanes);
        uword k = 0;
        GASG21_UNROLL
        for (uword c = 0; c < D; ++c) {
          const P z = x[c] * omega;
          GASG21_UNROLL
          for (uword b = 0; b <= c; ++b, ++k) sums[k][p] = sums[k][p] + x[b] * z;
        }
      }
    }
    uword k = 0;
    for (uword c = 0; c < D; ++c)
      for (uword b = 0; b <= c; ++b, ++k) {
        double lane[sample_block], sum = 0;
        for (uword p = 0; p < parts; ++p) store(lane + p * lanes, sums[k][p]);
        for (uword l = 0; l < sample_block; ++l) sum += lane[l];
        G[b + c * D] = sum;
      }
  }

  static void gram(const T* W, uword d, uword m, const double* weight, double* G, double* block) {
#define GASG21_WEIGHTS(count) \
  if (d == (count)) return gram_of<count>(W, m, weight, G);
    GASG21_FEW_WEIGHTS
#undef GASG21_WEIGHTS
    double *sums = block + d * sample_block, factor[sample_block];
    const uword packed = d * (d + 1) / 2;
    std::fill(sums, sums + packed * sample_block, 0.0);
    for (uword j = 0; j < m;) {
      take_weighted(W, d, m, weight, j, block, factor);
      for (uword l = 0; l < sample_block; l += lanes) {
        const P omega = load<P>(factor + l);
        double* at = sums + l;
        for (uword c = 0; c < d; ++c) {
          const P z = load<P>(block + c * sample_block + l) * omega;
          for (uword b = 0; b <= c; ++b, at += sample_block)
            store(at, load<P>(at) + load<P>(block + b * sample_block + l) * z);
        }
      }
    }
    for (uword c = 0; c < d; ++c)
      for (uword b = 0; b <= c; ++b, sums += sample_block) {
        double sum = 0;
        for (uword l = 0; l < sample_block; ++l) sum += sums[l];
        G[b + c * d] = sum;
      }
  }

  static void products(const T* A, uword n, uword m, const T* x, T* out) {
    uword j = 0;
    for (; j + 4 <= m; j += 4) column_products<T, 4>(A + j * n, n, x, out + j);
    for (; j < m; ++j) column_products<T, 1>(A + j * n, n, x, out + j);
  }

  static constexpr SampleSumKernels<T> kernels{lengths, gram, products};
};

template <class T>
const SampleSumKernels<T>& sample_sum_kernels() {
  return SampleTable<T>::kernels;
}

#undef GASG21_FEW_WEIGHTS

}  // namespace gasg21::kernels::GASG21_SET
