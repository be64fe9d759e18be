// Memory that begins on a cache line, in whole cache lines.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

#include "gasg21/support/config.hpp"

namespace gasg21 {

template <class T>
struct AlignedAllocator {
  using value_type = T;
  static constexpr std::align_val_t line{64};

  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(const AlignedAllocator<U>&) {}  // NOLINT: allocators convert

  T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), line));
  }
  void deallocate(T* p, std::size_t) { ::operator delete(p, line); }
  friend bool operator==(const AlignedAllocator&, const AlignedAllocator&) { return true; }
  friend bool operator!=(const AlignedAllocator&, const AlignedAllocator&) { return false; }
};

template <class T>
using Aligned = std::vector<T, AlignedAllocator<T>>;

namespace kernels {
/// Rows in a row block, whatever the registers: one cache line of them.
template <class T>
inline constexpr uword block_rows = 64 / sizeof(T);
}  // namespace kernels

/// n rounded up to whole blocks of the kernels.
template <class T>
uword whole_blocks(uword n) {
  return (n + kernels::block_rows<T> - 1) / kernels::block_rows<T> * kernels::block_rows<T>;
}

}  // namespace gasg21
