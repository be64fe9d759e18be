// The step of some row blocks and the sums that stay in registers meanwhile. A part of
// impl/tracked_basis.hpp.

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

/// The sums of D columns in registers: b = U_Omega'x, x'e, G of the first M columns, and Ue =
/// U_Omega'e if M = D and the set finds the direction.
template <class T, uword D, uword M>
struct Sums {
  static constexpr bool with_direction = M == D && finds_direction<D>;
  Pack<T> b[D], xe, G[M + 1][M + 1], Ue[with_direction ? D : 1];

  GASG21_INLINE Sums() : xe(Pack<T>{}) {
    GASG21_UNROLL
    for (uword c = 0; c < D; ++c) b[c] = Ue[with_direction ? c : 0] = Pack<T>{};
    GASG21_UNROLL
    for (uword c = 0; c < M; ++c) GASG21_UNROLL
    for (uword a = 0; a <= c; ++a) G[c][a] = Pack<T>{};
  }
};

/// A step by value: the compiler would read what a pointer to T points to again after each store.
template <class T, uword D, bool Moving, bool WithY>
struct StepValues {
  T v[D], z[D], y[D], z_factor, e_factor, scale, y_over_z;
  bool with_y;

  GASG21_INLINE explicit StepValues(const PendingStep<T>& step)
      : z_factor(step.z_factor),
        e_factor(step.e_factor),
        scale(step.scale),
        y_over_z(step.y_over_z),
        with_y(WithY && step.y) {
    for (uword c = 0; c < D; ++c) {
      v[c] = Moving ? step.v[c] : T(0);
      z[c] = Moving ? step.z[c] : T(0);
      y[c] = with_y ? step.y[c] : T(0);
    }
  }
};

/// Applies the step to the row blocks and adds to the sums. One register of rows at a time, which
/// stays in registers. Full: nothing of x is missing. x'e is summed then, or with U_Omega'e.
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
      constexpr bool with_direction = Sums<T, D, M>::with_direction;
      P e = P{};
      if constexpr (Full || with_direction) {
        e = load<P>(blocks.e + at);
        sums.xe += value * e;
      }
      if constexpr (with_direction) e = where_observed(x, e);
      GASG21_UNROLL
      for (uword c = 0; c < D; ++c) {
        sums.b[c] += u[c] * value;
        if constexpr (with_direction) sums.Ue[c] += u[c] * e;
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

}  // namespace gasg21::kernels::GASG21_SET
