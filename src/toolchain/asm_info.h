// asm_info: what the compiler made of a kernel, from PTX, ptxas and the SASS disassembler: registers, spills,
// shared memory, instruction mix, widths of memory accesses, tensor-core instructions, and occupancy by arch.
// Facts of the code, not measurements. Tools that are missing leave their part out and are named in `missing`.
// Schema "kernelwright/asm_info/1" (docs/formats/asm_info.md). Thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "arch/occupancy.h"
#include "base/result.h"
#include "toolchain/ptx_facts.h"
#include "toolchain/sass_facts.h"
#include "toolchain/toolchain.h"

namespace kw::toolchain {

struct AsmInfo {
  struct OccupancyAt {
    uint32_t threads = 0;        // of a block
    arch::Occupancy occupancy;   // with the static shared memory alone
  };
  struct Kernel {
    PtxFacts ptx;
    std::optional<Resources> resources;     // ptxas
    std::optional<SassFacts> sass;          // nvdisasm or cuobjdump
    std::vector<OccupancyAt> occupancy;     // for the kernel's own block size where it states one
  };
  std::string subject;           // file it is about
  std::string target;
  std::string assembler;         // "ptxas 13.0"; empty when missing
  std::string disassembler;      // "nvdisasm"; empty when missing
  std::vector<Kernel> kernels;
  std::vector<std::string> missing;   // what could not be had, and what to type
};

// `ptx` is device code for `target` or an earlier one. Errors: PTX that does not parse, or that ptxas refuses
// (its message), an unknown target. `only`: kernels that matter, as the PTX names them; the assembler leaves the others out.
Result<AsmInfo> asm_info(const std::string& ptx, const std::string& subject, const std::string& target,
                         const std::vector<std::string>& only = {});

std::string to_json(const AsmInfo& info);
std::string show(const AsmInfo& info);  // a page for people

}  // namespace kw::toolchain
