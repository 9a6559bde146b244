// Operands as virtual registers: what use(), def() and address() of lowering.h hand out, and the instructions they
// insert around the one being lowered.
#include <bit>

#include "base/check.h"
#include "emu/function_lowering.h"
#include "emu/warp.h"

namespace kw::emu {
namespace {

// The low bytes of a register, or its sign- or zero-extension.
template <typename To, typename From>
void resize(Warp& w, const Insn& insn) {
  To* to = w.reg<To>(insn.op[0]);
  const From* from = w.reg<From>(insn.op[1]);
  if (w.exec == kFull) {
    for (int i = 0; i < kLanes; ++i) to[i] = static_cast<To>(from[i]);
  } else {
    for (Mask m = w.exec; m != 0; m &= m - 1) {
      const int i = std::countr_zero(m);
      to[i] = static_cast<To>(from[i]);
    }
  }
}

struct Wide { uint64_t low = 0, high = 0; };
template <typename To, bool kSigned>
void resize_16(Warp& w, const Insn& insn) {   // to or from .b128
  for (Mask m = w.exec; m != 0; m &= m - 1) {
    const int i = std::countr_zero(m);
    if constexpr (std::is_same_v<To, Wide>) {
      Wide value;
      if (insn.imm == 8) {
        value.low = w.reg<uint64_t>(insn.op[1])[i];
      } else if (insn.imm == 4) {
        value.low = kSigned ? static_cast<uint64_t>(static_cast<int64_t>(w.reg<int32_t>(insn.op[1])[i]))
                            : w.reg<uint32_t>(insn.op[1])[i];
      } else if (insn.imm == 2) {
        value.low = kSigned ? static_cast<uint64_t>(static_cast<int64_t>(w.reg<int16_t>(insn.op[1])[i]))
                            : w.reg<uint16_t>(insn.op[1])[i];
      } else {
        value.low = kSigned ? static_cast<uint64_t>(static_cast<int64_t>(w.reg<int8_t>(insn.op[1])[i]))
                            : w.reg<uint8_t>(insn.op[1])[i];
      }
      if (kSigned && static_cast<int64_t>(value.low) < 0) value.high = ~uint64_t{0};
      w.reg<Wide>(insn.op[0])[i] = value;
    } else {
      w.reg<To>(insn.op[0])[i] = static_cast<To>(w.reg<Wide>(insn.op[1])[i].low);
    }
  }
}

Handler narrowing(unsigned to, unsigned from) {
  if (from == 16) {
    switch (to) {
      case 1: return resize_16<uint8_t, false>;
      case 2: return resize_16<uint16_t, false>;
      case 4: return resize_16<uint32_t, false>;
      default: return resize_16<uint64_t, false>;
    }
  }
  switch (to * 16 + from) {
    case 1 * 16 + 2: return resize<uint8_t, uint16_t>;
    case 1 * 16 + 4: return resize<uint8_t, uint32_t>;
    case 1 * 16 + 8: return resize<uint8_t, uint64_t>;
    case 2 * 16 + 4: return resize<uint16_t, uint32_t>;
    case 2 * 16 + 8: return resize<uint16_t, uint64_t>;
    case 4 * 16 + 8: return resize<uint32_t, uint64_t>;
    default: return nullptr;
  }
}

Handler widening(unsigned to, unsigned from, bool sign) {
  if (to == 16) return sign ? resize_16<Wide, true> : resize_16<Wide, false>;
  switch (to * 16 + from) {
    case 2 * 16 + 1: return sign ? resize<int16_t, int8_t> : resize<uint16_t, uint8_t>;
    case 4 * 16 + 1: return sign ? resize<int32_t, int8_t> : resize<uint32_t, uint8_t>;
    case 8 * 16 + 1: return sign ? resize<int64_t, int8_t> : resize<uint64_t, uint8_t>;
    case 4 * 16 + 2: return sign ? resize<int32_t, int16_t> : resize<uint32_t, uint16_t>;
    case 8 * 16 + 2: return sign ? resize<int64_t, int16_t> : resize<uint64_t, uint16_t>;
    case 8 * 16 + 4: return sign ? resize<int64_t, int32_t> : resize<uint64_t, uint32_t>;
    default: return nullptr;
  }
}

// The address of a variable of the frame (imm: its offset), or of a kernel parameter (aux = 1).
template <typename T>
void variable_address(Warp& w, const Insn& insn) {
  uint64_t value = insn.imm;
  if (insn.aux == 1) value += w.block->param_base;
  if (insn.aux == 2) value += w.local_frame;
  T* to = w.reg<T>(insn.op[0]);
  for (Mask m = w.exec; m != 0; m &= m - 1) to[std::countr_zero(m)] = static_cast<T>(value);
}

uint64_t literal_bits(const ptx::Operand& operand, unsigned bytes) {
  uint64_t bits = operand.bits;
  if (operand.kind == ptx::Operand::Kind::kFloat32 && bytes == 8) {
    bits = std::bit_cast<uint64_t>(static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits))));
  } else if (operand.kind == ptx::Operand::Kind::kFloat64 && bytes == 4) {
    bits = std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
  }
  return bytes >= 8 ? bits : bits & ((uint64_t{1} << (bytes * 8)) - 1);
}

}  // namespace

// .x to .w pick a register of a vector; .b0 to .h1 (elements 4 to 9) are the instruction's own business.
Result<Vreg> Lowering::register_of(const ptx::Operand& operand) const {
  const Vreg first = function_->first_register[operand.id];
  if (operand.element < 0 || operand.element > 3) return first;
  if (static_cast<uint32_t>(operand.element) >= function_->function.registers[operand.id].vector) {
    return invalid(fmt::format("'{}' is not a vector of {} elements", operand.name, operand.element + 1));
  }
  return first + static_cast<Vreg>(operand.element);
}

Result<Vreg> Lowering::use(const ptx::Operand& operand, unsigned bytes) {
  using Kind = ptx::Operand::Kind;
  auto unguarded = [&](Handler handler, Counters::Class c) -> Insn& {
    Insn& insn = emit(handler, handler, c);
    insn.guard = kNone;
    insn.helper = true;
    return insn;
  };
  auto narrow = [&](Vreg from, unsigned have) -> Result<Vreg> {
    if (have == bytes) return from;
    Handler handler = have > bytes ? narrowing(bytes, have) : nullptr;
    if (handler == nullptr) {
      return invalid(fmt::format("'{}' has {} bits where the form takes {}", operand.name, have * 8, bytes * 8));
    }
    const Vreg to = temporary(bytes);
    Insn& insn = unguarded(handler, Counters::kMove);
    insn.op[0] = to;
    insn.op[1] = from;
    insn.op_defs = 1;
    insn.op_uses = 2;
    insn.imm = have;
    return to;
  };
  switch (operand.kind) {
    case Kind::kRegister: {
      KW_TRY(const Vreg id, register_of(operand));
      const unsigned have = function_->registers[id].bytes;
      if (have == 0 || bytes == 0) {
        if (have == bytes && !operand.negated) return id;
        return invalid(fmt::format("'{}' is {}a predicate", operand.name, have == 0 ? "" : "not "));
      }
      return narrow(id, have);
    }
    case Kind::kInteger:
    case Kind::kFloat32:
    case Kind::kFloat64:
      return constant(literal_bits(operand, bytes), bytes);
    case Kind::kSpecial: {
      unsigned width = 4;
      const int id = special_register_id(operand.name, operand.element, width);
      if (id < 0) {
        Error error = unsupported().value();
        error.message = fmt::format("special register '{}' is not supported", operand.name);
        return fail(std::move(error));
      }
      const unsigned read_bytes = bytes == 8 ? 8 : bytes == 4 ? 4 : width;
      const Vreg to = temporary(read_bytes);
      Handler handler = read_bytes == 8 ? read_special_64 : read_special_32;
      Insn& insn = unguarded(handler, Counters::kMove);
      insn.op[0] = to;
      insn.op_defs = 1;
      insn.imm = static_cast<uint64_t>(id);
      return narrow(to, read_bytes);
    }
    case Kind::kVariable: {
      KW_CHECK(operand.variable != nullptr);
      KW_TRY(auto where, function_->locate(*operand.variable, *this));
      const uint64_t value = where.value + static_cast<uint64_t>(operand.offset);
      if (!where.frame_relative && !where.kernel_param) return constant(literal_bits({.bits = value}, bytes), bytes);
      if (bytes != 4 && bytes != 8) return invalid(fmt::format("an address does not fit {} bits", bytes * 8));
      const Vreg to = temporary(bytes);
      Handler handler = bytes == 8 ? variable_address<uint64_t> : variable_address<uint32_t>;
      Insn& insn = unguarded(handler, Counters::kMove);
      insn.op[0] = to;
      insn.op_defs = 1;
      insn.aux = where.kernel_param ? 1 : 2;
      insn.imm = value;
      // The address of a parameter of a function or a call is used through generic accesses.
      if (where.frame_relative && operand.variable->space == ptx::Space::kParam) insn.imm += kLocalWindow;
      return to;
    }
    case Kind::kFunction: {
      auto it = function_->program.function_index.find(operand.name);
      if (it == function_->program.function_index.end()) {
        return invalid(fmt::format("there is no function '{}' in the module", operand.name));
      }
      return constant(kCodeWindow + 16ull * it->second, bytes);
    }
    case Kind::kSink:
      return temporary(bytes);
    default:
      return invalid(fmt::format("operand '{}' is not a value", operand.name));
  }
}

Result<Vreg> Lowering::use_predicate(const ptx::Operand& operand, bool& negated) {
  negated = operand.negated;
  if (operand.kind == ptx::Operand::Kind::kInteger) return constant(operand.bits != 0 ? 1 : 0, 0);
  if (operand.kind == ptx::Operand::Kind::kRegister) {
    const Vreg id = function_->first_register[operand.id];
    if (function_->registers[id].bytes == 0) return id;
  }
  return invalid(fmt::format("'{}' is not a predicate", operand.name));
}

Result<Vreg> Lowering::def(const ptx::Operand& operand, unsigned bytes, bool sign_extend) {
  if (operand.kind == ptx::Operand::Kind::kSink) return temporary(bytes);
  if (operand.kind != ptx::Operand::Kind::kRegister) {
    return invalid(fmt::format("the destination '{}' is not a register", operand.name));
  }
  KW_TRY(const Vreg id, register_of(operand));
  const unsigned have = function_->registers[id].bytes;
  if (have == bytes) return id;
  Handler handler = have > bytes && bytes != 0 ? widening(have, bytes, sign_extend) : nullptr;
  if (handler == nullptr) {
    return invalid(fmt::format("'{}' has {} bits where the form gives {}", operand.name, have * 8, bytes * 8));
  }
  const Vreg from = temporary(bytes);
  Insn& insn = emit(handler, handler, Counters::kMove);
  insn.op[0] = id;
  insn.op[1] = from;
  insn.op_defs = 1;
  insn.op_uses = 2;
  insn.imm = bytes;
  insn.helper = true;
  function_->pending.push_back(insn);   // it follows the instruction that writes `from`
  function_->code.insns.pop_back();
  return from;
}

Result<Vreg> Lowering::def_predicate(const ptx::Operand& operand) {
  if (operand.kind == ptx::Operand::Kind::kSink) return temporary(0);
  if (operand.kind == ptx::Operand::Kind::kRegister) {
    const Vreg id = function_->first_register[operand.id];
    if (function_->registers[id].bytes == 0) return id;
  }
  return invalid(fmt::format("the destination '{}' is not a predicate", operand.name));
}

Result<Lowering::Address> Lowering::address(const ptx::Operand& operand, ptx::Space space) {
  using Kind = ptx::Operand::Kind;
  const ptx::Operand* base = &operand;
  int64_t offset = 0;
  if (operand.kind == Kind::kAddress) {
    if (operand.elements.empty()) return invalid("the address is empty");
    base = &operand.elements[0];
    offset = operand.offset;
  }
  offset = static_cast<int64_t>(static_cast<uint64_t>(offset) + static_cast<uint64_t>(base->offset));
  Address result;
  result.offset = offset;
  switch (base->kind) {
    case Kind::kRegister: {
      KW_TRY(result.base, register_of(*base));
      const unsigned bytes = function_->registers[result.base].bytes;
      if (bytes != 4 && bytes != 8) return invalid(fmt::format("'{}' cannot hold an address", base->name));
      result.base_is_64 = bytes == 8;
      return result;
    }
    case Kind::kInteger:
      result.offset = static_cast<int64_t>(static_cast<uint64_t>(offset) + base->bits);
      return result;
    case Kind::kVariable: {
      KW_CHECK(base->variable != nullptr);
      const ptx::Variable& variable = *base->variable;
      KW_TRY(auto where, function_->locate(variable, *this));
      if (space != ptx::Space::kNone && space != variable.space) {
        return invalid(fmt::format("'{}' is not in the state space of the instruction", base->name));
      }
      result.offset = static_cast<int64_t>(where.value + static_cast<uint64_t>(offset));
      result.in_frame = where.frame_relative;
      if (space != ptx::Space::kNone) return result;
      // A generic access to a named variable.
      if (variable.space == ptx::Space::kShared) result.offset += static_cast<int64_t>(kSharedWindow);
      if (where.frame_relative || where.kernel_param) {
        const Vreg to = temporary(8);
        Insn& insn = emit(variable_address<uint64_t>, variable_address<uint64_t>, Counters::kMove);
        insn.guard = kNone;
        insn.helper = true;
        insn.op[0] = to;
        insn.op_defs = 1;
        insn.aux = where.kernel_param ? 1 : 2;
        insn.imm = where.value + (where.frame_relative ? kLocalWindow : 0);
        result = {.base = to, .offset = offset};
      }
      return result;
    }
    default:
      return invalid(fmt::format("'{}' is not an address", base->name));
  }
}

}  // namespace kw::emu
