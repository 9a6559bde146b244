// Numbers for the instructions of a launch ("sites"), so that shadow memory can name an instruction in 20 bits,
// and what each of them means for memory order. Internal to emu. Thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "emu/observer.h"

namespace kw::emu {

// What an instruction's qualifiers say (PTX ISA 8, memory consistency model).
enum SiteFlag : uint8_t {
  kStrong = 1,      // atomic, volatile, relaxed, acquire, release: never races with another strong access
  kAcquire = 2,
  kRelease = 4,
  kBlockScope = 8,  // .cta: orders within the block only
  kUpdate = 16,     // read-modify-write
};

inline constexpr uint32_t kMaxSites = 1u << 18;

class SiteTable {
 public:
  struct CodeSites {
    const Code* code = nullptr;
    uint32_t base = 0;               // site of insns[0]
    std::vector<uint8_t> flags;      // per instruction
  };
  // Stable for the table's life.
  const CodeSites* add(const Code& code);
  // The code and index of a site; null when there is none.
  const Insn* insn(uint32_t site, const Code** code) const;

 private:
  mutable std::mutex mutex_;
  std::deque<CodeSites> codes_;
  uint32_t next_ = 1;                // 0 is nobody's
};

// Party of an access by another block or warp than the executing one.
Party party_at(const SiteTable& sites, const Launch& launch, uint32_t site, uint64_t linear_block, uint32_t warp,
               uint32_t lane);

}  // namespace kw::emu
