// The functions of small_solve.hpp.
#include "gasg21/kernels/small_solve.hpp"

#include "gasg21/kernels/impl/small_solve.hpp"

namespace gasg21::kernels {

#define GASG21_INSTANTIATE(T)                         \
  template T ldl<T>(T*, uword);                       \
  template T ldl_forward<T>(const T*, uword, T*);     \
  template void ldl_backward<T>(const T*, uword, T*); \
  template void ldl_solve<T>(const T*, uword, T*);    \
  template T ldl_update<T>(T*, uword, T weight, T*, uword from);

GASG21_INSTANTIATE(double)
GASG21_INSTANTIATE(float)

}  // namespace gasg21::kernels
