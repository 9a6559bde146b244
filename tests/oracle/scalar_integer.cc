// Integer and logic instructions.
#include "oracle/scalar_machine.h"

namespace kw::oracle {

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

}  // namespace kw::oracle
