// The tables and intrinsics that simd.hpp of an instruction set needs.
#pragma once

#include <cstring>
#include <utility>

#include "gasg21/kernels/compiler.hpp"
#include "gasg21/support/aligned.hpp"

#if GASG21_X86
#include <immintrin.h>

#include <cstdint>

namespace gasg21::kernels {

/// How to move some lanes of a register to its front: row `bits` lists the 32-bit parts of the
/// lanes whose bits are set. A register has `Lanes` lanes of `Width` parts.
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
