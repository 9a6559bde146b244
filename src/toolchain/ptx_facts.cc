#include "toolchain/ptx_facts.h"

#include <algorithm>
#include <tuple>

namespace kw::toolchain {
namespace {

std::string space_of(const ptx::Instruction& instruction) {
  for (std::string_view modifier : instruction.modifiers) {
    for (std::string_view space : {"global", "shared", "local", "const", "param"}) {
      if (modifier == space || (modifier.size() > space.size() && modifier.substr(0, space.size()) == space &&
                                modifier[space.size()] == ':')) {
        return std::string(space);
      }
    }
  }
  return "generic";
}

// The type is the last modifier that names one; vectors multiply it.
uint32_t width_of(const ptx::Instruction& instruction) {
  uint32_t bits = 0, lanes = 1;
  for (std::string_view modifier : instruction.modifiers) {
    if (modifier == "v2") lanes = 2;
    if (modifier == "v4") lanes = 4;
    if (modifier == "v8") lanes = 8;
    const ptx::Type type = ptx::type_named(modifier);
    if (type != ptx::Type::kNone) bits = ptx::size_bits(type);
  }
  return bits * lanes / 8;
}

uint32_t copy_bytes(const ptx::Instruction& instruction) {
  // cp.async [dst], [src], size {, src-size}
  if (instruction.operands.size() < 3) return 0;
  return static_cast<uint32_t>(instruction.operands[2].bits);
}

uint32_t matrix_bytes(const ptx::Instruction& instruction) {
  // Four bytes a lane for each 8×8 matrix of 16-bit elements.
  if (instruction.has("x4")) return 16;
  if (instruction.has("x2")) return 8;
  return 4;
}

void count(const ptx::Instruction& instruction, PtxFacts& facts) {
  ++facts.instructions;
  const std::string opcode(instruction.opcode);
  ++facts.mix[opcode];
  if (opcode == "bar" || opcode == "barrier") ++facts.barriers;
  if (opcode == "mma" || opcode == "wgmma" || opcode == "tcgen05" || (opcode == "wmma" && instruction.has("mma"))) {
    ++facts.tensor[instruction.full_name()];
  }
  if (opcode == "ld" || opcode == "st" || opcode == "ldu" || opcode == "atom" || opcode == "red") {
    facts.accesses.push_back({opcode, space_of(instruction), width_of(instruction), 1});
  } else if (opcode == "cp" && instruction.has("async") && instruction.operands.size() >= 3) {
    facts.accesses.push_back({"cp.async", "global", copy_bytes(instruction), 1});
  } else if (opcode == "ldmatrix" || opcode == "stmatrix") {
    facts.accesses.push_back({opcode, "shared", matrix_bytes(instruction), 1});
  }
}

void walk(const ptx::Block& block, PtxFacts& facts) {
  for (const ptx::Statement& statement : block.statements) {
    if (const auto* instruction = std::get_if<ptx::Instruction>(&statement)) {
      count(*instruction, facts);
    } else if (const auto* variable = std::get_if<const ptx::Variable*>(&statement)) {
      if ((*variable)->space == ptx::Space::kShared) facts.static_shared_bytes += (*variable)->size_bytes();
      if ((*variable)->space == ptx::Space::kLocal) facts.local_bytes += (*variable)->size_bytes();
    } else if (const auto* inner = std::get_if<ptx::BlockPtr>(&statement)) {
      walk(**inner, facts);
    }
  }
}

}  // namespace

std::vector<MemoryAccess> joined(std::vector<MemoryAccess> accesses) {
  const auto key = [](const MemoryAccess& a) { return std::tie(a.operation, a.space, a.bytes); };
  std::sort(accesses.begin(), accesses.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  std::vector<MemoryAccess> out;
  for (const MemoryAccess& access : accesses) {
    if (!out.empty() && key(out.back()) == key(access)) {
      out.back().count += access.count;
    } else {
      out.push_back(access);
    }
  }
  return out;
}

std::vector<PtxFacts> ptx_facts(const ptx::Module& module) {
  uint64_t module_shared = 0;
  for (const ptx::Variable& variable : module.variables) {
    if (variable.space == ptx::Space::kShared && !variable.is_extern) module_shared += variable.size_bytes();
  }
  std::vector<PtxFacts> out;
  for (const ptx::Function& function : module.functions) {
    if (!function.is_entry || !function.has_body) continue;
    PtxFacts facts;
    facts.kernel = std::string(function.name);
    facts.static_shared_bytes = module_shared;
    facts.virtual_registers = function.registers.size();
    for (const auto& limit : function.limits) {
      if (limit.name != "maxntid" && limit.name != "reqntid") continue;
      uint64_t threads = 1;
      for (uint64_t extent : limit.values) threads *= std::min<uint64_t>(extent, 4096);
      facts.max_threads = static_cast<uint32_t>(std::min<uint64_t>(threads, 4096));
    }
    walk(function.body, facts);
    facts.accesses = joined(std::move(facts.accesses));
    out.push_back(std::move(facts));
  }
  return out;
}

}  // namespace kw::toolchain
