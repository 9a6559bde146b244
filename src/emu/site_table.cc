#include "emu/site_table.h"

#include <algorithm>

namespace kw::emu {
namespace {

uint8_t flags_of(const ptx::Instruction* instruction) {
  if (instruction == nullptr) return 0;
  const std::string_view opcode = instruction->opcode;
  uint8_t flags = 0;
  if (opcode == "atom" || opcode == "red") flags = kStrong | kUpdate;
  if (opcode == "mbarrier" && !instruction->has("init") && !instruction->has("inval")) flags = kStrong | kUpdate;
  if (opcode != "ld" && opcode != "st" && flags == 0) return 0;
  for (const std::string_view modifier : instruction->modifiers) {
    if (modifier == "volatile" || modifier == "relaxed" || modifier == "mmio") flags |= kStrong;
    if (modifier == "acquire") flags |= kStrong | kAcquire;
    if (modifier == "release") flags |= kStrong | kRelease;
    if (modifier == "acq_rel") flags |= kStrong | kAcquire | kRelease;
    if (modifier == "cta") flags |= kBlockScope;
  }
  return flags;
}

}  // namespace

const SiteTable::CodeSites* SiteTable::add(const Code& code) {
  const std::lock_guard lock(mutex_);
  for (const CodeSites& have : codes_) {
    if (have.code == &code) return &have;
  }
  CodeSites& sites = codes_.emplace_back();
  sites.code = &code;
  sites.base = next_;
  sites.flags.reserve(code.insns.size());
  for (const Insn& insn : code.insns) {
    sites.flags.push_back(insn.source < code.sources.size() ? flags_of(code.sources[insn.source].instruction) : 0);
  }
  next_ += static_cast<uint32_t>(std::min<size_t>(code.insns.size(), kMaxSites));
  return &sites;
}

const Insn* SiteTable::insn(uint32_t site, const Code** code) const {
  const std::lock_guard lock(mutex_);
  for (const CodeSites& have : codes_) {
    if (site >= have.base && site - have.base < have.code->insns.size()) {
      *code = have.code;
      return &have.code->insns[site - have.base];
    }
  }
  return nullptr;
}

Party party_at(const SiteTable& sites, const Launch& launch, uint32_t site, uint64_t linear_block, uint32_t warp,
               uint32_t lane) {
  BlockContext block;
  block.launch = &launch;
  block.linear_index = linear_block;
  block.ctaid = {static_cast<uint32_t>(linear_block % launch.grid[0]),
                 static_cast<uint32_t>(linear_block / launch.grid[0] % launch.grid[1]),
                 static_cast<uint32_t>(linear_block / launch.grid[0] / launch.grid[1])};
  Warp executing;
  executing.index = warp;
  executing.block = &block;
  const Insn* const insn = sites.insn(site, &executing.code);
  static const Insn kUnknown;
  return block.party(executing, insn != nullptr ? *insn : kUnknown, static_cast<int>(lane));
}

}  // namespace kw::emu
