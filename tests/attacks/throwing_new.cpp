// operator new that throws where memory ends. That of the sanitizers ends the process instead.
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {
void* checked(void* p) {
  if (!p) throw std::bad_alloc();
  return p;
}
}  // namespace

void* operator new(std::size_t size) { return checked(std::malloc(size ? size : 1)); }
void* operator new[](std::size_t size) { return checked(std::malloc(size ? size : 1)); }
void* operator new(std::size_t size, std::align_val_t line) {
  void* p = nullptr;
  return checked(posix_memalign(&p, std::size_t(line), size ? size : 1) == 0 ? p : nullptr);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return std::malloc(size ? size : 1);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
