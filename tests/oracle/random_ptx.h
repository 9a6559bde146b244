// Random valid PTX kernels for comparing interpreters: straight-line arithmetic of every kind, nested branches
// and bounded loops on thread-dependent conditions, exchanges through shared memory with barriers, shuffles and
// votes. Each thread loads its registers from its slice of a buffer, computes, and stores them back, so equal
// buffers mean equal registers. The same seed gives the same text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kw::oracle {

struct Slot {
  std::string name;  // "%f3"
  char kind = 'i';   // i integer, h half, f float, d double
  uint32_t offset = 0, bytes = 0;
};

struct RandomKernel {
  std::string ptx;
  uint32_t threads = 0;
  uint32_t stride = 0;          // bytes of buffer per thread
  std::vector<Slot> slots;      // where a thread's registers lie in its slice
  std::vector<uint8_t> buffer;  // initial contents
};

RandomKernel random_kernel(uint64_t seed);

}  // namespace kw::oracle
