// `sums` for many columns: a chunk of rows at a time, in tiles. A part of impl/tracked_basis.hpp.

namespace gasg21::kernels::GASG21_SET {

/// Applies the step to K registers of rows, and b += U'x.
template <class T, bool Full, bool Moving, int K>
GASG21_INLINE void add_rows(T* const (&u)[K], T* const (&r)[K], const T* const (&x)[K],
                            const T* const (&e)[K], uword d, const PendingStep<T>* step, T* b,
                            Pack<T>& xe) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T);
  P shift[K], value[K];
  if constexpr (Moving) find_shift<T, Full>(u, r, d, *step, shift);
  GASG21_UNROLL
  for (int k = 0; k < K; ++k) {
    const P entries = load<P>(x[k]);
    value[k] = Full ? entries : where_observed(entries, entries);
    if constexpr (Full) xe += value[k] * load<P>(e[k]);
  }
  for (uword c = 0; c < d; ++c) {
    P sum = load<P>(b + c * lanes), v = P{};
    if constexpr (Moving) v = broadcast<P>(step->v[c]);
    GASG21_UNROLL
    for (int k = 0; k < K; ++k) {
      P column = load<P>(u[k] + c * L);
      if constexpr (Moving) {
        column += shift[k] * v;
        store(u[k] + c * L, column);
      }
      sum += column * value[k];
    }
    store(b + c * lanes, sum);
  }
}

/// The same for all rows of a chunk, K registers of them at a time, from number g on.
template <class T, bool Full, bool Moving, int K>
GASG21_INLINE void add_rows_of_chunk(const SumsTask<T>& task, uword from, uword n_packs, uword& g,
                                     T* b, Pack<T>& xe) {
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T), parts = L / lanes;
  T *u[K], *r[K];
  const T *x[K], *e[K];
  for (; g + K <= n_packs; g += K) {
    rows_from(g, task.d, task.U + from * task.d * L, u);
    entries_from(g, task.x + from * L, x);
    entries_from(g, task.e + from * L, e);
    if constexpr (Moving) entries_from(g, task.step->e + from * L, r);
    if constexpr (K > 1) {
      GASG21_UNROLL
      for (uword k = 0; k < uword(K); k += parts)
        GASG21_PREFETCH_L2(task.next + from * L + (g + k) * lanes);
    }
    add_rows<T, Full, Moving>(u, r, x, e, task.d, task.step, b, xe);
  }
}

template <class T, bool Full, bool Moving>
GASG21_INLINE T sums_of_many_columns(const SumsTask<T>& task) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T), parts = L / lanes;
  const uword d = task.d, n_blocks = task.n_blocks;
  const bool compacted = !Full && bytes == 32 && d >= least_compacted;
  const uword pairs = d * (d + 1) / 2, chunk_size = compacted ? most_compacted : chunk_blocks(d);
  T *b = task.scratch, *products = b + d * L;
  std::fill(b, Full ? products : products + pairs * (compacted ? 1 : lanes), T(0));
  P xe = P{};
  for (uword from = 0; from < n_blocks; from += chunk_size) {
    const uword here = std::min(chunk_size, n_blocks - from);
    uword g = 0;
    add_rows_of_chunk<T, Full, Moving, 4>(task, from, here * parts, g, b, xe);
    add_rows_of_chunk<T, Full, Moving, 1>(task, from, here * parts, g, b, xe);
    if constexpr (!Full) {
      const Chunk<T> chunk{task.U + from * d * L, task.x + from * L, here, d};
#if GASG21_BYTES == 32
      if (compacted) {
        add_compacted<T>(chunk, products, products + pairs * L);
        continue;
      }
#endif
      add_tiles<T>(chunk, d, products, task.U + std::min(from + here, n_blocks - 1) * d * L);
    }
  }
  for (uword c = 0; c < d; ++c) {
    task.b[c] = lane_sum<T>(load<P>(b + c * lanes));
    if constexpr (!Full)
      for (uword a = 0; a <= c; ++a) {
        const uword pair = c * (c + 1) / 2 + a;
        task.G[c + a * d] =
            compacted ? products[pair] : lane_sum<T>(load<P>(products + pair * lanes));
      }
  }
  return lane_sum<T>(xe);
}

}  // namespace gasg21::kernels::GASG21_SET
