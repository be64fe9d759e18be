// The functions of plain.hpp.
#include "gasg21/kernels/plain.hpp"

#include "gasg21/kernels/impl/plain.hpp"

namespace gasg21::kernels {

#define GASG21_INSTANTIATE(T)                                                    \
  template T dot<T>(const T*, const T*, uword);                                  \
  template void transpose_times<T>(const T*, uword, uword, const T*, T*);        \
  template void add_times<T>(const T*, uword, uword, const T*, T sign, T*);      \
  template void gram<T>(const T*, uword, uword, T*);                             \
  template void gather_rows<T>(const T*, uword, uword, const uword*, uword, T*); \
  template void add_outer<T>(T*, uword, uword, const T*, const T*);

GASG21_INSTANTIATE(double)
GASG21_INSTANTIATE(float)

}  // namespace gasg21::kernels
