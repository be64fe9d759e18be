// The functions of small_solve.hpp. Not for an instruction set: below 24 columns they wait for
// divisions and for each other, not for multiplications.

// Clang warns where it cannot unroll a loop: where D = 0 it need not.
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

namespace gasg21::kernels {

namespace detail {

// For D columns, or for d if D = 0. Where D is known, b stays in registers.

// A column is complete before the next one, and its entries are sums of their own, so that only the
// divisions wait for each other.
template <uword D, class T>
T ldl(T* G, uword d_) {
  const uword d = D ? D : d_;
  T smallest = 0, largest = 0, sums[D ? D : many_columns];
  GASG21_UNROLL
  for (uword j = 0; j < d; ++j) {
    GASG21_UNROLL
    for (uword i = j; i < d; ++i) sums[i] = G[i + j * d];
    GASG21_UNROLL
    for (uword k = 0; k < j; ++k) {
      const T factor = G[k + j * d];
      GASG21_UNROLL
      for (uword i = j; i < d; ++i) sums[i] -= G[i + k * d] * factor;
    }
    const T pivot = sums[j], inverse = 1 / pivot;
    if (!(pivot > 0)) return 0;
    smallest = j == 0 ? pivot : std::min(smallest, pivot);
    largest = std::max(largest, pivot);
    G[j + j * d] = inverse;
    GASG21_UNROLL
    for (uword i = j + 1; i < d; ++i) {
      G[j + i * d] = sums[i];  // D L', above the diagonal
      G[i + j * d] = sums[i] * inverse;
    }
  }
  return smallest / largest;
}

template <uword D, class T>
T forward(const T* L, uword d_, T* b) {
  const uword d = D ? D : d_;
  T sum = 0;
  GASG21_UNROLL
  for (uword j = 0; j < d; ++j) {
    sum += b[j] * b[j] * L[j + j * d];
    GASG21_UNROLL
    for (uword i = j + 1; i < d; ++i) b[i] -= L[i + j * d] * b[j];
  }
  return sum;
}

template <uword D, class T>
void backward(const T* L, uword d_, T* b) {
  const uword d = D ? D : d_;
  GASG21_UNROLL
  for (uword m = 1; m < d; ++m) {  // upwards: the compiler unrolls no other loop
    const uword i = d - m;
    GASG21_UNROLL
    for (uword k = 0; k < i; ++k) b[k] -= L[i + k * d] * b[i];
  }
}

template <uword D, class T>
T update(T* L, uword d_, T weight, T* z, uword from) {
  const uword d = D ? D : d_;
  const T t0 = 1 / weight;
  T sum = 0, before = t0;  // t = t0 + sum of p^2 / D
  GASG21_UNROLL
  for (uword j = from; j < d; ++j) {
    T* column = L + j * d;
    const T p = z[j], scaled = p * column[j];
    sum += p * scaled;
    const T t = t0 + sum, inverse = 1 / t, beta = scaled * inverse, ratio = before * inverse;
    column[j] *= ratio;
    before = t;
    z[j] = t0 * beta;
    GASG21_UNROLL
    for (uword i = j + 1; i < d; ++i) {
      const T old = column[i];
      column[i] = ratio * old + beta * z[i];  // old + beta * (the new z) would cancel
      z[i] -= p * old;
    }
  }
  return sum * (t0 / before);
}

/// Calls work(copy) with a copy of b in registers, then copies it back.
template <uword D, class T, class Work>
auto in_registers(T* b, Work&& work) {
  if constexpr (D == 0) {
    return work(b);
  } else {
    T own[D];
    for (uword c = 0; c < D; ++c) own[c] = b[c];
    const auto result = work(own);
    for (uword c = 0; c < D; ++c) b[c] = own[c];
    return result;
  }
}

/// Calls work(D) with D = d as a constant for up to 10 columns, else with 0.
template <uword D = 1, class Work>
auto with_columns(uword d, Work&& work) {
  if (d == D) return work(std::integral_constant<uword, D>{});
  if constexpr (D < 10) return with_columns<D + 1>(d, work);
  return work(std::integral_constant<uword, 0>{});
}

}  // namespace detail

template <class T>
T ldl(T* G, uword d) {
  if (d >= many_columns) return ldl_kernels<T>().factor(G, d);
  return detail::with_columns(d, [&](auto D) { return detail::ldl<decltype(D)::value>(G, d); });
}

template <class T>
T ldl_forward(const T* L, uword d, T* b) {
  return detail::with_columns(d, [&](auto D) {
    return detail::in_registers<decltype(D)::value>(
        b, [&](T* own) { return detail::forward<decltype(D)::value>(L, d, own); });
  });
}

template <class T>
void ldl_backward(const T* L, uword d, T* b) {
  detail::with_columns(d, [&](auto D) {
    return detail::in_registers<decltype(D)::value>(
        b, [&](T* own) { return detail::backward<decltype(D)::value>(L, d, own), 0; });
  });
}

template <class T>
void ldl_solve(const T* G, uword d, T* b) {
  if (d >= many_columns) return ldl_kernels<T>().solve(G, d, b);
  detail::with_columns(d, [&](auto D) {
    return detail::in_registers<decltype(D)::value>(b, [&](T* own) {
      detail::forward<decltype(D)::value>(G, d, own);
      for (uword c = 0; c < d; ++c) own[c] *= G[c + c * d];
      detail::backward<decltype(D)::value>(G, d, own);
      return 0;
    });
  });
}

template <class T>
T ldl_update(T* L, uword d, T weight, T* z, uword from) {
  if (from > 0) return detail::update<0>(L, d, weight, z, from);
  return detail::with_columns(d, [&](auto D) {
    return detail::in_registers<decltype(D)::value>(
        z, [&](T* own) { return detail::update<decltype(D)::value>(L, d, weight, own, 0); });
  });
}

}  // namespace gasg21::kernels

#if defined(__clang__)
#pragma clang diagnostic pop
#endif
