// Asynchronous global-to-shared copies of sm_80 (PTX ISA, cp.async).
// A thread's copies are visible to it after cp_async_wait<N>() and to the block after a __syncthreads()
// that follows it.
#pragma once

#include <cstdint>

namespace kw {

__device__ inline uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// Copies 16 bytes; both addresses 16-byte aligned. With `valid` false nothing is read and the 16 bytes in
// shared memory become zero.
__device__ inline void cp_async_16(void* shared, const void* global, bool valid = true) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(shared_address(shared)), "l"(global),
               "r"(valid ? 16 : 0)
               : "memory");
}

__device__ inline void cp_async_commit() { asm volatile("cp.async.commit_group;\n" ::: "memory"); }

// Waits until at most `kPending` of this thread's newest groups are still in flight.
template <int kPending>
__device__ inline void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(kPending) : "memory");
}

}  // namespace kw
