// `sums`, in three ways that depend on the number of columns. A part of impl/tracked_basis.hpp.

namespace gasg21::kernels::GASG21_SET {

/// `sums` for few columns: all sums in registers.
template <class T, uword D, bool Full, bool Moving>
GASG21_INLINE T sums_in_registers(const SumsTask<T>& task) {
  constexpr uword M = Full ? 0 : D;
  Sums<T, D, M> sums;
  const PendingStep<T> step = Moving ? *task.step : PendingStep<T>{};
  if constexpr (bytes == 64 && Moving && !Full) {
    // The step of some blocks, then their sums: the sums of a block would wait for its step.
    constexpr uword at_once = 16;
    for (uword from = 0; from < task.n_blocks; from += at_once) {
      const uword here = std::min(at_once, task.n_blocks - from);
      apply_to_blocks<T, D>(task.U, from, from + here, step);
      add_blocks<T, D, M, Full, false>(RowBlocks<T>(task, D, from, here), step, sums);
    }
  } else {
    add_blocks<T, D, M, Full, Moving>(RowBlocks<T>(task, D, 0, task.n_blocks), step, sums);
  }
  GASG21_UNROLL
  for (uword c = 0; c < D; ++c) task.b[c] = lane_sum<T>(sums.b[c]);
  GASG21_UNROLL
  for (uword c = 0; c < M; ++c) GASG21_UNROLL
  for (uword a = 0; a <= c; ++a) task.G[c + a * D] = lane_sum<T>(sums.G[c][a]);
  if constexpr (Sums<T, D, M>::with_direction)
    if (task.Ue_observed) {
      GASG21_UNROLL
      for (uword c = 0; c < D; ++c) task.Ue_observed[c] = lane_sum<T>(sums.Ue[c]);
    }
  return lane_sum<T>(sums.xe);
}

/// `sums` for more columns if something is missing. Takes chunks of rows: first the step, b and,
/// where registers are left, G of a few columns; then the other tiles of G, while the chunk is in
/// the first-level cache and the next one is being prefetched.
template <class T, uword D, bool Moving>
GASG21_INLINE void sums_in_chunks(const SumsTask<T>& task) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T), most = 320 / D;
  constexpr uword M = bytes == 64 && D <= max_tile + 2 ? 3 : 0;
  Sums<T, D, M> sums;
  T* const products = task.scratch;
  std::fill(products, products + D * (D + 1) / 2 * L, T(0));
  const PendingStep<T> step = Moving ? *task.step : PendingStep<T>{};
  const uword n_chunks = (task.n_blocks + most - 1) / most;
  for (uword from = 0, k = 0, here; k < n_chunks; from += here, ++k) {
    here = (task.n_blocks - from) / (n_chunks - k);  // of nearly the same size
    const RowBlocks<T> blocks(task, D, from, here);
    const T* ahead = task.U + std::min(from + here, task.n_blocks - 1) * D * L;
    add_blocks<T, D, M, false, Moving>(blocks, step, sums);
    const Chunk<T> chunk{blocks.U, blocks.x, here, D};
    if constexpr (bytes < 64) {
      add_small_tiles<T, D>(chunk, products, ahead);
    } else if constexpr (M > 0) {
      add_tile<T, D - M, M, true>(chunk, M, 0, products, {ahead, D});
    } else {
      constexpr uword A = (D + 1) / 2, B = D - A, share = (D + 2) / 3;
      add_tile<T, A, 0, true>(chunk, 0, 0, products, {ahead, share});
      add_tile<T, B, A, false>(chunk, A, 0, products, {ahead + share * L, share});
      add_tile<T, B, 0, true>(chunk, A, 0, products, {ahead + 2 * share * L, D - 2 * share});
    }
  }
  GASG21_UNROLL
  for (uword c = 0; c < D; ++c) {
    task.b[c] = lane_sum<T>(sums.b[c]);
    GASG21_UNROLL
    for (uword a = 0; a <= c; ++a)
      task.G[c + a * D] = lane_sum<T>(c < M ? sums.G[c < M ? c : 0][a < M ? a : 0]
                                            : load<P>(products + (c * (c + 1) / 2 + a) * lanes));
  }
}

/// `sums` for D columns, or for any number of them if D = 0.
template <class T, uword D, bool Full, bool Moving>
GASG21_INLINE T sums_for(const SumsTask<T>& task) {
#if GASG21_BYTES >= 32
  if constexpr (subtracts<D> && !Full)
    if (task.Ue_observed) return sums_of_minority<T, D, Moving>(task);
#endif
  if constexpr (D != 0 && (Full || D <= max_tile))
    return sums_in_registers<T, D, Full, Moving>(task);
  else if constexpr (D != 0)
    return sums_in_chunks<T, D, Moving>(task), T(0);
  else
    return sums_of_many_columns<T, Full, Moving>(task);
}

template <class T, uword D>
GASG21_INLINE T sums_of(const SumsTask<T>& given) {
  const SumsTask<T> task = given;  // a copy, which stays in registers
  if (task.step && task.G) return sums_for<T, D, false, true>(task);
  if (task.step) return sums_for<T, D, true, true>(task);
  if (task.G) return sums_for<T, D, false, false>(task);
  return sums_for<T, D, true, false>(task);
}

}  // namespace gasg21::kernels::GASG21_SET
