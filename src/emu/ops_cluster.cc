// What code for sm_90 says about clusters, launches and register budgets, where a cluster is a single block: mapa and
// getctarank (PTX ISA 9.7.9.23, 9.7.9.24), griddepcontrol (9.7.13), setmaxnreg (9.7.19). Launches follow each other
// and registers are plenty here: griddepcontrol tells the observer where order begins, setmaxnreg does nothing.
#include "arch/target.h"
#include "emu/function_lowering.h"
#include "emu/memory_access.h"
#include "emu/observer.h"

namespace kw::emu {
namespace {

// Op: d, address, rank. The address of the same place in the block of that rank.
template <typename T>
void map_address(Warp& warp, const Insn& insn) {
  const T* const from = warp.reg<T>(insn.op[1]);
  const uint32_t* const rank = warp.reg<uint32_t>(insn.op[2]);
  T* const to = warp.reg<T>(insn.op[0]);
  for (Mask rest = warp.exec; rest != 0; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    if (rank[lane] != 0) {
      Finding finding;
      finding.kind = Finding::Kind::kInvalidOperand;
      finding.message = fmt::format("mapa to rank {} of a cluster of one block", rank[lane]);
      return warp.block->fault(warp, insn, lane, std::move(finding));
    }
    to[lane] = from[lane];
  }
}

void rank_zero(Warp& warp, const Insn& insn) {
  uint32_t* const to = warp.reg<uint32_t>(insn.op[0]);
  for_lanes(warp.exec, [&](int lane) { to[lane] = 0; });
}

void nothing(Warp&, const Insn&) {}

void grid_dependency(Warp& warp, const Insn& insn) {
  if (warp.block->observer != nullptr) warp.block->observer->grid_dependency(warp, insn.imm != 0);
}

bool has(const Lowering& lowering, arch::Feature feature) {
  const auto target = arch::find_target(lowering.function().program.module->target);
  return target && (*target)->has(feature);
}

// Width of the address, from the modifiers; 0: not a form of these instructions.
unsigned address_bytes(const ptx::Instruction& instruction) {
  unsigned bytes = 0;
  for (const std::string_view modifier : instruction.modifiers) {
    if (modifier == "u32") bytes = 4;
    else if (modifier == "u64") bytes = 8;
    else if (modifier != "shared::cluster") return 0;
  }
  return bytes;
}

Status lower_mapa(Lowering& lowering) {
  const unsigned bytes = address_bytes(lowering.instruction());
  if (bytes == 0 || !has(lowering, arch::Feature::kCluster)) return lowering.unsupported();
  if (lowering.operand_count() != 3) return lowering.invalid("takes a destination, an address and a rank");
  KW_TRY(const Vreg address, lowering.use(lowering.operand(1), bytes));
  KW_TRY(const Vreg rank, lowering.use(lowering.operand(2), 4));
  KW_TRY(const Vreg to, lowering.def(lowering.operand(0), bytes));
  const Handler handler = bytes == 4 ? map_address<uint32_t> : map_address<uint64_t>;
  Insn& insn = lowering.emit(handler, handler, Counters::kOther);
  insn.op[0] = to;
  insn.op[1] = address;
  insn.op[2] = rank;
  insn.op_defs = 1;
  insn.op_uses = 0b110;
  return {};
}

Status lower_rank(Lowering& lowering) {
  if (address_bytes(lowering.instruction()) == 0 || !has(lowering, arch::Feature::kCluster)) return lowering.unsupported();
  if (lowering.operand_count() != 2) return lowering.invalid("takes a destination and an address");
  KW_TRY(const Vreg to, lowering.def(lowering.operand(0), 4));
  Insn& insn = lowering.emit(rank_zero, rank_zero, Counters::kOther);
  insn.op[0] = to;
  insn.op_defs = 1;
  return {};
}

Status lower_setmaxnreg(Lowering& lowering) {
  if (!has(lowering, arch::Feature::kSetmaxnreg)) return lowering.unsupported();
  lowering.emit(nothing, nothing, Counters::kOther);
  return {};
}

Status lower_griddepcontrol(Lowering& lowering) {
  if (!has(lowering, arch::Feature::kBulkCopy)) return lowering.unsupported();
  lowering.emit(grid_dependency, grid_dependency, Counters::kOther).imm = lowering.instruction().has("wait");
  return {};
}

constexpr OpEntry kOps[] = {
    {"mapa", nullptr, lower_mapa},
    {"getctarank", nullptr, lower_rank},
    {"griddepcontrol", nullptr, lower_griddepcontrol},
    {"setmaxnreg", nullptr, lower_setmaxnreg},
};

}  // namespace

std::span<const OpEntry> cluster_ops() { return kOps; }

}  // namespace kw::emu
