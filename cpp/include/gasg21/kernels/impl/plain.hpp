// The functions of plain.hpp. Each sum runs over a fixed number of lanes: the compiler may then use
// vector registers although it must not reorder floating-point sums.

namespace gasg21::kernels {

namespace detail {

inline constexpr uword lanes = 16;

template <class T>
T sum_lanes(const T (&lane)[lanes]) {
  T half[lanes / 2];
  for (uword l = 0; l < lanes / 2; ++l) half[l] = lane[l] + lane[l + lanes / 2];
  for (uword width = lanes / 4; width > 0; width /= 2)
    for (uword l = 0; l < width; ++l) half[l] += half[l + width];
  return half[0];
}

}  // namespace detail

template <class T>
T dot(const T* a, const T* b, uword n) {
  constexpr uword lanes = detail::lanes;
  T lane[lanes] = {};
  uword i = 0;
  for (; i + lanes <= n; i += lanes)
    for (uword l = 0; l < lanes; ++l) lane[l] += a[i + l] * b[i + l];
  for (uword l = 0; i < n; ++i, ++l) lane[l] += a[i] * b[i];
  return detail::sum_lanes(lane);
}

template <class T>
void transpose_times(const T* A, uword n, uword d, const T* x, T* out) {
  for (uword c = 0; c < d; ++c) out[c] = dot(A + c * n, x, n);
}

template <class T>
void add_times(const T* A, uword n, uword d, const T* w, T sign, T* y) {
  uword c = 0;
  for (; c + 4 <= d; c += 4) {
    const T *a0 = A + c * n, *a1 = a0 + n, *a2 = a1 + n, *a3 = a2 + n;
    const T w0 = sign * w[c], w1 = sign * w[c + 1], w2 = sign * w[c + 2], w3 = sign * w[c + 3];
    for (uword i = 0; i < n; ++i) y[i] += (a0[i] * w0 + a1[i] * w1) + (a2[i] * w2 + a3[i] * w3);
  }
  for (; c < d; ++c) {
    const T* a = A + c * n;
    const T wc = sign * w[c];
    for (uword i = 0; i < n; ++i) y[i] += a[i] * wc;
  }
}

template <class T>
void gram(const T* A, uword n, uword d, T* G) {
  for (uword j = 0; j < d; ++j)
    for (uword i = j; i < d; ++i) G[i + j * d] = dot(A + i * n, A + j * n, n);
}

template <class T>
void gather_rows(const T* U, uword n, uword d, const uword* rows, uword count, T* out) {
  for (uword c = 0; c < d; ++c) {
    const T* from = U + c * n;
    T* to = out + c * count;
    for (uword k = 0; k < count; ++k) to[k] = from[rows[k]];
  }
}

template <class T>
void add_outer(T* U, uword n, uword d, const T* s, const T* v) {
  for (uword c = 0; c < d; ++c) {
    T* u = U + c * n;
    const T vc = v[c];
    for (uword i = 0; i < n; ++i) u[i] += s[i] * vc;
  }
}

}  // namespace gasg21::kernels
