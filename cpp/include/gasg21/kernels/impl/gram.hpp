// `sums`, in three ways that depend on the number of columns. A part of impl/tracked_basis.hpp.

namespace gasg21::kernels::GASG21_SET {

/// Some row blocks of the basis, and the entries of the vectors that belong to them.
template <class T>
struct RowBlocks {
  T* U;
  uword count;
  T* r;                   // of the pending step, replaced by its direction
  const T *e, *x, *next;  // as in SumsTask

  GASG21_INLINE RowBlocks(const SumsTask<T>& task, uword d, uword from, uword count_)
      : U(task.U + from * d * block_rows<T>),
        count(count_),
        r(task.step ? task.step->e + from * block_rows<T> : nullptr),
        e(task.e + from * block_rows<T>),
        x(task.x + from * block_rows<T>),
        next(task.next + from * block_rows<T>) {}
};

/// The sums of D columns in registers: b = U_Omega'x, x'e, and G of the first M columns.
template <class T, uword D, uword M>
struct Sums {
  Pack<T> b[D], xe, G[M + 1][M + 1];

  GASG21_INLINE Sums() : xe(Pack<T>{}) {
    GASG21_UNROLL
    for (uword c = 0; c < D; ++c) b[c] = Pack<T>{};
    GASG21_UNROLL
    for (uword c = 0; c < M; ++c) GASG21_UNROLL
    for (uword a = 0; a <= c; ++a) G[c][a] = Pack<T>{};
  }
};

/// A step by value: the compiler would read what a pointer to T points to again after each store.
template <class T, uword D, bool Moving, bool WithY>
struct StepValues {
  T v[D], z[D], y[D], z_factor, e_factor, scale, y_over_z;

  GASG21_INLINE explicit StepValues(const PendingStep<T>& step)
      : z_factor(step.z_factor),
        e_factor(step.e_factor),
        scale(step.scale),
        y_over_z(step.y_over_z) {
    for (uword c = 0; c < D; ++c) {
      v[c] = Moving ? step.v[c] : T(0);
      z[c] = Moving ? step.z[c] : T(0);
      y[c] = WithY ? step.y[c] : T(0);
    }
  }
};

/// Applies the step to the row blocks and adds to the sums. One register of rows at a time, which
/// stays in registers. Full: nothing of x is missing; only then x'e is summed.
template <class T, uword D, uword M, bool Full, bool Moving>
GASG21_INLINE void add_one_register_at_a_time(const RowBlocks<T>& blocks,
                                              const PendingStep<T>& step, Sums<T, D, M>& sums) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T);
  for (uword block = 0; block < blocks.count; ++block) {
    GASG21_PREFETCH_L2(blocks.next + block * L);
    GASG21_UNROLL
    for (uword part = 0; part < L; part += lanes) {
      T* const rows = blocks.U + block * D * L + part;
      const uword at = block * L + part;
      P u[D];
      GASG21_UNROLL
      for (uword c = 0; c < D; ++c) u[c] = load<P>(rows + c * L);
      if constexpr (Moving) {
        apply_to_register<T, D, Full>(u, blocks.r + at, step);
        GASG21_UNROLL
        for (uword c = 0; c < D; ++c) store(rows + c * L, u[c]);
      }
      const P x = load<P>(blocks.x + at), value = Full ? x : where_observed(x, x);
      if constexpr (Full) sums.xe += value * load<P>(blocks.e + at);
      GASG21_UNROLL
      for (uword c = 0; c < D; ++c) {
        sums.b[c] += u[c] * value;
        if (c < M) {
          const P masked = where_observed(x, u[c]);
          GASG21_UNROLL
          for (uword a = 0; a <= c; ++a) sums.G[c][a] += masked * u[a];
        }
      }
    }
  }
}

/// The same without G for K registers of rows at a time, which are too many to keep. They are read
/// twice, share the loads of v and z, and do not wait for each other.
template <class T, uword D, int K, bool Full, bool Moving, bool WithY>
GASG21_INLINE void add_registers_of_rows(T* U, const StepValues<T, D, Moving, WithY>& step, T* r,
                                         const T* e, const T* x, Sums<T, D, 0>& sums) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T), parts = L / lanes;
  const auto rows = [&](int k) { return U + uword(k) / parts * D * L + uword(k) % parts * lanes; };
  P shift[K], value[K];
  if constexpr (Moving) {
    P Uz[K], Uy[K];
    GASG21_UNROLL
    for (int k = 0; k < K; ++k) Uz[k] = Uy[k] = P{};
    GASG21_UNROLL
    for (uword c = 0; c < D; ++c) {
      const P z = broadcast<P>(step.z[c]), y = broadcast<P>(step.y[c]);
      GASG21_UNROLL
      for (int k = 0; k < K; ++k) {
        const P u = load<P>(rows(k) + c * L);
        Uz[k] += u * z;
        if constexpr (WithY) Uy[k] += u * y;
      }
    }
    const StepFactors<T> factors(step);
    GASG21_UNROLL
    for (int k = 0; k < K; ++k) {
      P direction;
      shift[k] = shift_of<T, WithY, Full>(Uz[k], Uy[k], r + k * lanes, factors, direction);
      if constexpr (Full) sums.xe += load<P>(x + k * lanes) * direction;
    }
  }
  GASG21_UNROLL
  for (int k = 0; k < K; ++k) {
    const P entries = load<P>(x + k * lanes);
    value[k] = Full ? entries : where_observed(entries, entries);
    if constexpr (Full && !Moving) sums.xe += entries * load<P>(e + k * lanes);
  }
  GASG21_UNROLL
  for (uword c = 0; c < D; ++c) {
    const P v = broadcast<P>(step.v[c]);
    GASG21_UNROLL
    for (int k = 0; k < K; ++k) {
      T* const column = rows(k) + c * L;
      P u = load<P>(column);
      if constexpr (Moving) {
        u += shift[k] * v;
        store(column, u);
      }
      sums.b[c] += u * value[k];
    }
  }
}
template <class T, uword D, bool Full, bool Moving, bool WithY>
GASG21_INLINE void add_four_registers_at_a_time(const RowBlocks<T>& blocks,
                                                const PendingStep<T>& pending,
                                                Sums<T, D, 0>& sums) {
  constexpr uword L = block_rows<T>, parts = L / (bytes / sizeof(T)), at_once = 4 / parts;
  const StepValues<T, D, Moving, WithY> values(pending), *step = &values;
  const auto r_at = [&](uword at) { return Moving ? blocks.r + at : nullptr; };
  const auto e_at = [&](uword at) { return Full && !Moving ? blocks.e + at : nullptr; };
  uword block = 0;
  for (; block + at_once <= blocks.count; block += at_once) {
    GASG21_READ_AGAIN(step);
    const uword at = block * L;
    GASG21_UNROLL
    for (uword b = 0; b < at_once; ++b) GASG21_PREFETCH_L2(blocks.next + at + b * L);
    add_registers_of_rows<T, D, 4, Full, Moving, WithY>(blocks.U + at * D, *step, r_at(at),
                                                        e_at(at), blocks.x + at, sums);
  }
  for (; block < blocks.count; ++block) {
    const uword at = block * L;
    add_registers_of_rows<T, D, int(parts), Full, Moving, WithY>(blocks.U + at * D, *step, r_at(at),
                                                                 e_at(at), blocks.x + at, sums);
  }
}

/// Applies the step to the row blocks and adds to the sums.
template <class T, uword D, uword M, bool Full, bool Moving>
GASG21_INLINE void add_blocks(const RowBlocks<T>& blocks, const PendingStep<T>& step,
                              Sums<T, D, M>& sums) {
  if constexpr (bytes == 64 || M > 0)
    add_one_register_at_a_time<T, D, M, Full, Moving>(blocks, step, sums);
  else if (Moving && step.y)
    add_four_registers_at_a_time<T, D, Full, Moving, Moving>(blocks, step, sums);
  else
    add_four_registers_at_a_time<T, D, Full, Moving, false>(blocks, step, sums);
}

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
#if GASG21_BYTES == 64
  if constexpr (D > max_tile && !Full)
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
