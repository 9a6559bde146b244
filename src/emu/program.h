// A loaded module as the lowering and the launcher see it. Internal to emu.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "emu/emulator.h"
#include "emu/insn.h"

namespace kw::emu {

struct ProgramImage {
  std::shared_ptr<const ptx::Module> module;
  Memory* memory = nullptr;
  std::vector<const ptx::Function*> functions;   // one per name, the definition where there is one
  std::unordered_map<std::string_view, uint32_t> function_index;
  std::unordered_map<std::string_view, uint64_t> address_of;       // .global and .const variables
  std::vector<uint32_t> address_taken;           // functions that may be called indirectly
};

// Where the .shared variables that a kernel can reach lie.
struct SharedLayout {
  std::unordered_map<const ptx::Variable*, uint32_t> offset;
  uint32_t static_bytes = 0;   // also where dynamic shared memory begins
  uint32_t align = 16;
  bool reserved = false;       // the kernel asks where the system's own shared memory lies
};

// Shared memory that CUDA keeps for itself in each block (%reserved_smem_offset_*, PTX ISA section 10). Cooperative
// groups of several warps meet in the upper half of it. Here it lies above the kernel's own memory, with a
// gap between them, so that running past the end of the latter is still seen.
constexpr uint32_t kReservedSharedBytes = 1024;
inline uint32_t reserved_shared_begin(uint32_t shared_bytes) { return (shared_bytes + 2047) / 1024 * 1024; }

struct ParamLayout {
  std::unordered_map<const ptx::Variable*, uint32_t> offset;
  uint32_t bytes = 0;
};
ParamLayout layout_params(std::span<const ptx::Variable* const> params);

// A kernel with everything it can call, lowered.
struct KernelImage {
  const ptx::Function* function = nullptr;
  SharedLayout shared;
  ParamLayout params;
  std::unordered_map<uint32_t, std::unique_ptr<Code>> codes;   // by function index
  Code* entry = nullptr;
  bool order_sensitive = false;
  bool has_indirect_calls = false;
  uint32_t max_bank_bytes = 0;
  uint32_t stack_bytes = 0;      // local memory per thread: the entry's frame and its deepest chain of calls
  KernelInfo info;
};

Result<std::unique_ptr<Code>> lower_function(const ProgramImage& program, const SharedLayout& shared,
                                             uint32_t function_index, bool observed);

struct Program::Impl {
  ProgramImage image;
  struct Global { const ptx::Variable* variable; uint64_t address; };
  std::vector<Global> globals;
  std::mutex mutex;                                            // guards `kernels`
  std::map<std::pair<std::string, bool>, std::unique_ptr<KernelImage>> kernels;   // (name, observed)
  Result<const KernelImage*> kernel(std::string_view name, bool observed);
};

// "%tid" and the like. `width`: natural bytes per lane (4 or 8). Negative: no such register.
int special_register_id(std::string_view name, int element, unsigned& width);
void read_special_32(Warp& warp, const Insn& insn);   // imm = id, op[0] = destination
void read_special_64(Warp& warp, const Insn& insn);

}  // namespace kw::emu
