// A row of a matrix, moved in packs of V elements by the threads of a block.
#pragma once

#include <kernelwright/pack.cuh>

#include <cstdint>

namespace kw {

// The parts of a row that may start anywhere: `head` single elements up to the first boundary of a pack, `packs` of V,
// `tail` single elements; head, tail < V.
template <typename T, int V>
struct Row {
  int head, packs, tail;
  __device__ Row(const T* start, int n) {
    const int off = static_cast<int>(reinterpret_cast<uintptr_t>(start) % (V * sizeof(T)) / sizeof(T));
    head = off == 0 ? 0 : min(n, V - off);
    packs = (n - head) / V;
    tail = n - head - packs * V;
  }
  // The single element of a thread, or -1: head elements belong to the first threads, tail elements to those after them.
  // The block has at least 2 V threads.
  __device__ int single(int thread) const {
    if (thread < head) return thread;
    if (thread < head + tail) return packs * V + thread;
    return -1;
  }
};

// use(i, p) for each pack p of this thread: its i-th, of at most kElements / V. Unrolled, so that an array indexed by i
// stays in registers.
template <int V, int kThreads, int kElements, typename Use>
__device__ __forceinline__ void for_packs(int packs, const Use& use) {
#pragma unroll
  for (int i = 0; i < kElements / V; ++i) {
    const int p = i * kThreads + static_cast<int>(threadIdx.x);
    if (p < packs) use(i, p);
  }
}

}  // namespace kw
