// `sums` for 6 to 10 columns (AVX2: 8 to 10), if something is missing: the rows in the minority,
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

/// Adds the products of N columns, the last one only with the others, in register tiles.
template <class T, uword N>
GASG21_INLINE void add_minority(const T* blocks, uword n_blocks, T* sums) {
  const Chunk<T> chunk{blocks, nullptr, n_blocks, N};
  const Ahead<T> none{blocks, 0};
  constexpr uword L = block_rows<T>;
#define GASG21_TILE(R, C, corner, i) \
  add_tile<T, R, C, corner, L, false, true>(chunk, i, 0, sums, none)
  if constexpr (N <= 8) {
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

template <class T, uword D, bool Moving>
GASG21_INLINE T sums_of_minority(const SumsTask<T>& task) {
  using P = Pack<T>;
  constexpr uword N = D + 1, L = block_rows<T>, most = minority_blocks(D), at_once = 32;
  T *const products = task.scratch, *const blocks = products + N * (N + 1) / 2 * L;
  std::fill(products, blocks, T(0));
  const PendingStep<T> step = Moving ? *task.step : PendingStep<T>{};
  const T* const direction = Moving ? step.e : task.e;
  const bool missing = task.Ue != nullptr;
  P b[D], xe = P{};
  GASG21_UNROLL
  for (uword c = 0; c < D; ++c) b[c] = P{};
  Collector<T, N> minority(blocks);
  for (uword from = 0, to; from < task.n_blocks; from = to) {
    to = std::min(from + at_once, task.n_blocks);
    P u[N];
    if constexpr (Moving) apply_to_blocks<T, D>(task.U, from, to, step);
    for (uword block = from; block < to; ++block) {
      const T* const at = task.U + block * D * L;
      GASG21_PREFETCH_L2(task.next + block * L);
      load_block<T>(at, u, D);
      u[D] = load<P>(direction + block * L);
      const P x = load<P>(task.x + block * L), value = where_observed(x, x);
      xe += value * u[D];
      GASG21_UNROLL
      for (uword c = 0; c < D; ++c) b[c] += u[c] * value;
      minority.add(u, lanes_of<T>(x, missing));
    }
    if (uword(minority.out - blocks) >= most * N * L) {
      add_minority<T, N>(blocks, uword(minority.out - blocks) / (N * L), products);
      minority.out = blocks;
    }
  }
  const uword rest = uword(minority.finish() - blocks) / (N * L);
  if (rest > 0) add_minority<T, N>(blocks, rest, products);
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
  constexpr unsigned all = (1u << lanes) - 1;
  for (uword block = 0; block < blocks.count; ++block) {
    GASG21_UNROLL
    for (uword part = 0; part < L; part += lanes) {
      const P x = load<P>(blocks.x + block * L + part), direction = load<P>(e + block * L + part);
      const unsigned seen = observed_bits<T>(x), bits = missing ? seen ^ all : seen;
      xe += where_observed(x, x) * direction;
      T* const out = compacted + count;
      GASG21_UNROLL
      for (uword c = 0; c < D; ++c)
        store(out + c * apart, compress<T>(load<P>(blocks.U + (block * D + c) * L + part), bits));
      store(out + D * apart, compress<T>(direction, bits));
      count += uword(__builtin_popcount(bits));
    }
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
