// Memory that starts on a cache line.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

#include "gasg21/support/index.hpp"

namespace gasg21 {

/// Allocator of memory that is aligned to a cache line.
template <class T>
struct AlignedAllocator {
  using value_type = T;
  static constexpr std::align_val_t line{64};

  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(const AlignedAllocator<U>&) {}  // NOLINT: allocators must convert implicitly

  T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), line));
  }
  void deallocate(T* p, std::size_t) { ::operator delete(p, line); }
  friend bool operator==(const AlignedAllocator&, const AlignedAllocator&) { return true; }
  friend bool operator!=(const AlignedAllocator&, const AlignedAllocator&) { return false; }
};

/// Vector whose elements start on a cache line boundary.
template <class T>
using Aligned = std::vector<T, AlignedAllocator<T>>;

namespace kernels {
/// Rows in a row block: one cache line, whatever the register size.
template <class T>
inline constexpr uword block_rows = 64 / sizeof(T);
}  // namespace kernels

/// n rounded up to whole row blocks.
template <class T>
uword whole_blocks(uword n) {
  return (n + kernels::block_rows<T> - 1) / kernels::block_rows<T> * kernels::block_rows<T>;
}

}  // namespace gasg21
