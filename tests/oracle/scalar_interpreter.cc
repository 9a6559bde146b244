#include "oracle/scalar_interpreter.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "oracle/scalar_values.h"

namespace kw::oracle {
namespace {

using ptx::Instruction;
using ptx::Operand;

constexpr uint64_t kMaxSteps = 2'000'000;

struct Flat {
  std::vector<const Instruction*> code;
  std::map<uint32_t, size_t> labels;
  std::map<const ptx::Variable*, uint64_t> shared;
  uint64_t shared_bytes = 0;
};

void flatten(const ptx::Block& block, Flat& flat) {
  for (const auto& statement : block.statements) {
    if (const auto* instruction = std::get_if<Instruction>(&statement)) {
      flat.code.push_back(instruction);
    } else if (const auto* label = std::get_if<ptx::LabelDefinition>(&statement)) {
      flat.labels[label->id] = flat.code.size();
    } else if (const auto* variable = std::get_if<const ptx::Variable*>(&statement)) {
      const uint64_t align = (*variable)->align_bytes();
      flat.shared_bytes = (flat.shared_bytes + align - 1) / align * align;
      flat.shared[*variable] = flat.shared_bytes;
      flat.shared_bytes += (*variable)->size_bytes();
    } else if (const auto* inner = std::get_if<ptx::BlockPtr>(&statement)) {
      flatten(**inner, flat);
    }
  }
}

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

Type last_type(const Instruction& i) {
  for (size_t k = i.modifiers.size(); k-- > 0;) {
    const Type type = ptx::type_named(i.modifiers[k]);
    if (type != Type::kNone) return type;
  }
  return Type::kNone;
}

int rounding_of(const Instruction& i) {
  if (i.has("rz")) return FE_TOWARDZERO;
  if (i.has("rm")) return FE_DOWNWARD;
  if (i.has("rp")) return FE_UPWARD;
  return FE_TONEAREST;
}

uint32_t canonical(float x) { return std::isnan(x) ? 0x7fffffffu : bit_copy<uint32_t>(x); }
uint64_t canonical(double x) { return std::isnan(x) ? 0x7ff8000000000000ull : bit_copy<uint64_t>(x); }

float flushed(float x, bool ftz) { return ftz && std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

// minNum/maxNum of IEEE 754-2008 with -0 < +0.
template <typename T>
T least(T a, T b, bool want_max) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) != want_max ? a : b;
  return (a < b) != want_max ? a : b;
}

Status Machine::float_arithmetic(Thread& t, const Instruction& i, Type type) {
  const std::string_view op = i.opcode;
  uint64_t v[3] = {};
  for (size_t k = 1; k < i.operands.size() && k < 4; ++k) v[k - 1] = read(t, i.operands[k], type);
  if (type == Type::kF16) {
    const Real a = real_of_half(static_cast<uint16_t>(v[0])), b = real_of_half(static_cast<uint16_t>(v[1])),
               c = real_of_half(static_cast<uint16_t>(v[2]));
    Real out = 0;
    if (op == "add") out = a + b;
    else if (op == "sub") out = a - b;
    else if (op == "mul") out = a * b;
    else if (op == "fma") out = a * b + c;
    else if (op == "neg") { write(t, i.operands[0], v[0] ^ 0x8000, type); return {}; }
    else if (op == "abs") { write(t, i.operands[0], v[0] & 0x7fff, type); return {}; }
    else return lacks(i);
    write(t, i.operands[0], half_of_real(out), type);
    return {};
  }
  const RoundingScope scope(rounding_of(i));
  if (type == Type::kF32) {
    const bool ftz = i.has("ftz");
    volatile float a = flushed(bit_copy<float>(static_cast<uint32_t>(v[0])), ftz);
    volatile float b = flushed(bit_copy<float>(static_cast<uint32_t>(v[1])), ftz);
    volatile float c = flushed(bit_copy<float>(static_cast<uint32_t>(v[2])), ftz);
    volatile float out = 0;
    if (op == "add") out = a + b;
    else if (op == "sub") out = a - b;
    else if (op == "mul") out = a * b;
    else if (op == "fma") out = std::fma(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c));
    else if (op == "div") out = a / b;
    else if (op == "rcp") out = 1.0f / a;
    else if (op == "sqrt") out = std::sqrt(static_cast<float>(a));
    else if (op == "min" || op == "max") out = least<float>(a, b, op == "max");
    else if (op == "neg") out = -a;
    else if (op == "abs") out = std::fabs(static_cast<float>(a));
    else return lacks(i);
    float result = flushed(out, ftz);
    if (i.has("sat")) result = std::isnan(result) ? 0.0f : result > 1.0f ? 1.0f : result > 0.0f ? result : 0.0f;
    write(t, i.operands[0], canonical(result), type);
    return {};
  }
  volatile double a = bit_copy<double>(v[0]), b = bit_copy<double>(v[1]), c = bit_copy<double>(v[2]);
  volatile double out = 0;
  if (op == "add") out = a + b;
  else if (op == "sub") out = a - b;
  else if (op == "mul") out = a * b;
  else if (op == "fma") out = std::fma(static_cast<double>(a), static_cast<double>(b), static_cast<double>(c));
  else if (op == "div") out = a / b;
  else if (op == "rcp") out = 1.0 / a;
  else if (op == "sqrt") out = std::sqrt(static_cast<double>(a));
  else if (op == "min" || op == "max") out = least<double>(a, b, op == "max");
  else if (op == "neg") out = -a;
  else if (op == "abs") out = std::fabs(static_cast<double>(a));
  else return lacks(i);
  write(t, i.operands[0], canonical(static_cast<double>(out)), type);
  return {};
}

Status Machine::arithmetic(Thread& t, const Instruction& i, Type type) {
  const std::string_view op = i.opcode;
  const unsigned width = bits(type);
  uint64_t raw[4] = {};
  for (size_t k = 1; k < i.operands.size() && k < 5; ++k) raw[k - 1] = read(t, i.operands[k], type);
  const Wide a = integer(raw[0], type), b = integer(raw[1], type), c = integer(raw[2], type);
  const Operand& d = i.operands[0];
  auto put = [&](Wide value) { write(t, d, cut(static_cast<uint64_t>(value), width), type); return Status{}; };
  const bool carry_out = i.has("cc");

  if (op == "add" || op == "addc") {
    if (i.has("sat")) {
      return put(std::clamp<Wide>(a + b, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
    }
    const Wide sum = Wide(static_cast<unsigned __int128>(cut(raw[0], width)) + cut(raw[1], width)) + (op == "addc" && t.carry ? 1 : 0);
    if (carry_out) t.carry = (sum >> width) != 0;
    return put(sum);
  }
  if (op == "sub" || op == "subc") {
    if (i.has("sat")) {
      return put(std::clamp<Wide>(a - b, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
    }
    const Wide difference = Wide(cut(raw[0], width)) - Wide(cut(raw[1], width)) - (op == "subc" && t.carry ? 1 : 0);
    if (carry_out) t.carry = difference < 0;
    return put(difference);
  }
  if (op == "mul" || op == "mad") {
    // Modulo 2^128, which holds any product; the shift must be arithmetic for signed types only.
    using Word = unsigned __int128;
    const Word product = static_cast<Word>(a) * static_cast<Word>(b);
    if (i.has("wide")) {
      const uint64_t addend = op == "mad" ? raw[2] : 0;
      if (d.kind == Operand::Kind::kRegister) t.registers[d.id] = cut(static_cast<uint64_t>(product) + addend, 2 * width);
      return {};
    }
    Word part = product;
    if (i.has("hi")) part = is_signed(type) ? static_cast<Word>(static_cast<Wide>(product) >> width) : product >> width;
    if (op == "mad") part += static_cast<Word>(c);
    return put(static_cast<Wide>(part));
  }
  if (op == "sad") return put((a > b ? a - b : b - a) + c);
  if (op == "div") return put(b == 0 ? Wide(-1) : a / b);
  if (op == "rem") return put(b == 0 ? Wide(-1) : a % b);
  if (op == "abs") return put(a < 0 ? -a : a);
  if (op == "neg") return put(-a);
  if (op == "min") return put(a < b ? a : b);
  if (op == "max") return put(a > b ? a : b);
  if (op == "and") return put(raw[0] & raw[1]);
  if (op == "or") return put(raw[0] | raw[1]);
  if (op == "xor") return put(raw[0] ^ raw[1]);
  if (op == "not") return put(~raw[0]);
  if (op == "cnot") return put(cut(raw[0], width) == 0 ? 1 : 0);
  if (op == "lop3") {
    uint64_t out = 0;
    for (unsigned k = 0; k < 32; ++k) {
      const unsigned row = ((raw[0] >> k) & 1) * 4 + ((raw[1] >> k) & 1) * 2 + ((raw[2] >> k) & 1);
      out |= ((raw[3] >> row) & 1) << k;
    }
    return put(out);
  }
  if (op == "shl" || op == "shr") {
    const uint64_t amount = std::min<uint64_t>(cut(raw[1], 32), width);
    if (op == "shl") return put(amount >= width ? 0 : raw[0] << amount);
    if (is_signed(type)) return put(a >> amount);
    return put(amount >= width ? 0 : cut(raw[0], width) >> amount);
  }
  if (op == "shf") {
    const uint64_t amount = i.has("clamp") ? std::min<uint64_t>(cut(raw[2], 32), 32) : raw[2] & 31;
    const uint64_t pair = (cut(raw[1], 32) << 32) | cut(raw[0], 32);
    if (i.has("l")) return put(amount == 0 ? raw[1] : pair >> (32 - amount));
    return put(amount == 32 ? raw[1] : pair >> amount);
  }
  if (op == "popc" || op == "clz" || op == "brev") {
    uint64_t count = 0, reversed = 0;
    bool leading = true;
    uint64_t zeros = 0;
    for (unsigned k = width; k-- > 0;) {
      const uint64_t bit = (raw[0] >> k) & 1;
      count += bit;
      if (bit != 0) leading = false;
      if (leading) ++zeros;
      reversed |= bit << (width - 1 - k);
    }
    const uint64_t out = op == "popc" ? count : op == "clz" ? zeros : reversed;
    if (d.kind == Operand::Kind::kRegister) t.registers[d.id] = op == "brev" ? cut(out, width) : out;
    return {};
  }
  if (op == "bfind") {
    const uint64_t looked = is_signed(type) && a < 0 ? cut(~raw[0], width) : cut(raw[0], width);
    uint32_t at = 0xffffffffu;
    for (unsigned k = 0; k < width; ++k) {
      if ((looked >> k) & 1) at = k;
    }
    if (i.has("shiftamt") && at != 0xffffffffu) at = width - 1 - at;
    if (d.kind == Operand::Kind::kRegister) t.registers[d.id] = at;
    return {};
  }
  if (op == "bfe") {
    const unsigned position = raw[1] & 0xff, length = raw[2] & 0xff;
    const unsigned sign_at = std::min(position + length - 1, width - 1);
    const uint64_t fill = !is_signed(type) || length == 0 ? 0 : (cut(raw[0], width) >> sign_at) & 1;
    uint64_t out = 0;
    for (unsigned k = 0; k < width; ++k) {
      const uint64_t bit = k < length && position + k < width ? (cut(raw[0], width) >> (position + k)) & 1 : fill;
      out |= bit << k;
    }
    return put(out);
  }
  if (op == "bfi") {
    const unsigned position = raw[2] & 0xff, length = raw[3] & 0xff;
    uint64_t out = raw[1];
    for (unsigned k = 0; k < length && position + k < width; ++k) {
      out &= ~(uint64_t{1} << (position + k));
      out |= ((raw[0] >> k) & 1) << (position + k);
    }
    return put(out);
  }
  if (op == "prmt") {
    const uint64_t pair = (cut(raw[1], 32) << 32) | cut(raw[0], 32);
    uint64_t out = 0;
    for (unsigned k = 0; k < 4; ++k) {
      const unsigned selector = (raw[2] >> (4 * k)) & 0xf;
      uint64_t byte = (pair >> (8 * (selector & 7))) & 0xff;
      if (selector & 8) byte = byte & 0x80 ? 0xff : 0;
      out |= byte << (8 * k);
    }
    return put(out);
  }
  return lacks(i);
}

bool Machine::compare(const Instruction& i, uint64_t x, uint64_t y, Type type) {
  const std::string_view op = i.modifiers.front();
  int order;  // -1, 0, 1; 2 unordered
  if (is_float(type)) {
    const bool ftz = i.has("ftz");
    double a = double_of(x, type), b = double_of(y, type);
    if (type == Type::kF32) a = flushed(static_cast<float>(a), ftz), b = flushed(static_cast<float>(b), ftz);
    order = a < b ? -1 : a > b ? 1 : a == b ? 0 : 2;
  } else {
    const Wide a = integer(x, type), b = integer(y, type);
    order = a < b ? -1 : a > b ? 1 : 0;
  }
  if (op == "num") return order != 2;
  if (op == "nan") return order == 2;
  if (order == 2) return op == "equ" || op == "neu" || op == "ltu" || op == "leu" || op == "gtu" || op == "geu";
  const std::string_view kind = op.substr(0, 2);
  if (kind == "eq") return order == 0;
  if (kind == "ne") return order != 0;
  if (kind == "lt" || kind == "lo") return order < 0;
  if (kind == "le" || kind == "ls") return order <= 0;
  if (kind == "gt" || kind == "hi") return order > 0;
  return order >= 0;  // ge, hs
}

Status Machine::convert(Thread& t, const Instruction& i) {
  std::vector<Type> types;
  for (std::string_view m : i.modifiers) {
    const Type type = ptx::type_named(m);
    if (type != Type::kNone) types.push_back(type);
  }
  if (types.size() != 2) return lacks(i);
  const Type to = types[0], from = types[1];
  const uint64_t raw = cut(read(t, i.operands[1], from), bits(from));
  const Operand& d = i.operands[0];
  // A destination register wider than the type takes the sign- or zero-extended value.
  auto put = [&](uint64_t value) {
    if (d.kind != Operand::Kind::kRegister) return Status{};
    const unsigned held = bits(function.registers[d.id].type);
    t.registers[d.id] = is_signed(to) ? cut(static_cast<uint64_t>(sign_extended(value, bits(to))), held) : cut(value, bits(to));
    return Status{};
  };
  if (!is_float(to) && !is_float(from)) {
    Wide value = integer(raw, from);
    if (i.has("sat")) {
      const Wide low = is_signed(to) ? -(Wide{1} << (bits(to) - 1)) : 0;
      const Wide high = is_signed(to) ? (Wide{1} << (bits(to) - 1)) - 1 : (Wide{1} << bits(to)) - 1;
      value = std::clamp(value, low, high);
    }
    return put(cut(static_cast<uint64_t>(value), bits(to)));
  }
  if (is_float(from) && !is_float(to)) {
    double value = double_of(raw, from);
    if (from == Type::kF32 && i.has("ftz")) value = flushed(static_cast<float>(value), true);
    if (std::isnan(value)) {
      if (from != Type::kF64 && bits(to) < 64) return put(0);
      return put(uint64_t{1} << (bits(to) - 1));
    }
    const double whole = i.has("rni") ? std::nearbyint(value) : i.has("rzi") ? std::trunc(value) : i.has("rmi") ? std::floor(value) : std::ceil(value);
    const double low = is_signed(to) ? -std::ldexp(1.0, static_cast<int>(bits(to)) - 1) : 0.0;
    const double high = std::ldexp(1.0, static_cast<int>(bits(to)) - (is_signed(to) ? 1 : 0));
    if (whole < low) return put(is_signed(to) ? uint64_t{1} << (bits(to) - 1) : 0);
    if (whole >= high) return put(cut(is_signed(to) ? (uint64_t{1} << (bits(to) - 1)) - 1 : ~uint64_t{0}, bits(to)));
    return put(cut(is_signed(to) ? static_cast<uint64_t>(static_cast<int64_t>(whole)) : static_cast<uint64_t>(whole), bits(to)));
  }
  if (!is_float(from)) {
    const Wide value = integer(raw, from);
    const RoundingScope scope(rounding_of(i));
    if (to == Type::kF64) {
      volatile double out = is_signed(from) ? static_cast<double>(static_cast<int64_t>(value)) : static_cast<double>(static_cast<uint64_t>(value));
      return put(bit_copy<uint64_t>(static_cast<double>(out)));
    }
    if (to == Type::kF32) {
      volatile float out = is_signed(from) ? static_cast<float>(static_cast<int64_t>(value)) : static_cast<float>(static_cast<uint64_t>(value));
      return put(bit_copy<uint32_t>(static_cast<float>(out)));
    }
    return put(half_of_real(static_cast<Real>(value)));
  }
  const double value = double_of(raw, from);
  if (to == Type::kF64) return put(canonical(value));
  if (to == Type::kF16) return put(half_of_real(static_cast<Real>(value)));
  if (from == Type::kF32) return lacks(i);
  const RoundingScope scope(rounding_of(i));
  volatile double in = value;
  volatile float out = static_cast<float>(in);
  return put(canonical(static_cast<float>(out)));
}

Status Machine::memory(Thread& t, const Instruction& i, Type type) {
  const bool store = i.opcode == "st";
  const Operand& place = i.operands[store ? 0 : 1];
  const unsigned bytes = bits(type) / 8;
  if (i.has("param")) {
    if (!store) write(t, i.operands[0], kBufferAddress, type);
    return {};
  }
  const Operand& base = place.elements.front();
  uint64_t address = read(t, base, Type::kU64) + static_cast<uint64_t>(place.offset);
  std::vector<uint8_t>& space = i.has("shared") ? shared : buffer;
  if (i.has("shared")) address = cut(address, 32);
  else address -= kBufferAddress;
  const Operand& value = i.operands[store ? 1 : 0];
  std::vector<Operand> one{value};
  const std::vector<Operand>& parts = value.kind == Operand::Kind::kVector ? value.elements : one;
  for (const Operand& part : parts) {
    if (address > space.size() || space.size() - address < bytes) return fail(ErrorCode::kInvalid, "oracle: out of bounds: {}", i.full_name());
    uint64_t raw = 0;
    if (store) {
      raw = read(t, part, type);
      std::memcpy(space.data() + address, &raw, bytes);
    } else {
      std::memcpy(&raw, space.data() + address, bytes);
      const unsigned held = bits(function.registers[part.id].type);
      t.registers[part.id] = is_signed(type) ? cut(static_cast<uint64_t>(sign_extended(raw, bits(type))), held) : raw;
    }
    address += bytes;
  }
  return {};
}

Status Machine::step(Thread& t) {
  const Instruction& i = *flat.code[t.pc];
  if (i.guard.present && ((t.registers[i.guard.register_id] != 0) == i.guard.negated)) {
    ++t.pc;
    return {};
  }
  const std::string_view op = i.opcode;
  if (op == "ret" || op == "exit") {
    t.done = true;
    return {};
  }
  if (op == "bar" || op == "shfl" || op == "vote") {
    t.waiting = true;
    return {};
  }
  if (op == "bra") {
    t.pc = flat.labels.at(i.operands[0].id);
    return {};
  }
  ++t.pc;
  const Type type = last_type(i);
  if (op == "ld" || op == "st") return memory(t, i, type);
  if (op == "cvt") return convert(t, i);
  if (op == "mov" && i.operands[1].kind != Operand::Kind::kVector && i.operands[0].kind != Operand::Kind::kVector) {
    write(t, i.operands[0], read(t, i.operands[1], type), type);
    return {};
  }
  if (op == "mov") {
    uint64_t whole = 0;
    const bool pack = i.operands[1].kind == Operand::Kind::kVector;
    const auto& parts = i.operands[pack ? 1 : 0].elements;
    const unsigned width = bits(type) / static_cast<unsigned>(parts.size());
    if (!pack) whole = read(t, i.operands[1], type);
    for (size_t k = 0; k < parts.size(); ++k) {
      if (pack) whole |= cut(read(t, parts[k], type), width) << (k * width);
      else if (parts[k].kind == Operand::Kind::kRegister) t.registers[parts[k].id] = cut(whole >> (k * width), width);
    }
    if (pack) write(t, i.operands[0], whole, type);
    return {};
  }
  if (op == "setp") {
    bool p = compare(i, read(t, i.operands[1], type), read(t, i.operands[2], type), type), q = !p;
    if (i.operands.size() > 3) {
      const bool c = truth(t, i.operands[3]);
      for (bool* x : {&p, &q}) *x = i.has("and") ? *x && c : i.has("or") ? *x || c : *x != c;
    }
    const Operand& d = i.operands[0];
    if (d.kind == Operand::Kind::kPair) {
      t.registers[d.elements[0].id] = p;
      t.registers[d.elements[1].id] = q;
    } else {
      t.registers[d.id] = p;
    }
    return {};
  }
  if (op == "selp") {
    write(t, i.operands[0], read(t, i.operands[truth(t, i.operands[3]) ? 1 : 2], type), type);
    return {};
  }
  if (type == Type::kPred) {
    const bool a = truth(t, i.operands[1]);
    const bool b = i.operands.size() > 2 && truth(t, i.operands[2]);
    if (op != "and" && op != "or" && op != "xor" && op != "not") return lacks(i);
    t.registers[i.operands[0].id] = op == "and" ? a && b : op == "or" ? a || b : op == "xor" ? a != b : !a;
    return {};
  }
  return is_float(type) ? float_arithmetic(t, i, type) : arithmetic(t, i, type);
}

// All threads of the warp stand at the same shuffle or vote.
Status Machine::collective(std::vector<Thread*>& warp) {
  const Instruction& i = *flat.code[warp.front()->pc];
  for (const Thread* t : warp) {
    if (t->pc != warp.front()->pc) return fail(ErrorCode::kUnsupported, "oracle: divergent collective");
  }
  std::vector<uint64_t> out(warp.size());
  if (i.opcode == "vote") {
    uint64_t ballot = 0;
    for (size_t k = 0; k < warp.size(); ++k) ballot |= uint64_t{truth(*warp[k], i.operands[1])} << k;
    const uint64_t all = warp.size() == 32 ? 0xffffffffu : (uint64_t{1} << warp.size()) - 1;
    const uint64_t value = i.has("ballot") ? ballot : i.has("all") ? ballot == all : i.has("any") ? ballot != 0 : ballot == all || ballot == 0;
    std::fill(out.begin(), out.end(), value);
  } else {
    for (size_t k = 0; k < warp.size(); ++k) {
      const uint64_t b = read(*warp[k], i.operands[2], Type::kB32) & 31, c = read(*warp[k], i.operands[3], Type::kB32);
      const uint64_t segment = (c >> 8) & 31, clamp = c & 31;
      const uint64_t top = (k & segment) | (clamp & ~segment), bottom = k & segment;
      int64_t from;
      bool valid;
      if (i.has("up")) { from = static_cast<int64_t>(k) - static_cast<int64_t>(b); valid = from >= static_cast<int64_t>(top); }
      else if (i.has("down")) { from = static_cast<int64_t>(k + b); valid = from <= static_cast<int64_t>(top); }
      else if (i.has("bfly")) { from = static_cast<int64_t>(k ^ b); valid = from <= static_cast<int64_t>(top); }
      else { from = static_cast<int64_t>(bottom | (b & ~segment)); valid = from <= static_cast<int64_t>(top); }
      if (!valid) from = static_cast<int64_t>(k);
      out[k] = read(*warp[static_cast<size_t>(from)], i.operands[1], Type::kB32);
    }
  }
  for (size_t k = 0; k < warp.size(); ++k) {
    warp[k]->registers[i.operands[0].id] = out[k];
    warp[k]->waiting = false;
    ++warp[k]->pc;
  }
  return {};
}

Status Machine::run() {
  uint64_t steps = 0;
  for (;;) {
    bool moved = false;
    for (Thread& t : threads) {
      while (!t.done && !t.waiting) {
        if (t.pc >= flat.code.size()) {
          t.done = true;
          break;
        }
        KW_TRY_VOID(step(t));
        moved = true;
        if (++steps > kMaxSteps) return fail(ErrorCode::kLimit, "oracle: too many steps");
      }
    }
    for (size_t begin = 0; begin < threads.size(); begin += 32) {
      std::vector<Thread*> warp;
      bool ready = true;
      for (size_t k = begin; k < std::min(threads.size(), begin + 32); ++k) {
        if (threads[k].done) continue;
        ready = ready && threads[k].waiting && flat.code[threads[k].pc]->opcode != "bar";
        warp.push_back(&threads[k]);
      }
      if (!ready || warp.empty()) continue;
      KW_TRY_VOID(collective(warp));
      moved = true;
    }
    if (moved) continue;
    bool any = false;
    for (Thread& t : threads) {
      if (t.done) continue;
      if (flat.code[t.pc]->opcode != "bar") return fail(ErrorCode::kInvalid, "oracle: stuck");
      any = true;
    }
    if (!any) return {};
    for (Thread& t : threads) {
      if (t.done) continue;
      t.waiting = false;
      ++t.pc;
    }
  }
}

}  // namespace

Status run_scalar(const ptx::Module& module, uint32_t threads, std::vector<uint8_t>& buffer) {
  const ptx::Function* function = nullptr;
  for (const auto& f : module.functions) {
    if (f.is_entry && f.has_body) function = &f;
  }
  if (function == nullptr) return fail(ErrorCode::kInvalid, "oracle: no kernel");
  Machine machine{module, *function, {}, buffer, {}, {}};
  flatten(function->body, machine.flat);
  machine.shared.resize(machine.flat.shared_bytes);
  for (uint32_t k = 0; k < threads; ++k) {
    Thread thread;
    thread.index = k;
    thread.registers.resize(function->registers.size());
    machine.threads.push_back(std::move(thread));
  }
  return machine.run();
}

}  // namespace kw::oracle
