// A recording of a candidate in Python (python/kernelwright/recording.py) to a plan. It comes from a process that the candidate shares:
// only what the workload and the compiled code agree with becomes a plan, and that passes plan::check. Internal to toolchain.
// Thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "toolchain/toolchain.h"

namespace kw::toolchain {

// A kernel with what a launch of it needs beyond grid and arguments.
struct DescribedKernel {
  std::string name, ptx;
  uint32_t threads = 0, shared_bytes = 0;      // of a block; shared: dynamic
  std::array<uint32_t, 3> cluster{1, 1, 1};
  bool cooperative = false, dependent = false;
  std::vector<uint64_t> scratch_bytes;         // of a block: memory that pointers behind the arguments lead to; 0: a null pointer
};
// From the name that the recording gives it.
using FindKernel = std::function<Result<std::variant<DescribedKernel, Unrecordable>>(const std::string& what)>;

struct Description {
  std::string text;                            // recording.json
  std::string path;                            // the candidate's, which its lines belong to
  std::string target, candidate;               // of the plan
};
// Errors are those of `find`; what is wrong with the description is Unrecordable.
Result<std::variant<plan::Plan, Unrecordable>> plan_of(const Description& description, const Workload& workload, const FindKernel& find);

}  // namespace kw::toolchain
