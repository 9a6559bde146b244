// Floating-point instructions, and comparisons of any type.
#include "oracle/scalar_machine.h"

namespace kw::oracle {
namespace {

// minNum/maxNum of IEEE 754-2008 with -0 < +0.
template <typename T>
T least(T a, T b, bool want_max) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) != want_max ? a : b;
  return (a < b) != want_max ? a : b;
}

// Whether a result is denormal to .ftz: `exact` rounded to 24 bits with an exponent of any size is less than 2^-126. Below
// 2^-126 such numbers are 2^-150 apart.
bool tiny_after_rounding(Real exact, int mode) {
  const Real least = Real(0x1p-126), unit = Real(0x1p-150), magnitude = exact < 0 ? -exact : exact;
  if (mode == FE_TONEAREST) return magnitude < least - unit / 2;
  const bool away = mode == (exact < 0 ? FE_DOWNWARD : FE_UPWARD);
  return away ? magnitude <= least - unit : magnitude < least;
}

}  // namespace

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
    if (ftz && std::fabs(result) == 0x1p-126f) {   // perhaps rounded up to it
      const Real x = Real(static_cast<float>(a)), y = Real(static_cast<float>(b)), z = Real(static_cast<float>(c));
      const Real exact = op == "mul" ? x * y : op == "fma" ? x * y + z : op == "div" ? x / y : op == "rcp" ? 1 / x : Real(result);
      if (tiny_after_rounding(exact, rounding_of(i))) result = std::copysign(0.0f, result);
    }
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

}  // namespace kw::oracle
