// Reading the form of an instruction and emitting lane operations for it. Internal to emu; used by the
// lowering functions of the ALU families.
//
// Every modifier must be taken by somebody: a lowering function takes those it implements and ends with
// `if (!form.done()) return lowering.unsupported();`, so that none is silently ignored.
#pragma once

#include <array>
#include <initializer_list>
#include <string_view>

#include "emu/lane_ops.h"
#include "emu/lowering.h"

namespace kw::emu {

class Form {
 public:
  explicit Form(const ptx::Instruction& instruction) : instruction_(instruction) {}
  // Takes the modifier if it is there and not yet taken.
  bool take(std::string_view modifier) {
    for (size_t i = 0; i < instruction_.modifiers.size() && i < kMost; ++i)
      if (!taken(i) && instruction_.modifiers[i] == modifier) {
        taken_ |= 1u << i;
        return true;
      }
    return false;
  }
  // Takes the first of `names` that is there; its index, or -1.
  int take_one_of(std::initializer_list<std::string_view> names) {
    int n = 0;
    for (std::string_view name : names) {
      if (take(name)) return n;
      ++n;
    }
    return -1;
  }
  // Takes the next modifier that names a type, in the order written; kNone when there is none.
  ptx::Type take_type() {
    for (size_t i = 0; i < instruction_.modifiers.size() && i < kMost; ++i)
      if (!taken(i)) {
        const ptx::Type type = ptx::type_named(instruction_.modifiers[i]);
        if (type != ptx::Type::kNone) {
          taken_ |= 1u << i;
          return type;
        }
      }
    return ptx::Type::kNone;
  }
  bool done() const {
    const size_t n = instruction_.modifiers.size();
    return n <= kMost && taken_ == (n == kMost ? ~0u : (1u << n) - 1u);
  }

 private:
  static constexpr size_t kMost = 32;
  bool taken(size_t i) const { return ((taken_ >> i) & 1u) != 0; }
  const ptx::Instruction& instruction_;
  uint32_t taken_ = 0;
};

// The first, or last, modifier that names a type.
ptx::Type first_type(const ptx::Instruction& instruction);
ptx::Type last_type(const ptx::Instruction& instruction);

// Emits `op` with operand 0 as the destination and the following operands as its sources; the instruction
// must have exactly that many. `sign_extend`: how a wider destination register is filled.
Status emit_op(Lowering& lowering, const LaneOp& op, Counters::Class instruction_class, uint64_t imm = 0,
               uint32_t aux = 0, bool sign_extend = false);
// emit_op() of an integer instruction whose modifiers `form` has read; unsupported when `op` is null or some are left.
Status emit_integer(Lowering& lowering, const Form& form, const LaneOp* op);
// Lowers an integer instruction whose only modifier is its type, by the operation kSelect has for the type.
template <const LaneOp* (*kSelect)(ptx::Type)>
Status lower_typed(Lowering& lowering) {
  Form form(lowering.instruction());
  const ptx::Type type = form.take_type();
  return emit_integer(lowering, form, kSelect(type));
}
// emit_op() on registers already at hand.
void emit_on(Lowering& lowering, const LaneOp& op, Counters::Class instruction_class, Vreg destination,
             std::initializer_list<Vreg> sources, uint64_t imm = 0, uint32_t aux = 0);
// A predicate source as the operand means it: a negated one is inverted into a temporary.
Result<Vreg> use_condition(Lowering& lowering, const ptx::Operand& operand);
// Operand of `bytes` per lane, or a predicate (possibly negated) for 0.
Result<Vreg> use_source(Lowering& lowering, const ptx::Operand& operand, unsigned bytes);

}  // namespace kw::emu
