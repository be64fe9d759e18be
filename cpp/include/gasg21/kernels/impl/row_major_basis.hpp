// The kernels of row_major_basis.hpp for one instruction set; included once for each.

namespace gasg21::kernels::GASG21_SET {

/// Transposes a register of rows, at row[0], row[1], ..., to columns that are L apart.
template <class T>
GASG21_INLINE void transpose_rows(const T* const (&row)[bytes / sizeof(T)], uword d, T step,
                                  T* blocks, T* e) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T);
  P steps = P{};
  for (uword first = 0; first < d + RowMemory<T>::extra; first += lanes) {
    P column[lanes];  // may read beyond the row; not used
    GASG21_UNROLL
    for (uword l = 0; l < lanes; ++l) column[l] = load<P>(row[l] + first);
    transpose<T>(column);
    if (first + lanes <= d) {
      GASG21_UNROLL
      for (uword k = 0; k < lanes; ++k) store(blocks + (first + k) * L, column[k]);
      continue;
    }
    GASG21_UNROLL
    for (uword k = 0; k < lanes; ++k) {
      if (first + k < d)
        store(blocks + (first + k) * L, column[k]);
      else if (first + k == d)
        store(e, column[k]);
      else if (first + k == d + 1)
        steps = column[k];
    }
  }
  store(e, where_equal(steps, broadcast<P>(step), load<P>(e)));
}

template <class T>
void gather(const RowMemory<T>& from, const uword* at, uword count, T* blocks, T* e,
            const T* next) {
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T);
  const uword d = from.d, lines = next ? from.n / count + 1 : 0;
  const uword whole = count / L * L;
  uword rest[L];  // the last block, filled up with the row of zeros
  for (uword l = 0; l < L; ++l) rest[l] = whole + l < count ? at[whole + l] : from.n;
  for (uword first = 0; first < count; first += L, blocks += d * L, e += L) {
    const uword* rows = first < whole ? at + first : rest;
    GASG21_UNROLL
    for (uword part = 0; part < L; part += lanes) {
      const T* row[lanes];
      GASG21_UNROLL
      for (uword l = 0; l < lanes; ++l) row[l] = from.rows + rows[part + l] * from.stride;
      transpose_rows<T>(row, d, from.step, blocks + part, e + part);
    }
    for (uword k = 0; k < lines && (first / L * lines + k) * L < from.n; ++k)
      GASG21_PREFETCH_L2(next + (first / L * lines + k) * L);
  }
}

/// `add_rank_one` for rows of up to K registers.
template <class T, int K>
GASG21_INLINE void add_to_rows(const RowMemory<T>& to, const uword* at, uword count, const T* e,
                               const T* z, const T* marks, const T* steps) {
  using P = Pack<T>;
  constexpr uword lanes = bytes / sizeof(T);
  P factor[K], mark[K], step[K];
  GASG21_UNROLL
  for (int k = 0; k < K; ++k) {
    factor[k] = load<P>(z + k * lanes);
    mark[k] = load<P>(marks + k * lanes);
    step[k] = load<P>(steps + k * lanes);
  }
  for (uword i = 0; i < count; ++i) {
    T* row = to.rows + at[i] * to.stride;
    const P amount = broadcast<P>(e[i]);
    GASG21_UNROLL
    for (int k = 0; k < K; ++k) {
      const P kept = where_observed(mark[k], load<P>(row + k * lanes));
      store(row + k * lanes, amount * factor[k] + (kept + step[k]));
    }
  }
}

template <class T>
void add_rank_one(const RowMemory<T>& to, const uword* at, uword count, const T* e, T* z) {
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T), most = 4 * lanes;
  const uword d = to.d, size = d + RowMemory<T>::extra;
  if (size > most) {
    for (uword i = 0; i < count; ++i) {
      T* row = to.rows + at[i] * to.stride;
      for (uword c = 0; c < d; ++c) row[c] += e[i] * z[c];
      row[d] = e[i];
      row[d + 1] = to.step;
    }
    return;
  }
  // In whole registers: entries of the next row keep their values, because z is 0 there. At e and
  // at the number of its step, z is 1 and 0, and a NaN in `marks` drops the old value.
  T marks[most + L] = {}, steps[most + L] = {};
  std::fill(z + d, z + d + L, T(0));
  z[d] = 1;
  marks[d] = marks[d + 1] = std::numeric_limits<T>::quiet_NaN();
  steps[d + 1] = to.step;
  switch ((size + lanes - 1) / lanes) {
    case 1:
      return add_to_rows<T, 1>(to, at, count, e, z, marks, steps);
    case 2:
      return add_to_rows<T, 2>(to, at, count, e, z, marks, steps);
    case 3:
      return add_to_rows<T, 3>(to, at, count, e, z, marks, steps);
    default:
      return add_to_rows<T, 4>(to, at, count, e, z, marks, steps);
  }
}

/// `multiply_all` for rows of up to K registers. Whole: the registers hold nothing of the next row.
template <class T, int K, bool Whole>
GASG21_INLINE void multiply_rows(const RowMemory<T>& all, const T* At) {
  using P = Pack<T>;
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T);
  constexpr uword stride = (K * lanes + L - 1) / L * L;
  T marks[lanes] = {};  // NaN = drop the old value, in the last register
  for (uword c = (K - 1) * lanes; c < all.d; ++c)
    marks[c - (K - 1) * lanes] = std::numeric_limits<T>::quiet_NaN();
  const P mark = load<P>(marks);
  for (uword i = 0; i < all.n; ++i) {
    T* const row = all.rows + i * all.stride;
    T* const last = row + (K - 1) * lanes;
    P product[K];
    GASG21_UNROLL
    for (int k = 0; k < K; ++k) product[k] = P{};
    if constexpr (Whole) product[K - 1] = where_observed(mark, load<P>(last));
    for (uword c = 0; c < all.d; ++c) {
      const P factor = broadcast<P>(row[c]);
      GASG21_UNROLL
      for (int k = 0; k < K; ++k) product[k] += factor * load<P>(At + c * stride + k * lanes);
    }
    if constexpr (K > 1) {
      GASG21_UNROLL
      for (int k = 0; k + 1 < K; ++k) store(row + k * lanes, product[k]);
    }
    if constexpr (Whole) {
      store(last, product[K - 1]);
    } else {  // a shared register would make the next row wait
      T rest[lanes];
      store(rest, product[K - 1]);
      for (uword c = 0; c < all.d - (K - 1) * lanes; ++c) last[c] = rest[c];
    }
  }
}
template <class T, int K>
GASG21_INLINE void multiply_rows(const RowMemory<T>& all, const T* At) {
  if (all.stride >= K * (bytes / sizeof(T)))
    multiply_rows<T, K, true>(all, At);
  else
    multiply_rows<T, K, false>(all, At);
}

template <class T>
void multiply_all(const RowMemory<T>& all, const T* At) {
  constexpr uword L = block_rows<T>, lanes = bytes / sizeof(T);
  switch ((all.d + lanes - 1) / lanes) {
    case 1:
      return multiply_rows<T, 1>(all, At);
    case 2:
      return multiply_rows<T, 2>(all, At);
    case 3:
      return multiply_rows<T, 3>(all, At);
  }
  const uword stride = (all.d + L - 1) / L * L;
  std::vector<T> out(all.d);
  for (uword i = 0; i < all.n; ++i) {
    T* row = all.rows + i * all.stride;
    std::fill(out.begin(), out.end(), T(0));
    for (uword c = 0; c < all.d; ++c)
      for (uword k = 0; k < all.d; ++k) out[k] += row[c] * At[c * stride + k];
    std::copy(out.begin(), out.end(), row);
  }
}

template <class T>
inline constexpr RowMajorKernels<T> row_major_table{gather<T>, add_rank_one<T>, multiply_all<T>};

template <class T>
const RowMajorKernels<T>& row_major_kernels() {
  return row_major_table<T>;
}

}  // namespace gasg21::kernels::GASG21_SET
