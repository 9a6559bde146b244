// cvt and cvt.pack: PTX ISA section 9.7.9. Every pair of types of sm_70 to sm_89 (and the narrow formats of
// later targets, which cost nothing here). What they do to a warp is in convert_loops.cc.
#include <bit>

#include "emu/convert_loops.h"
#include "emu/form.h"

namespace kw::emu {
namespace {

using ptx::Type;
using tensor::DType;
using tensor::Rounding;

// A scalar type, or the element of a packed one.
struct Element { DType type; unsigned count; };
bool element_of(Type type, Element& e) {
  switch (type) {
    case Type::kU8: e = {DType::kU8, 1}; return true;
    case Type::kS8: e = {DType::kI8, 1}; return true;
    case Type::kU16: e = {DType::kU16, 1}; return true;
    case Type::kS16: e = {DType::kI16, 1}; return true;
    case Type::kU32: e = {DType::kU32, 1}; return true;
    case Type::kS32: e = {DType::kI32, 1}; return true;
    case Type::kU64: e = {DType::kU64, 1}; return true;
    case Type::kS64: e = {DType::kI64, 1}; return true;
    case Type::kF16: e = {DType::kF16, 1}; return true;
    case Type::kBF16: e = {DType::kBF16, 1}; return true;
    case Type::kTF32: e = {DType::kTF32, 1}; return true;
    case Type::kF32: e = {DType::kF32, 1}; return true;
    case Type::kF64: e = {DType::kF64, 1}; return true;
    case Type::kF16x2: e = {DType::kF16, 2}; return true;
    case Type::kBF16x2: e = {DType::kBF16, 2}; return true;
    case Type::kE4M3x2: e = {DType::kE4M3, 2}; return true;
    case Type::kE5M2x2: e = {DType::kE5M2, 2}; return true;
    case Type::kE2M3x2: e = {DType::kE2M3, 2}; return true;
    case Type::kE3M2x2: e = {DType::kE3M2, 2}; return true;
    case Type::kE2M1x2: e = {DType::kE2M1, 2}; return true;
    case Type::kUE8M0x2: e = {DType::kUE8M0, 2}; return true;
    default: return false;
  }
}
bool is_narrow(DType type) {
  return tensor::is_float(type) && tensor::bits_of(type) <= 8;
}
unsigned significand_bits(DType type) {
  switch (type) {
    case DType::kF64: return 53;
    case DType::kF32: return 24;
    case DType::kF16: return 11;
    default: return 8;
  }
}
// Every value of `from` is a value of `to`.
bool widens(DType from, DType to) {
  if (from == to) return true;
  if (to == DType::kF64) return true;
  return to == DType::kF32 && (from == DType::kF16 || from == DType::kBF16);
}

bool is_byte(DType type) { return type == DType::kI8 || type == DType::kU8; }
// Two integer types of which `to` has every value of `from`, and is not the same.
bool holds_all(DType to, DType from) {
  if (!tensor::is_integer(to) || !tensor::is_integer(from) || to == from) return false;
  const unsigned wide = tensor::bits_of(to), narrow = tensor::bits_of(from);
  return wide > narrow && (tensor::is_signed(to) || !tensor::is_signed(from));
}

struct Modes { int to_integer, to_float, away; bool relu, satfinite, ftz, sat; };

// Whether the rounding modifiers are what the pair of types asks for; fills c.rounding and c.integral.
bool settle_rounding(const Modes& m, Conversion& c) {
  static constexpr Rounding kModes[4] = {Rounding::kNearestEven, Rounding::kTowardZero, Rounding::kDown, Rounding::kUp};
  const bool from_float = tensor::is_float(c.from), to_is_float = tensor::is_float(c.to);
  if (m.to_integer >= 0 && (m.to_float >= 0 || m.away >= 0)) return false;
  if (m.away >= 0) {
    if (c.to != DType::kTF32 || m.to_float >= 0) return false;
    c.rounding = Rounding::kNearestAway;
    return true;
  }
  if (from_float && !to_is_float) {
    if (m.to_integer < 0) return false;
    c.rounding = kModes[m.to_integer];
    return true;
  }
  if (!from_float && !to_is_float) return m.to_integer < 0 && m.to_float < 0;
  if (m.to_integer >= 0) {
    if (c.from != c.to) return false;
    c.integral = true;
    c.rounding = kModes[m.to_integer];
    return true;
  }
  if (m.to_float >= 0) {
    // A widening needs no rounding; PTX has it only from bf16 and the packed narrow formats.
    if (from_float && widens(c.from, c.to) && !is_narrow(c.from) && (c.from != DType::kBF16 || c.to == DType::kBF16)) return false;
    c.rounding = kModes[m.to_float];
    return true;
  }
  // Between the 16-bit formats the modifier may be absent, and is .rn.
  return from_float && (widens(c.from, c.to) || (tensor::bits_of(c.from) == 16 && tensor::bits_of(c.to) == 16));
}

Status lower_pair(Lowering& l, const Conversion& c, const Element& to, const Element& from, Type to_type, Type from_type) {
  const auto bytes = [](Type type, DType element) {
    return element == DType::kE2M1 ? 1u : is_narrow(element) ? 2u : ptx::size_bits(type) / 8;
  };
  const unsigned to_bytes = bytes(to_type, to.type), from_bytes = bytes(from_type, from.type);
  LaneOp op;
  if (from.count == 1) {
    if (from.type != DType::kF32) return l.unsupported();
    op = packing_conversion(c, to_bytes);
  } else {
    op = pair_conversion(to_bytes, from_bytes);
    if (op.full == nullptr || is_narrow(from.type) == is_narrow(to.type)) return l.unsupported();
  }
  return emit_op(l, op, Counters::kConversion, std::bit_cast<uint64_t>(c));
}

Status lower_cvt(Lowering& l) {
  Form form(l.instruction());
  Modes m{};
  m.to_integer = form.take_one_of({"rni", "rzi", "rmi", "rpi"});
  m.to_float = form.take_one_of({"rn", "rz", "rm", "rp"});
  m.away = form.take_one_of({"rna"});
  Conversion c;
  c.relu = form.take("relu");
  c.satfinite = form.take("satfinite");
  c.ftz = form.take("ftz");
  c.sat = form.take("sat");
  const Type to_type = form.take_type(), from_type = form.take_type();
  Element to{}, from{};
  if (!form.done() || !element_of(to_type, to) || !element_of(from_type, from)) return l.unsupported();
  c.to = to.type;
  c.from = from.type;
  if (from.type == DType::kTF32 || !settle_rounding(m, c)) return l.unsupported();
  const bool floats = tensor::is_float(c.from) && tensor::is_float(c.to);
  if ((c.relu || c.satfinite) && (!floats || c.sat || c.integral || significand_bits(c.to) > 11)) return l.unsupported();
  if (c.ftz && c.from != DType::kF32 && c.to != DType::kF32) return l.unsupported();
  // Forms PTX lacks: saturation that cannot happen, bf16 to and from bytes.
  if (c.sat && holds_all(c.to, c.from)) return l.unsupported();
  if ((c.to == DType::kBF16 && is_byte(c.from)) || (c.from == DType::kBF16 && is_byte(c.to))) return l.unsupported();
  // The narrow formats are always saturated; what is not representable has no other meaning.
  if (is_narrow(c.to) && c.to != DType::kUE8M0 && !c.satfinite) return l.unsupported();
  if (to.count == 2 || from.count == 2) {
    if (to.count != 2 || c.sat) return l.unsupported();
    return lower_pair(l, c, to, from, to_type, from_type);
  }
  const bool sign_extend = tensor::is_integer(c.to) && tensor::is_signed(c.to);
  return emit_op(l, scalar_conversion(c), Counters::kConversion, std::bit_cast<uint64_t>(c), 0, sign_extend);
}

// --- cvt.pack: two saturated integers side by side, a above b, then c shifted above them ------------------

constexpr auto kPack = [](uint32_t a, uint32_t b, uint32_t c, Imm imm) -> uint32_t {
  const uint32_t width = imm.aux & 31u;
  const bool is_signed = (imm.aux & 32u) != 0;
  const uint32_t mask = (1u << width) - 1u;
  const auto most = static_cast<int32_t>(is_signed ? mask >> 1 : mask);
  const int32_t least = is_signed ? -most - 1 : 0;
  const auto clamp = [&](uint32_t x) {
    const auto v = static_cast<int32_t>(x);
    return static_cast<uint32_t>(v > most ? most : v < least ? least : v) & mask;
  };
  const uint32_t pair = clamp(a) << width | clamp(b);
  return width == 16 ? pair : pair | c << ((2 * width) & 31u);
};

Status lower_pack(Lowering& l) {
  Form form(l.instruction());
  if (!form.take("pack") || !form.take("sat")) return l.unsupported();
  struct Format { std::string_view name; uint32_t width; bool is_signed; };
  static constexpr Format kFormats[] = {{"u16", 16, false}, {"s16", 16, true}, {"u8", 8, false}, {"s8", 8, true},
                                        {"u4", 4, false},   {"s4", 4, true},   {"u2", 2, false}, {"s2", 2, true}};
  for (const Format& f : kFormats) {
    if (!form.take(f.name)) continue;
    const bool has_source = form.take("s32");
    const bool three = f.width != 16;
    if (!has_source || (three && !form.take("b32")) || !form.done()) return l.unsupported();
    const uint32_t aux = f.width | (f.is_signed ? 32u : 0u);
    if (three) return emit_op(l, lane_op<kPack>, Counters::kConversion, 0, aux);
    if (l.operand_count() != 3) return l.invalid(fmt::format("takes 3 operands, not {}", l.operand_count()));
    KW_TRY(const Vreg a, l.use(l.operand(1), 4));
    KW_TRY(const Vreg b, l.use(l.operand(2), 4));
    const Vreg zero = l.constant(0, 4);
    KW_TRY(const Vreg d, l.def(l.operand(0), 4));
    emit_on(l, lane_op<kPack>, Counters::kConversion, d, {a, b, zero}, 0, aux);
    return {};
  }
  return l.unsupported();
}

bool is_pack(const ptx::Instruction& instruction) { return instruction.has("pack"); }

constexpr OpEntry kOps[] = {{"cvt", is_pack, lower_pack}, {"cvt", nullptr, lower_cvt}};

}  // namespace

std::span<const OpEntry> convert_ops() { return kOps; }

}  // namespace kw::emu
