// parallel_for: runs body(index) for every index in [0, count) on up to `threads` threads (the caller's included).
// Indexes are handed out one at a time in ascending order, so uneven work balances; results must not depend on
// which thread runs which index. When a body throws, no new index is started and, after all have stopped, the
// exception of the lowest index that threw is rethrown here.
#pragma once

#include <cstdint>
#include <functional>

namespace kw {

void parallel_for(uint64_t count, int threads, const std::function<void(uint64_t)>& body);

// The same, and tells the body which of the threads (0 … threads-1) it runs on, for per-thread scratch memory.
void parallel_for_worker(uint64_t count, int threads, const std::function<void(uint64_t index, int worker)>& body);

// Cores that this process may use (its affinity mask), at least 1.
int available_cores();

}  // namespace kw
