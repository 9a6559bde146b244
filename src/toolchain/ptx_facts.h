// Static facts of a kernel's PTX: what an engineer counts when reading it. Exact for the text given; how often
// an instruction executes is not known here. Thread-safe: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ptx/module.h"

namespace kw::toolchain {

// Memory instructions of one kind and width: {"ld", "global", 16, 12} = twelve 16-byte global loads.
struct MemoryAccess {
  std::string operation;  // ld, st, atom, red, cp.async, ldmatrix, stmatrix
  std::string space;      // global, shared, local, const, param, generic
  uint32_t bytes = 0;     // per thread
  uint64_t count = 0;
};

struct PtxFacts {
  std::string kernel;
  uint64_t instructions = 0;
  std::map<std::string, uint64_t> mix;       // by opcode: "mma" → 64
  std::map<std::string, uint64_t> tensor;    // by whole form: "mma.sync.aligned.m16n8k16…" → 64
  std::vector<MemoryAccess> accesses;        // sorted by operation, space, bytes
  uint64_t barriers = 0;                     // bar, barrier
  uint64_t virtual_registers = 0;
  uint64_t static_shared_bytes = 0;          // variables declared in the kernel or the module
  uint64_t local_bytes = 0;                  // declared .local, per thread
  uint32_t max_threads = 0;                  // .maxntid or .reqntid; 0: not stated
};

// One entry per kernel, in the order of the text. Functions that a kernel calls are not followed.
std::vector<PtxFacts> ptx_facts(const ptx::Module& module);

// The list with equal (operation, space, bytes) joined and sorted.
std::vector<MemoryAccess> joined(std::vector<MemoryAccess> accesses);

}  // namespace kw::toolchain
