// Lowering of mma.sync, mma.sp.sync and wmma.mma.sync (PTX ISA 9.7.14).
#include <fmt/format.h>

#include "emu/aligned.h"
#include "emu/lowering.h"
#include "emu/mma_plan.h"

namespace kw::emu {
namespace {

void run_mma_masked(Warp& warp, const Insn& insn) {
  if (all_lanes_here(warp, insn)) run_mma_generic(warp, insn);
}

Status lower_mma(Lowering& lowering) {
  const ptx::Instruction& instruction = lowering.instruction();
  auto form = mma_form(instruction.opcode, instruction.modifiers);
  if (!form) return lowering.unsupported();
  const size_t operands = form->sparse ? 6 : 4;
  if (lowering.operand_count() != operands)
    return lowering.invalid(fmt::format("takes {} operands, {} given", operands, lowering.operand_count()));
  if (form->sparse) {
    const ptx::Operand& selector = lowering.operand(5);
    const unsigned count = selector_count(*form);
    if (selector.kind != ptx::Operand::Kind::kInteger || selector.bits >= count)
      return lowering.invalid(fmt::format("the sparsity selector must be a constant below {}", count));
    form->selector = static_cast<uint8_t>(selector.bits);
  }
  const MmaPlan& plan = mma_plan(*form);
  std::vector<Vreg> defs, uses;
  const Part parts[4] = {Part::kD, Part::kA, Part::kB, Part::kC};
  static constexpr char kNames[] = "DABC";
  for (size_t i = 0; i < 4; ++i) {
    const FragmentSize size = plan.of(parts[i]);
    const ptx::Operand& operand = lowering.operand(i);
    const std::span<const ptx::Operand> elements = fragment_operands(operand);
    if (elements.size() != size.registers)
      return lowering.invalid(fmt::format("fragment {} takes {} registers, {} given", kNames[i], size.registers,
                                          elements.size()));
    for (const ptx::Operand& element : elements) {
      if (i == 0) {
        KW_TRY(const Vreg reg, lowering.def(element, size.register_bytes));
        defs.push_back(reg);
      } else {
        KW_TRY(const Vreg reg, lowering.use(element, size.register_bytes));
        uses.push_back(reg);
      }
    }
  }
  if (form->sparse) {
    KW_TRY(const Vreg metadata, lowering.use(lowering.operand(4), 4));
    uses.push_back(metadata);
  }
  // The fast handlers write some of D before they have read everything: D may share registers with C, place by
  // place, and with nothing else.
  bool crossed = false;
  const size_t c = plan.first(Part::kC) - defs.size();
  for (size_t i = 0; i < defs.size(); ++i)
    for (size_t j = 0; j < uses.size(); ++j) crossed |= defs[i] == uses[j] && j != c + i;
  Handler full = nullptr;
  if (!crossed) full = fast_float_mma(*form);
  if (!crossed && full == nullptr) full = fast_integer_mma(*form);
  if (full == nullptr) full = &run_mma_generic;
  Insn& insn = lowering.emit(full, &run_mma_masked, Counters::kTensor);
  insn.imm = reinterpret_cast<uint64_t>(&plan);
  lowering.set_more(insn, defs, uses);
  return {};
}

constexpr OpEntry kTable[] = {
    {"mma", nullptr, &lower_mma},
    {"wmma", [](const ptx::Instruction& instruction) { return instruction.has("mma"); }, &lower_mma},
};

}  // namespace

std::span<const OpEntry> mma_ops() { return kTable; }

}  // namespace kw::emu
