// The state of the scalar interpreter: threads, memory, and one function for each family of instructions, in
// scalar_interpreter.cc (control, memory, collectives), scalar_integer.cc, scalar_float.cc and scalar_convert.cc.
#pragma once

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "oracle/scalar_interpreter.h"
#include "oracle/scalar_values.h"

namespace kw::oracle {

using ptx::Instruction;
using ptx::Operand;

struct Flat {
  std::vector<const Instruction*> code;
  std::map<uint32_t, size_t> labels;
  std::map<const ptx::Variable*, uint64_t> shared;
  uint64_t shared_bytes = 0;
};

struct Thread {
  std::vector<uint64_t> registers;
  size_t pc = 0;
  bool carry = false;
  bool done = false;
  bool waiting = false;  // at a barrier or a collective
  uint32_t index = 0;
};

struct Machine {
  const ptx::Module& module;
  const ptx::Function& function;
  Flat flat;
  std::vector<uint8_t>& buffer;
  std::vector<uint8_t> shared;
  std::vector<Thread> threads;

  tl::unexpected<Error> lacks(const Instruction& i) { return fail(ErrorCode::kUnsupported, "oracle: {}", i.full_name()); }

  uint64_t read(const Thread& t, const Operand& o, Type type) {
    switch (o.kind) {
      case Operand::Kind::kRegister: return t.registers[o.id];
      case Operand::Kind::kInteger: return o.bits;
      case Operand::Kind::kFloat32: return o.bits;
      case Operand::Kind::kFloat64:
        return type == Type::kF32 ? bit_copy<uint32_t>(static_cast<float>(bit_copy<double>(o.bits))) : o.bits;
      case Operand::Kind::kSpecial:
        if (o.name == "%tid" && o.element == 0) return t.index;
        if (o.name == "%ntid" && o.element == 0) return threads.size();
        if (o.name == "%laneid") return t.index % 32;
        return 0;
      case Operand::Kind::kVariable: return flat.shared[o.variable] + static_cast<uint64_t>(o.offset);
      default: return 0;
    }
  }
  bool truth(const Thread& t, const Operand& o) { return (t.registers[o.id] != 0) != o.negated; }
  void write(Thread& t, const Operand& o, uint64_t value, Type type) {
    if (o.kind == Operand::Kind::kRegister) t.registers[o.id] = cut(value, std::max(1u, bits(type)));
  }

  Status step(Thread& t);
  Status arithmetic(Thread& t, const Instruction& i, Type type);
  Status float_arithmetic(Thread& t, const Instruction& i, Type type);
  Status convert(Thread& t, const Instruction& i);
  Status memory(Thread& t, const Instruction& i, Type type);
  bool compare(const Instruction& i, uint64_t a, uint64_t b, Type type);
  Status collective(std::vector<Thread*>& warp);
  Status run();
};

inline int rounding_of(const Instruction& i) {
  if (i.has("rz")) return FE_TOWARDZERO;
  if (i.has("rm")) return FE_DOWNWARD;
  if (i.has("rp")) return FE_UPWARD;
  return FE_TONEAREST;
}

inline uint32_t canonical(float x) { return std::isnan(x) ? 0x7fffffffu : bit_copy<uint32_t>(x); }
inline uint64_t canonical(double x) { return std::isnan(x) ? 0x7ff8000000000000ull : bit_copy<uint64_t>(x); }

inline float flushed(float x, bool ftz) { return ftz && std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

}  // namespace kw::oracle
