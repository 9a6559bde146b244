#include "base/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace kw {

void parallel_for_worker(uint64_t count, int threads, const std::function<void(uint64_t, int)>& body) {
  std::atomic<uint64_t> next{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;  // guards the two below
  uint64_t failed_index = 0;
  std::exception_ptr failure;

  const auto work = [&](int worker) {
    while (!stop.load(std::memory_order_relaxed)) {
      const uint64_t index = next.fetch_add(1, std::memory_order_relaxed);
      if (index >= count) return;
      try {
        body(index, worker);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure || index < failed_index) {
          failure = std::current_exception();
          failed_index = index;
        }
        stop.store(true, std::memory_order_relaxed);
      }
    }
  };

  const uint64_t wanted = std::min<uint64_t>(count, static_cast<uint64_t>(std::max(threads, 1)));
  std::vector<std::thread> others;
  if (wanted > 1) others.reserve(wanted - 1);
  for (uint64_t i = 1; i < wanted; ++i) {
    try {
      others.emplace_back(work, static_cast<int>(i));
    } catch (const std::system_error&) {
      break;  // the system gives no more threads; those there are do all the work
    }
  }
  work(0);
  for (std::thread& thread : others) thread.join();
  if (failure) std::rethrow_exception(failure);
}

void parallel_for(uint64_t count, int threads, const std::function<void(uint64_t)>& body) {
  parallel_for_worker(count, threads, [&body](uint64_t index, int) { body(index); });
}

int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(CPU_COUNT(&set), 1);
  return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

}  // namespace kw
