#include "base/fresh_memory.h"

#include <sys/mman.h>

#include <cstdlib>

namespace kw {
namespace {

constexpr std::size_t kLarge = std::size_t{32} << 20;  // from here on pages of its own

}  // namespace

void* allocate_fresh(std::size_t bytes) {
  if (bytes < kLarge) {
    void* memory = std::calloc(1, bytes == 0 ? 1 : bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
  }
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return memory;
}

void free_fresh(void* memory, std::size_t bytes) {
  if (bytes < kLarge)
    std::free(memory);
  else
    ::munmap(memory, bytes);
}

}  // namespace kw
