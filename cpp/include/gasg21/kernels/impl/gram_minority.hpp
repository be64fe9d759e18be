// `sums` for 5 to 10 columns (AVX2: 6 to 10), if something is missing: the rows in the minority,
// missing or observed, are compacted before their products are summed. Where they are the missing
// ones, U_Omega'U_Omega is I less their sum. A part of impl/tracked_basis.hpp.

namespace gasg21::kernels::GASG21_SET {

#if GASG21_BYTES >= 32

/// Writes the results. `product(pair)` is the sum of a pair of columns over the minority; the last
/// column is the direction e.
template <class T, uword D, class Product>
GASG21_INLINE T finish_minority(const SumsTask<T>& task, const Pack<T> (&b)[D], const Pack<T>& xe,
                                Product&& product) {
  const bool missing = task.Ue != nullptr;
  for (uword c = 0; c < D; ++c) {
    const T last = product(D * (D + 1) / 2 + c);
    task.Ue_observed[c] = missing ? task.Ue[c] - last : last;
    for (uword a = 0; a <= c; ++a) {
      const T sum = product(c * (c + 1) / 2 + a);
      task.G[c + a * D] = missing ? T(a == c) - sum : sum;
    }
  }
  GASG21_UNROLL
  for (uword c = 0; c < D; ++c) task.b[c] = lane_sum<T>(b[c]);
  return lane_sum<T>(xe);
}

#endif

#if GASG21_BYTES == 64

/// Adds the products of N compacted columns, the last one only with the others, in register tiles.
/// (Not inlined: it would take most of the code.)
template <class T, uword N>
GASG21_NOINLINE void add_minority(const T* columns, uword n_blocks, T* sums) {
  const Chunk<T> chunk{columns, nullptr, n_blocks, 1};
  const Ahead<T> none{columns, 0};
  constexpr uword apart = Collector<T, N>::rows;
#define GASG21_TILE(R, C, corner, i) \
  add_tile<T, R, C, corner, apart, false, true>(chunk, i, 0, sums, none)
  if constexpr (N == 6) {
    GASG21_TILE(6, 0, true, 0);
  } else if constexpr (N <= 8) {
    GASG21_TILE(4, 0, true, 0);
    GASG21_TILE(N - 4, 4, true, 4);
  } else if constexpr (N <= 10) {
    GASG21_TILE(5, 0, true, 0);
    GASG21_TILE(N - 5, 5, false, 5);
    GASG21_TILE(N - 5, 0, true, 5);
  } else {
    GASG21_TILE(5, 0, true, 0);
    GASG21_TILE(3, 5, true, 5);
    GASG21_TILE(3, 8, false, 8);
    GASG21_TILE(3, 0, true, 8);
  }
#undef GASG21_TILE
}

/// The products U z and U y of the one or two row blocks that move next. They are summed while
/// others move: a processor has few places for instructions that wait for others.
template <class T, uword D>
struct ProductsAhead {
  using P = Pack<T>;
  P Uz[2] = {}, Uy[2] = {};

  template <int K>
  GASG21_INLINE void find(const T* U, const StepValues<T, D, true, true>& step) {
    multiply<K>(U, step.z, Uz);
    if (!step.with_y) return;
    GASG21_READ_AGAIN(U);
    multiply<K>(U, step.y, Uy);
  }
  /// The shift of row block k. Replaces its r by the direction e.
  GASG21_INLINE P shift(int k, T* e, bool with_y, const StepFactors<T>& step, P& direction) const {
    const P r = load<P>(e), residual = with_y ? r - Uy[k] : r - Uz[k] * step.y_over_z;
    return shift_of<T, false>(Uz[k], r, residual, e, step, direction);
  }

 private:
  /// In one sum each, as `apply` does: it takes the same step to the bit.
  template <int K>
  GASG21_INLINE static void multiply(const T* U, const T (&z)[D], P (&product)[2]) {
    P sum[K] = {};
    GASG21_UNROLL
    for (uword c = 0; c < D; ++c) {
      const P weight = broadcast<P>(z[c]);
      GASG21_UNROLL
      for (int k = 0; k < K; ++k)
        sum[k] += load<P>(U + (uword(k) * D + c) * block_rows<T>) * weight;
    }
    GASG21_UNROLL
    for (int k = 0; k < K; ++k) {
      GASG21_COMPUTE_HERE(sum[k]);
      product[k] = sum[k];
    }
  }
};

template <class T, int K>
GASG21_INLINE ChosenLanes<T> choose(const T* x, bool missing) {
  return {lanes_of<T>(load<Pack<T>>(x), missing),
          K == 2 ? lanes_of<T>(load<Pack<T>>(x + (K - 1) * block_rows<T>), missing) : 0};
}

/// Applies the step to K row blocks, one or two, from `block` on. Adds to b and x'e, collects the
/// minority, and looks ahead. e is only read unless Moving.
template <class T, uword D, int K, bool Moving>
GASG21_INLINE void add_row_blocks(const SumsTask<T>& task, uword block,
                                  const StepValues<T, D, Moving, Moving>& step, T* e,
                                  ProductsAhead<T, D>& ahead, Pack<T> (&b)[D], Pack<T>& xe,
                                  Collector<T, D + 1>& minority) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>;
  T *const U = task.U + block * D * L, *const direction = e + block * L;
  const StepFactors<T> factors(step);
  P shift[2], value[2];
  GASG21_UNROLL
  for (int k = 0; k < K; ++k) {
    GASG21_PREFETCH_L2(task.next + block * L + k * L);
    P here;
    if constexpr (Moving)
      shift[k] = ahead.shift(k, direction + k * L, step.with_y, factors, here);
    else
      here = load<P>(direction + k * L);
    const P x = load<P>(task.x + block * L + k * L);
    value[k] = where_observed(x, x);
    xe += value[k] * here;
  }
  if constexpr (Moving && K == 2)
    ahead.template find<2>(block + 4 <= task.n_blocks ? U + 2 * D * L : U, step);
  const ChosenLanes<T> chosen = choose<T, K>(task.x + block * L, task.Ue != nullptr);
  GASG21_UNROLL
  for (uword c = 0; c < D; ++c) {
    const P v = broadcast<P>(step.v[c]);
    P u[2] = {};
    GASG21_UNROLL
    for (int k = 0; k < K; ++k) {
      T* const rows = U + (uword(k) * D + c) * L;
      u[k] = load<P>(rows);
      if constexpr (Moving) {
        u[k] += shift[k] * v;
        store(rows, u[k]);
      }
      b[c] += u[k] * value[k];
    }
    minority.append(c, u[0], u[1], chosen);
  }
  // Loaded again: registers are scarcer than loads.
  const T* const second = direction + (K - 1) * L;
  minority.append(D, load<P>(direction), load<P>(second), chosen);
  minority.go_on(chosen, [&](uword c) { return load<P>(c < D ? U + (D + c) * L : second); });
}

template <class T, uword D, bool Moving>
GASG21_INLINE T sums_of_minority(const SumsTask<T>& task) {
  using P = Pack<T>;
  constexpr uword N = D + 1, L = block_rows<T>, at_once = 8;
  constexpr uword most = Collector<T, N>::rows - (at_once + 1) * L;
  T *const products = task.scratch, *const columns = products + N * (N + 1) / 2 * L;
  std::fill(products, columns, T(0));
  const StepValues<T, D, Moving, Moving> values(Moving ? *task.step : PendingStep<T>{});
  const auto* step = &values;
  T* const e = Moving ? task.step->e : const_cast<T*>(task.e);
  P b[D], xe = P{};
  GASG21_UNROLL
  for (uword c = 0; c < D; ++c) b[c] = P{};
  Collector<T, N> minority{columns};
  ProductsAhead<T, D> ahead;
  if constexpr (Moving)
    if (task.n_blocks > 1) ahead.template find<2>(task.U, *step);
  for (uword block = 0; block < task.n_blocks;) {
    const uword end = std::min(block + at_once, task.n_blocks);
    for (; block + 2 <= end; block += 2) {
      GASG21_READ_AGAIN(step);
      add_row_blocks<T, D, 2, Moving>(task, block, *step, e, ahead, b, xe, minority);
    }
    if (block < end) {
      if constexpr (Moving) ahead.template find<1>(task.U + block * D * L, *step);
      add_row_blocks<T, D, 1, Moving>(task, block++, *step, e, ahead, b, xe, minority);
    }
    if (minority.count <= most && block < task.n_blocks) continue;
    add_minority<T, N>(columns, minority.finish(), products);
  }
  return finish_minority<T, D>(
      task, b, xe, [&](uword pair) { return lane_sum<T>(load<P>(products + pair * L)); });
}

#elif GASG21_BYTES == 32

/// Appends the chosen rows of some row blocks of D columns, and the direction on them, to compacted
/// columns, in which there are `count` rows already. Adds to x'e. Returns the count.
template <class T, uword D>
GASG21_INLINE uword compact_minority(const RowBlocks<T>& blocks, const T* e, bool missing,
                                     T* compacted, uword count, Pack<T>& xe) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T), apart = compacted_apart<T>;
  for (uword block = 0; block < blocks.count; ++block) {
    const T *const x = blocks.x + block * L, *const direction = e + block * L;
    const T* const U = blocks.U + block * D * L;
    const P entries[2] = {load<P>(x), load<P>(x + lanes)};
    const P last[2] = {load<P>(direction), load<P>(direction + lanes)};
    const ChosenLanes<T> chosen(entries[0], entries[1], missing);
    xe += where_observed(entries[0], entries[0]) * last[0];
    xe += where_observed(entries[1], entries[1]) * last[1];
    T* const out = compacted + count;
    GASG21_UNROLL
    for (uword c = 0; c < D; ++c)
      store(out + c * apart, chosen.of(load<P>(U + c * L), load<P>(U + c * L + lanes)));
    store(out + D * apart, chosen.of(last[0], last[1]));
    if (GASG21_UNLIKELY(chosen.count > lanes)) {
      T* const rest = out + chosen.in_first;
      GASG21_UNROLL
      for (uword c = 0; c < D; ++c)
        store(rest + c * apart, chosen.of_second(load<P>(U + c * L + lanes)));
      store(rest + D * apart, chosen.of_second(last[1]));
    }
    count += chosen.count;
  }
  return count;
}

/// Adds the products of N compacted columns of `count` rows.
template <class T, uword N>
GASG21_INLINE void add_minority(T* compacted, uword count, T* products) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T), apart = compacted_apart<T>;
  for (uword c = 0; c < N; ++c) GASG21_UNROLL
  for (uword part = 0; part < L; part += lanes) store(compacted + c * apart + count + part, P{});
  add_tiles<T, apart, false>({compacted, nullptr, (count + L - 1) / L, 1}, N, products, compacted);
}

template <class T, uword D, bool Moving>
GASG21_INLINE T sums_of_minority(const SumsTask<T>& task) {
  constexpr uword N = D + 1, L = block_rows<T>, most = 12, at_once = 16;
  T *const products = task.scratch, *const compacted = products + N * (N + 1) / 2 * L;
  std::fill(products, compacted, T(0));
  const PendingStep<T> step = Moving ? *task.step : PendingStep<T>{};
  const T* const e = Moving ? step.e : task.e;
  Sums<T, D, 0> sums;
  uword count = 0;
  for (uword from = 0, to; from < task.n_blocks; from = to) {
    to = std::min(from + at_once, task.n_blocks);
    const RowBlocks<T> blocks(task, D, from, to - from);
    add_blocks<T, D, 0, false, Moving>(blocks, step, sums);
    count =
        compact_minority<T, D>(blocks, e + from * L, task.Ue != nullptr, compacted, count, sums.xe);
    if (count < most * L && to < task.n_blocks) continue;
    if (count > 0) add_minority<T, N>(compacted, count, products);
    count = 0;
  }
  return finish_minority<T, D>(task, sums.b, sums.xe, [&](uword pair) { return products[pair]; });
}

#endif

}  // namespace gasg21::kernels::GASG21_SET
