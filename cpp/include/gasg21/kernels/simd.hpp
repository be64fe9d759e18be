// Vectors of one register, for each instruction set.
#pragma once

#include <cstring>
#include <utility>

#include "gasg21/kernels/dispatch.hpp"
#include "gasg21/support/aligned.hpp"

#if GASG21_X86
#include <immintrin.h>

#include <cstdint>

namespace gasg21::kernels {

/// For each set of lanes of a register, given by bits: where the 32-bit parts of these lanes are,
/// one after the other. Lanes have Width such parts, and there are Lanes of them.
template <int Lanes, int Width>
struct LaneOrders {
  alignas(32) std::int32_t parts[1 << Lanes][Lanes * Width] = {};
  constexpr LaneOrders() {
    for (int bits = 0; bits < 1 << Lanes; ++bits) {
      int next = 0;
      for (int lane = 0; lane < Lanes; ++lane)
        if (bits >> lane & 1)
          for (int part = 0; part < Width; ++part) parts[bits][next++] = lane * Width + part;
    }
  }
};
template <int Lanes, int Width>
inline constexpr LaneOrders<Lanes, Width> lane_orders{};

}  // namespace gasg21::kernels
#endif

#define GASG21_KERNELS "gasg21/kernels/impl/simd.hpp"
#include "gasg21/kernels/for_each_set.hpp"
#undef GASG21_KERNELS
