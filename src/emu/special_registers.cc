// %tid, %clock and the rest (PTX ISA section 10). Clocks count executed warp instructions, from where the schedule says, so
// they repeat.
#include <array>
#include <bit>

#include "emu/block.h"
#include "emu/program.h"

namespace kw::emu {
namespace {

constexpr uint64_t kWarpPlaces = 64;

enum Special : int {
  kTidX, kTidY, kTidZ, kNtidX, kNtidY, kNtidZ, kCtaidX, kCtaidY, kCtaidZ, kNctaidX, kNctaidY, kNctaidZ, kZero, kOne,
  kLaneid, kWarpid, kNwarpid, kSmid, kNsmid, kGridid, kMaskEq, kMaskLe, kMaskLt, kMaskGe, kMaskGt,
  kClock, kClockHi, kClock64, kGlobaltimer, kGlobaltimerLo, kGlobaltimerHi,
  kTotalShared, kDynamicShared, kReservedBegin, kReservedEnd, kReservedCap, kReserved1, kEnvreg1, kEnvreg2,
};

uint64_t uniform(const Warp& w, int id) {
  const BlockContext& b = *w.block;
  const Block& block = *w.state->owner;
  switch (id) {
    case kNtidX: case kNtidY: case kNtidZ: return b.launch->block[static_cast<size_t>(id - kNtidX)];
    case kCtaidX: case kCtaidY: case kCtaidZ: return b.ctaid[static_cast<size_t>(id - kCtaidX)];
    case kNctaidX: case kNctaidY: case kNctaidZ: return b.launch->grid[static_cast<size_t>(id - kNctaidX)];
    case kOne: return 1;
    // A place on the multiprocessor, not in the block: blocks share it.
    case kWarpid: return (w.index + b.linear_index * block.plan().warps + block.plan().options->schedule_seed) % kWarpPlaces;
    case kNwarpid: return kWarpPlaces;
    case kSmid: return (b.linear_index + block.plan().options->schedule_seed) % block.plan().sms;   // only a name for where a block might run
    case kNsmid: return block.plan().sms;
    case kGridid: return 1 + block.plan().options->schedule_seed;   // launches of a context, counted
    case kClock: return block.clock() & 0xffffffffu;
    case kClock64: return block.clock();
    case kClockHi: return block.clock() >> 32;
    case kGlobaltimer: return block.clock();
    case kGlobaltimerLo: return block.clock() & 0xffffffffu;
    case kGlobaltimerHi: return block.clock() >> 32;
    case kTotalShared: return b.shared_bytes;
    case kDynamicShared: return b.launch->dynamic_shared_bytes;
    case kReservedBegin: return b.reserved_shared;
    case kReservedEnd: return b.shared_extent;
    case kReservedCap: return kReservedSharedBytes;
    case kReserved1: return b.reserved_shared + kReservedSharedBytes / 2;
    case kEnvreg1: return block.plan().grid_workspace >> 32;          // high word
    case kEnvreg2: return block.plan().grid_workspace & 0xffffffffu;  // low word
    default: return 0;
  }
}

template <typename T>
void read_special(Warp& w, const Insn& insn) {
  T* to = w.reg<T>(insn.op[0]);
  const int id = static_cast<int>(insn.imm);
  auto each = [&](auto&& value) {
    for (Mask m = w.exec; m != 0; m &= m - 1) {
      const int i = std::countr_zero(m);
      to[i] = static_cast<T>(value(static_cast<uint32_t>(i)));
    }
  };
  const std::array<uint32_t, 3>& n = w.block->launch->block;
  const uint32_t first = w.index * kLanes;
  switch (id) {
    case kTidX:
      if (n[1] == 1 && n[2] == 1) return each([&](uint32_t i) { return first + i; });
      return each([&](uint32_t i) { return (first + i) % n[0]; });
    case kTidY: return each([&](uint32_t i) { return (first + i) / n[0] % n[1]; });
    case kTidZ: return each([&](uint32_t i) { return (first + i) / n[0] / n[1]; });
    case kLaneid: return each([](uint32_t i) { return i; });
    case kMaskEq: return each([](uint32_t i) { return 1u << i; });
    case kMaskLt: return each([](uint32_t i) { return (1u << i) - 1; });
    case kMaskLe: return each([](uint32_t i) { return (2u << i) - 1; });
    case kMaskGe: return each([](uint32_t i) { return ~((1u << i) - 1); });
    case kMaskGt: return each([](uint32_t i) { return ~((2u << i) - 1); });
    default: {
      const uint64_t value = uniform(w, id);
      return each([&](uint32_t) { return value; });
    }
  }
}

}  // namespace

void read_special_32(Warp& warp, const Insn& insn) { read_special<uint32_t>(warp, insn); }
void read_special_64(Warp& warp, const Insn& insn) { read_special<uint64_t>(warp, insn); }

int special_register_id(std::string_view name, int element, unsigned& width) {
  width = 4;
  if (const size_t dot = name.find('.'); dot != name.npos) {
    if (element < 0 && dot + 2 == name.size()) element = name[dot + 1] == 'w' ? 3 : name[dot + 1] - 'x';
    name = name.substr(0, dot);
  }
  const struct { const char* name; int x; bool vector; } table[] = {
      {"%tid", kTidX, true}, {"%ntid", kNtidX, true}, {"%ctaid", kCtaidX, true}, {"%nctaid", kNctaidX, true},
      {"%laneid", kLaneid, false}, {"%warpid", kWarpid, false}, {"%nwarpid", kNwarpid, false},
      {"%smid", kSmid, false}, {"%nsmid", kNsmid, false}, {"%gridid", kGridid, false},
      {"%lanemask_eq", kMaskEq, false}, {"%lanemask_le", kMaskLe, false}, {"%lanemask_lt", kMaskLt, false},
      {"%lanemask_ge", kMaskGe, false}, {"%lanemask_gt", kMaskGt, false},
      {"%clock", kClock, false}, {"%clock_hi", kClockHi, false}, {"%clock64", kClock64, false},
      {"%globaltimer", kGlobaltimer, false}, {"%globaltimer_lo", kGlobaltimerLo, false},
      {"%globaltimer_hi", kGlobaltimerHi, false},
      {"%total_smem_size", kTotalShared, false}, {"%aggr_smem_size", kTotalShared, false},
      {"%dynamic_smem_size", kDynamicShared, false},
      {"%reserved_smem_offset_begin", kReservedBegin, false}, {"%reserved_smem_offset_end", kReservedEnd, false},
      {"%reserved_smem_offset_cap", kReservedCap, false},
      {"%reserved_smem_offset_0", kReservedBegin, false}, {"%reserved_smem_offset_1", kReserved1, false},
      {"%envreg1", kEnvreg1, false}, {"%envreg2", kEnvreg2, false},
  };
  for (const auto& row : table) {
    if (name != row.name) continue;
    if (row.x == kClock64 || row.x == kGlobaltimer || row.x == kGridid) width = 8;
    if (!row.vector) return element > 0 ? -1 : row.x;
    if (element == 3) return kZero;
    return row.x + (element < 0 ? 0 : element);
  }
  if (name.starts_with("%envreg") || name.starts_with("%pm") || name == "%current_graph_exec") {
    if (name.ends_with("_64") || name == "%current_graph_exec") width = 8;
    return kZero;
  }
  // A grid without clusters is one of clusters of a single block.
  if (name == "%clusterid") return element == 3 ? kZero : kCtaidX + (element < 0 ? 0 : element);
  if (name == "%nclusterid") return element == 3 ? kZero : kNctaidX + (element < 0 ? 0 : element);
  if (name == "%cluster_ctaid" || name == "%cluster_ctarank" || name == "%is_explicit_cluster") return kZero;
  if (name == "%cluster_nctaid" || name == "%cluster_nctarank") return kOne;
  return -1;
}

}  // namespace kw::emu
