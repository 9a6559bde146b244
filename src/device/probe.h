// Small kernels of ours that keep one part of a GPU busy, as plans of known work: what a device is calibrated by, and on the
// emulator counted by. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace kw::device {

struct Probe {
  plan::Plan plan;
  double amount = 0;   // bytes moved or operations done by a call; a multiply-add is two
};

enum class Traffic : uint8_t { kRead, kWrite, kCopy, kReadL2 };   // kReadL2: not from an SM's own cache
// Every SM moves its part of the buffer, `passes` times; of copies both directions count. The buffer is the whole number of
// rounds of all threads nearest to `bytes`, at least one: `bytes` becomes its size.
Probe traffic_probe(Traffic traffic, uint64_t& bytes, uint32_t passes, int multiprocessors);

enum class Arithmetic : uint8_t { kFp32, kFp64, kInt32, kMmaFp16, kMmaBf16 };
// Threads that do nothing but that, in independent chains. Afterwards buffer kTicks holds what a thread saw pass meanwhile: two
// 64-bit numbers, clocks of its SM and nanoseconds.
Probe arithmetic_probe(Arithmetic arithmetic, uint32_t rounds, int multiprocessors);
inline constexpr char kTicks[] = "ticks";

// `launches` kernels that do nothing, one after another.
Probe launch_probe(uint32_t launches);

}  // namespace kw::device
