#include "emu/form.h"

#include <fmt/format.h>

#include "emu/function_lowering.h"

namespace kw::emu {
namespace {

void invert(Warp& warp, const Insn& insn) {
  store_lanes(warp.pred(insn.op[0]), ~warp.pred(insn.op[1]), warp.exec);
}

}  // namespace

ptx::Type first_type(const ptx::Instruction& instruction) {
  for (std::string_view modifier : instruction.modifiers)
    if (const ptx::Type type = ptx::type_named(modifier); type != ptx::Type::kNone) return type;
  return ptx::Type::kNone;
}

ptx::Type last_type(const ptx::Instruction& instruction) {
  ptx::Type last = ptx::Type::kNone;
  for (std::string_view modifier : instruction.modifiers)
    if (const ptx::Type type = ptx::type_named(modifier); type != ptx::Type::kNone) last = type;
  return last;
}

Vreg Lowering::condition_code() {
  if (function_->condition_code == kNone) function_->condition_code = function_->add_register(0);
  return function_->condition_code;
}

Result<Vreg> use_condition(Lowering& lowering, const ptx::Operand& operand) {
  bool negated = false;
  KW_TRY(const Vreg predicate, lowering.use_predicate(operand, negated));
  if (!negated) return predicate;
  const Vreg inverse = lowering.temporary(0);
  Insn& insn = lowering.emit(&invert, &invert, Counters::kPredicate);
  insn.op[0] = inverse;
  insn.op[1] = predicate;
  insn.op_defs = 1;
  insn.op_uses = 2;
  return inverse;
}

Result<Vreg> use_source(Lowering& lowering, const ptx::Operand& operand, unsigned bytes) {
  return bytes == 0 ? use_condition(lowering, operand) : lowering.use(operand, bytes);
}

void emit_on(Lowering& lowering, const LaneOp& op, Counters::Class instruction_class, Vreg destination,
             std::initializer_list<Vreg> sources, uint64_t imm, uint32_t aux) {
  Insn& insn = lowering.emit(op.full, op.masked, instruction_class);
  insn.chain = op.chained;
  insn.op[0] = destination;
  insn.op_defs = 1;
  int n = 1;
  for (Vreg source : sources) {
    insn.op[n] = source;
    insn.op_uses = static_cast<uint8_t>(insn.op_uses | (1u << n));
    ++n;
  }
  insn.imm = imm;
  insn.aux = aux;
}

Status emit_op(Lowering& lowering, const LaneOp& op, Counters::Class instruction_class, uint64_t imm, uint32_t aux,
               bool sign_extend) {
  if (lowering.operand_count() != op.sources + 1u)
    return lowering.invalid(fmt::format("takes {} operands, not {}", op.sources + 1, lowering.operand_count()));
  Vreg sources[3] = {kNone, kNone, kNone};
  for (unsigned i = 0; i < op.sources; ++i) {
    KW_TRY(sources[i], use_source(lowering, lowering.operand(i + 1), op.source[i]));
  }
  Vreg destination = kNone;
  if (op.result == 0) {
    KW_TRY(destination, lowering.def_predicate(lowering.operand(0)));
  } else {
    KW_TRY(destination, lowering.def(lowering.operand(0), op.result, sign_extend));
  }
  switch (op.sources) {
    case 0: emit_on(lowering, op, instruction_class, destination, {}, imm, aux); break;
    case 1: emit_on(lowering, op, instruction_class, destination, {sources[0]}, imm, aux); break;
    case 2: emit_on(lowering, op, instruction_class, destination, {sources[0], sources[1]}, imm, aux); break;
    default:
      emit_on(lowering, op, instruction_class, destination, {sources[0], sources[1], sources[2]}, imm, aux);
      break;
  }
  return {};
}

Status emit_integer(Lowering& lowering, const Form& form, const LaneOp* op) {
  if (op == nullptr || !form.done()) return lowering.unsupported();
  return emit_op(lowering, *op, Counters::kInteger);
}

}  // namespace kw::emu
