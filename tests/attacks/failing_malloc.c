// Lets the k-th allocation of the calling process fail, counted from `fail_after(k)`: LD_PRELOAD it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_long left = -1;  // allocations until one fails; -1 = none fails
static atomic_long failed = 0;

void fail_after(long k) {
  atomic_store(&failed, 0);
  atomic_store(&left, k);
}
long fail_never(void) {
  atomic_store(&left, -1);
  return atomic_load(&failed);
}

static int fails(void) {
  if (atomic_load(&left) < 0) return 0;
  if (atomic_fetch_sub(&left, 1) != 0) return 0;
  atomic_store(&left, -1);
  atomic_store(&failed, 1);
  errno = ENOMEM;
  return 1;
}

extern void* __libc_malloc(size_t);
extern void* __libc_memalign(size_t, size_t);

void* malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }
void* aligned_alloc(size_t line, size_t size) { return fails() ? NULL : __libc_memalign(line, size); }
int posix_memalign(void** out, size_t line, size_t size) {
  void* p = fails() ? NULL : __libc_memalign(line, size);
  if (!p) return ENOMEM;
  *out = p;
  return 0;
}
