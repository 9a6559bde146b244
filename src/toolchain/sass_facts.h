// Static facts of machine code, read from the text that `nvdisasm -c -g` or `cuobjdump -sass` prints, and of the
// resources that `ptxas -v` reports. Opcode names: CUDA Binary Utilities, "Instruction Set Reference".
// Any text is accepted; what is not understood is skipped. Thread-safe: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "toolchain/ptx_facts.h"

namespace kw::toolchain {

struct SassFacts {
  std::string kernel;
  uint64_t instructions = 0;                // NOP padding after the last branch left out
  std::map<std::string, uint64_t> mix;      // by opcode without modifiers: "FFMA" → 120
  std::map<std::string, uint64_t> tensor;   // by whole form: "HMMA.16816.F32" → 64
  std::vector<MemoryAccess> accesses;       // LDG, STG, LDS, STS, LDL, STL, LDGSTS, LDSM, ATOM…, RED
  uint64_t local_loads = 0, local_stores = 0;  // LDL, STL: spills and local arrays
  struct LocalPlace {
    std::string file;
    uint32_t line = 0, count = 0;
  };
  std::vector<LocalPlace> local_places;     // their source lines, the busiest first; empty without line information
  // Calls of the routines for rare cases that stand behind exact division and roots: "div_rn_noftz_f32" → 40.
  std::map<std::string, uint64_t> slow_paths;
  // Global loads that are issued before an instruction needs the first of them, on average over the text; 0: none.
  double loads_in_flight = 0;
};
std::vector<SassFacts> sass_facts(std::string_view disassembly);

struct Resources {
  std::string kernel;
  uint32_t registers = 0;
  uint64_t spill_store_bytes = 0, spill_load_bytes = 0, stack_bytes = 0;
  uint64_t shared_bytes = 0;     // static
  uint64_t constant_bytes = 0;   // all banks
  uint32_t barriers = 0;
};
std::vector<Resources> ptxas_resources(std::string_view log);

}  // namespace kw::toolchain
