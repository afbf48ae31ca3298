#include "allocations.hpp"

#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

// glibc lets a program bring its own malloc and keeps the original under these names.
extern "C" {
void* __libc_malloc(std::size_t size);                           // NOLINT: glibc's names
void* __libc_calloc(std::size_t count, std::size_t size);        // NOLINT
void* __libc_realloc(void* block, std::size_t size);             // NOLINT
void* __libc_memalign(std::size_t alignment, std::size_t size);  // NOLINT
void __libc_free(void* block);                                   // NOLINT
}

namespace {

std::atomic<std::size_t> calls{0};
std::atomic<std::size_t> in_use{0};
std::atomic<std::size_t> peak{0};

void* counted(void* block) {
  if (block == nullptr) return block;
  calls.fetch_add(1, std::memory_order_relaxed);
  const std::size_t size = malloc_usable_size(block);
  const std::size_t now = in_use.fetch_add(size, std::memory_order_relaxed) + size;
  std::size_t highest = peak.load(std::memory_order_relaxed);
  while (highest < now && !peak.compare_exchange_weak(highest, now, std::memory_order_relaxed)) {
  }
  return block;
}

void uncounted(void* block) {
  if (block != nullptr) in_use.fetch_sub(malloc_usable_size(block), std::memory_order_relaxed);
}

}  // namespace

extern "C" {
void* malloc(std::size_t size) { return counted(__libc_malloc(size)); }
void* calloc(std::size_t count, std::size_t size) { return counted(__libc_calloc(count, size)); }
void* realloc(void* block, std::size_t size) {
  uncounted(block);
  return counted(__libc_realloc(block, size));
}
void* memalign(std::size_t alignment, std::size_t size) {
  return counted(__libc_memalign(alignment, size));
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return counted(__libc_memalign(alignment, size));
}
int posix_memalign(void** block, std::size_t alignment, std::size_t size) {
  *block = counted(__libc_memalign(alignment, size));
  return *block == nullptr ? ENOMEM : 0;
}
void free(void* block) {
  uncounted(block);
  __libc_free(block);
}
}

namespace popgrad::bench {

std::size_t allocations() { return calls; }
std::size_t bytes_in_use() { return in_use; }
std::size_t peak_bytes() { return peak; }
void forget_peak() { peak = in_use.load(); }

}  // namespace popgrad::bench
