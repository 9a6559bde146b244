// Conversions.
#include "oracle/scalar_machine.h"

namespace kw::oracle {

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

}  // namespace kw::oracle
