// Memory for large arrays: zero, and made page by page when it is first touched, so that the threads that fill an array share
// that work, and what is filled anyway is not filled with zeros first. A new vector of it holds zeros; elements that it grows
// by within its capacity hold anything.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace kw {

void* allocate_fresh(std::size_t bytes);  // throws std::bad_alloc
void free_fresh(void* memory, std::size_t bytes);

template <typename T>
struct FreshMemory {
  using value_type = T;
  FreshMemory() = default;
  template <typename U>
  FreshMemory(const FreshMemory<U>&) {}  // NOLINT(google-explicit-constructor): as allocators convert
  T* allocate(std::size_t count) {
    if (count > static_cast<std::size_t>(-1) / sizeof(T)) throw std::bad_alloc();
    return static_cast<T*>(allocate_fresh(count * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t count) { free_fresh(memory, count * sizeof(T)); }
  template <typename U>
  void construct(U*) noexcept {}  // a new element without a value stays as it is
  bool operator==(const FreshMemory&) const { return true; }
};

template <typename T>
using FreshVector = std::vector<T, FreshMemory<T>>;

}  // namespace kw
