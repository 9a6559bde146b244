#include "emu/slots.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace kw::emu {
namespace {

// Calls f(virtual register id by reference, defined, used) for every register operand.
template <typename F>
void for_each_register(Insn& insn, F&& f) {
  for (int i = 0; i < 4; ++i) {
    const bool defined = (insn.op_defs >> i) & 1, used = (insn.op_uses >> i) & 1;
    if ((defined || used) && insn.op[i] != kNone) f(insn.op[i], defined, used);
  }
  for (int i = 0; i < insn.more_count; ++i) {
    uint32_t& id = const_cast<uint32_t&>(insn.more[i]);   // the pool is the code's own
    if (id != kNone) f(id, i < insn.more_defs, i >= insn.more_defs);
  }
  if (insn.guard != kNone) f(insn.guard, false, true);
}

bool ends_a_value(const Insn& insn) { return insn.guard == kNone && !insn.partial_def; }

template <typename F>
void for_each_successor(const Code& code, size_t block, F&& f) {
  const BasicBlock& b = code.blocks[block];
  const Insn& last = code.insns[b.end - 1];
  bool falls_through = true;
  if (b.has_terminator) {
    switch (static_cast<Terminator>(last.aux)) {
      case Terminator::kBranch:
        f(code.block_of[last.target]);
        falls_through = last.guard != kNone;
        break;
      case Terminator::kBranchIndexed:
        for (uint32_t target : code.branch_tables[last.imm]) f(code.block_of[target]);
        falls_through = last.guard != kNone;
        break;
      case Terminator::kReturn:
      case Terminator::kExit:
        falls_through = last.guard != kNone;
        break;
      case Terminator::kCall:
      case Terminator::kBarrier:
      case Terminator::kYield:
        break;
    }
  }
  if (falls_through && block + 1 < code.blocks.size()) f(static_cast<uint32_t>(block + 1));
}

struct Range {
  uint32_t first = kNone, last = 0;
  void cover(uint32_t at) {
    first = std::min(first, at);
    last = first == at ? std::max(last, at) : std::max(last, at);
  }
  bool empty() const { return first == kNone; }
};

// Registers that carry values between blocks, and their bit sets.
struct Flow {
  std::vector<uint32_t> dense;       // per register; kNone: lives inside one block
  std::vector<uint32_t> carried;     // dense index -> register
  size_t words = 0;
  std::vector<uint64_t> live_in, live_out, uses, kills;   // blocks × words
};

void classify(Code& code, std::span<const VirtualRegister> registers, Flow& flow) {
  const size_t register_count = registers.size();
  struct Seen { uint32_t block = kNone; bool crosses = false; };
  std::vector<Seen> seen(register_count);
  for (uint32_t b = 0; b < code.blocks.size(); ++b) {
    for (uint32_t i = code.blocks[b].begin; i < code.blocks[b].end; ++i) {
      Insn& insn = code.insns[i];
      auto visit = [&](uint32_t id, bool is_kill) {
        Seen& s = seen[id];
        if (s.block == kNone) {
          s.block = b;
          if (!is_kill) s.crosses = true;   // read first: the value comes from elsewhere
        } else if (s.block != b) {
          s.crosses = true;
        }
      };
      // Reads come before writes.
      for_each_register(insn, [&](uint32_t id, bool, bool used) { if (used) visit(id, false); });
      for_each_register(insn, [&](uint32_t id, bool defined, bool) {
        if (defined) visit(id, ends_a_value(insn));
      });
    }
  }
  flow.dense.assign(register_count, kNone);
  for (uint32_t id = 0; id < register_count; ++id) {
    if (seen[id].crosses && !registers[id].constant && !registers[id].temporary) {
      flow.dense[id] = static_cast<uint32_t>(flow.carried.size());
      flow.carried.push_back(id);
    }
  }
  flow.words = (flow.carried.size() + 63) / 64;
}

void solve(Code& code, std::span<const VirtualRegister> registers, Flow& flow) {
  const size_t blocks = code.blocks.size(), words = flow.words;
  flow.live_in.assign(blocks * words, 0);
  flow.live_out = flow.uses = flow.kills = flow.live_in;
  auto test = [&](const std::vector<uint64_t>& set, size_t block, uint32_t bit) {
    return (set[block * words + bit / 64] >> (bit % 64)) & 1;
  };
  auto put = [&](std::vector<uint64_t>& set, size_t block, uint32_t bit) {
    set[block * words + bit / 64] |= uint64_t{1} << (bit % 64);
  };
  for (size_t b = 0; b < blocks; ++b) {
    for (uint32_t i = code.blocks[b].begin; i < code.blocks[b].end; ++i) {
      Insn& insn = code.insns[i];
      for_each_register(insn, [&](uint32_t id, bool, bool used) {
        const uint32_t bit = flow.dense[id];
        if (used && bit != kNone && !registers[id].constant && !test(flow.kills, b, bit)) put(flow.uses, b, bit);
      });
      if (!ends_a_value(insn)) continue;
      for_each_register(insn, [&](uint32_t id, bool defined, bool) {
        const uint32_t bit = flow.dense[id];
        if (defined && bit != kNone) put(flow.kills, b, bit);
      });
    }
  }
  std::vector<std::vector<uint32_t>> predecessors(blocks);
  for (size_t b = 0; b < blocks; ++b) {
    for_each_successor(code, b, [&](uint32_t s) { predecessors[s].push_back(static_cast<uint32_t>(b)); });
  }
  std::vector<uint32_t> work;
  std::vector<uint8_t> queued(blocks, 1);
  for (uint32_t b = 0; b < blocks; ++b) work.push_back(b);   // popped from the back: last block first
  while (!work.empty()) {
    const uint32_t b = work.back();
    work.pop_back();
    queued[b] = 0;
    uint64_t* out = flow.live_out.data() + b * words;
    for_each_successor(code, b, [&](uint32_t s) {
      const uint64_t* in = flow.live_in.data() + s * words;
      for (size_t w = 0; w < words; ++w) out[w] |= in[w];
    });
    bool changed = false;
    uint64_t* in = flow.live_in.data() + b * words;
    for (size_t w = 0; w < words; ++w) {
      const uint64_t value = flow.uses[b * words + w] | (out[w] & ~flow.kills[b * words + w]);
      if (value != in[w]) { in[w] = value; changed = true; }
    }
    if (!changed) continue;
    for (uint32_t p : predecessors[b]) {
      if (!queued[p]) { queued[p] = 1; work.push_back(p); }
    }
  }
}

int size_class(unsigned bytes) {
  switch (bytes) {
    case 0: return 0;
    case 1: return 1;
    case 2: return 2;
    case 4: return 3;
    case 8: return 4;
    default: return 5;
  }
}
constexpr std::array<uint32_t, 6> kSlotBytes = {4, 32, 64, 128, 256, 512};
// An instruction writes its temporaries for all lanes, whoever executes it. They share slots among themselves alone:
// where a register's range has ended, lanes further back may still keep it.
constexpr size_t kPools = 2 * kSlotBytes.size();
size_t pool_of(const VirtualRegister& r) { return static_cast<size_t>(size_class(r.bytes)) + (r.temporary ? kSlotBytes.size() : 0); }
constexpr uint32_t slot_bytes(size_t pool) { return kSlotBytes[pool % kSlotBytes.size()]; }

// May its result depend on how far other threads have come?
bool polls(const Code& code, const Insn& insn) {
  if (insn.source >= code.sources.size() || code.sources[insn.source].instruction == nullptr) return false;
  const ptx::Instruction& i = *code.sources[insn.source].instruction;
  if (i.opcode == "ld") return i.has("volatile") || i.has("acquire") || i.has("relaxed");
  return i.opcode == "atom" || (i.opcode == "mbarrier" && (i.has("test_wait") || i.has("try_wait")));
}

uint32_t align_up(uint32_t value, uint32_t align) { return (value + align - 1) / align * align; }

}  // namespace

void find_basic_blocks(Code& code, std::span<const uint32_t> entries) {
  const uint32_t count = static_cast<uint32_t>(code.insns.size());
  std::vector<uint8_t> leader(count + 1, 0);
  leader[0] = 1;
  for (uint32_t entry : entries) leader[entry] = 1;
  for (uint32_t i = 0; i < count; ++i) {
    if (code.insns[i].ends_block) leader[i + 1] = 1;
  }
  code.blocks.clear();
  code.block_of.assign(count, 0);
  for (uint32_t i = 0; i < count; ++i) {
    if (leader[i]) code.blocks.push_back({i, i, false, false});
    code.blocks.back().end = i + 1;
    code.blocks.back().has_terminator = code.insns[i].ends_block;
    code.blocks.back().polls = code.blocks.back().polls || polls(code, code.insns[i]);
    code.block_of[i] = static_cast<uint32_t>(code.blocks.size() - 1);
  }
}

std::vector<uint32_t> assign_slots(Code& code, std::span<const VirtualRegister> registers) {
  Flow flow;
  classify(code, registers, flow);
  solve(code, registers, flow);

  std::vector<Range> ranges(registers.size());
  for (uint32_t i = 0; i < code.insns.size(); ++i) {
    for_each_register(code.insns[i], [&](uint32_t id, bool, bool) { ranges[id].cover(i); });
  }
  const size_t words = flow.words;
  for (size_t b = 0; b < code.blocks.size(); ++b) {
    for (size_t w = 0; w < words; ++w) {
      for (uint64_t bits = flow.live_in[b * words + w]; bits != 0; bits &= bits - 1) {
        ranges[flow.carried[w * 64 + static_cast<size_t>(__builtin_ctzll(bits))]].cover(code.blocks[b].begin);
      }
      for (uint64_t bits = flow.live_out[b * words + w]; bits != 0; bits &= bits - 1) {
        ranges[flow.carried[w * 64 + static_cast<size_t>(__builtin_ctzll(bits))]].cover(code.blocks[b].end - 1);
      }
    }
  }
  for (uint32_t id = 0; id < registers.size(); ++id) {
    if (registers[id].pinned) {
      ranges[id].cover(0);
      ranges[id].cover(static_cast<uint32_t>(code.insns.size()) - 1);
    }
  }

  // Linear scan: registers by the start of their range; a slot is free again after the range's end.
  std::vector<uint32_t> order;
  for (uint32_t id = 0; id < registers.size(); ++id) {
    if (!registers[id].constant && !ranges[id].empty()) order.push_back(id);
  }
  std::vector<uint32_t> ends = order;
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return ranges[a].first < ranges[b].first; });
  std::stable_sort(ends.begin(), ends.end(), [&](uint32_t a, uint32_t b) { return ranges[a].last < ranges[b].last; });
  std::array<std::vector<uint32_t>, kPools> free_slots;
  std::array<uint32_t, kPools> used{};
  std::vector<uint32_t> index(registers.size(), kNone);
  size_t expired = 0;
  for (uint32_t id : order) {
    while (expired < ends.size() && ranges[ends[expired]].last < ranges[id].first) {
      const uint32_t gone = ends[expired++];
      free_slots[pool_of(registers[gone])].push_back(index[gone]);
    }
    auto& free = free_slots[pool_of(registers[id])];
    if (free.empty()) {
      index[id] = used[pool_of(registers[id])]++;
    } else {
      index[id] = free.back();
      free.pop_back();
    }
  }

  std::array<uint32_t, kPools> base{};
  uint32_t next = 0;
  for (size_t pool = 0; pool < kPools; ++pool) {
    base[pool] = next;
    next = align_up(next + used[pool] * slot_bytes(pool), 64);
  }
  std::vector<uint32_t> slot(registers.size(), kNone);
  for (uint32_t id : order) {
    const size_t pool = pool_of(registers[id]);
    slot[id] = base[pool] + index[id] * slot_bytes(pool);
  }
  code.constant_begin = next;
  code.constants.clear();
  for (int c = 5; c >= 0; --c) {
    for (uint32_t id = 0; id < registers.size(); ++id) {
      const VirtualRegister& r = registers[id];
      if (!r.constant || ranges[id].empty() || size_class(r.bytes) != c) continue;
      slot[id] = next;
      code.constants.push_back({next, r.bytes, r.bits});
      next += kSlotBytes[c];
    }
  }
  code.bank_bytes = align_up(next, 64);

  code.cleared.clear();
  if (!code.blocks.empty()) {
    for (size_t w = 0; w < words; ++w) {
      for (uint64_t bits = flow.live_in[w]; bits != 0; bits &= bits - 1) {
        const uint32_t id = flow.carried[w * 64 + static_cast<size_t>(__builtin_ctzll(bits))];
        if (registers[id].constant || registers[id].pinned) continue;
        code.cleared.push_back({slot[id], kSlotBytes[size_class(registers[id].bytes)]});
      }
    }
  }
  for (Insn& insn : code.insns) {
    for_each_register(insn, [&](uint32_t& id, bool, bool) {
      KW_CHECK(slot[id] != kNone);
      id = slot[id];
    });
  }
  return slot;
}

}  // namespace kw::emu
