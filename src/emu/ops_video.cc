// Video instructions: PTX ISA section 9.7.18 (scalar: vadd … vset, with byte and half selectors, saturation, a
// second operation or a merge) and 9.7.19 (SIMD: two halves or four bytes, chosen from the two sources together, and
// a mask of those written or added). Lanes one at a time: rare code.
#include <bit>

#include "emu/form.h"

namespace kw::emu {
namespace {

using ptx::Operand;
using ptx::Type;

enum class VideoOp : uint8_t { kAdd, kSub, kAbsDiff, kMin, kMax, kAverage, kShl, kShr, kSet };
enum class Second : uint8_t { kNone, kAdd, kMin, kMax, kMerge };
enum Compare : uint8_t { kEq, kNe, kLt, kLe, kGt, kGe };
// Part of a word: 0 the word, 1-4 bytes b0-b3, 5-6 halves h0, h1.
struct Video {
  VideoOp op = VideoOp::kAdd;
  Second second = Second::kNone;
  uint8_t flags = 0;          // kSigned…, kSat, kWrap
  uint8_t compare = 0;
  uint8_t d = 0, a = 0, b = 0;
  uint8_t parts = 1;          // SIMD: 2 or 4
};
static_assert(sizeof(Video) == 8);   // it travels in Insn::imm
constexpr uint8_t kSignedD = 1, kSignedA = 2, kSignedB = 4, kSat = 8, kWrap = 16;

unsigned width_of(uint8_t part) { return part == 0 ? 32 : part <= 4 ? 8 : 16; }
unsigned shift_of(uint8_t part) { return part == 0 ? 0 : part <= 4 ? 8u * (part - 1u) : 16u * (part - 5u); }

int64_t extend(uint32_t bits, unsigned width, bool is_signed) {
  const uint64_t value = width == 32 ? bits : bits & ((1u << width) - 1u);
  if (!is_signed) return static_cast<int64_t>(value);
  return static_cast<int64_t>(value << (64 - width)) >> (64 - width);
}
int64_t part_of(uint32_t word, uint8_t part, bool is_signed) {
  return extend(word >> shift_of(part), width_of(part), is_signed);
}
int64_t clamp_to(int64_t value, unsigned width, bool is_signed) {
  const int64_t least = is_signed ? -(int64_t{1} << (width - 1)) : 0;
  const int64_t most = is_signed ? (int64_t{1} << (width - 1)) - 1 : (int64_t{1} << width) - 1;
  return value < least ? least : value > most ? most : value;
}

int64_t compute(const Video& v, int64_t a, int64_t b) {
  switch (v.op) {
    case VideoOp::kAdd: return a + b;
    case VideoOp::kSub: return a - b;
    case VideoOp::kAbsDiff: return a > b ? a - b : b - a;
    case VideoOp::kMin: return a < b ? a : b;
    case VideoOp::kMax: return a < b ? b : a;
    case VideoOp::kAverage: return (a + b + (a + b >= 0 ? 1 : 0)) >> 1;
    case VideoOp::kShl:
    case VideoOp::kShr: {
      const int64_t n = v.flags & kWrap ? b & 31 : b > 32 ? 32 : b;
      return v.op == VideoOp::kShl ? static_cast<int64_t>(static_cast<uint64_t>(a) << n) : a >> n;
    }
    case VideoOp::kSet:
      switch (v.compare) {
        case kEq: return a == b;
        case kNe: return a != b;
        case kLt: return a < b;
        case kLe: return a <= b;
        case kGt: return a > b;
        default: return a >= b;
      }
  }
  return 0;
}

constexpr auto kScalar = [](uint32_t a, uint32_t b, uint32_t c, Imm imm) -> uint32_t {
  const auto v = std::bit_cast<Video>(imm.imm);
  const bool is_signed = (v.flags & kSignedD) != 0;
  int64_t r = compute(v, part_of(a, v.a, (v.flags & kSignedA) != 0), part_of(b, v.b, (v.flags & kSignedB) != 0));
  if (v.flags & kSat) r = clamp_to(r, width_of(v.d), is_signed);
  const auto word = static_cast<uint32_t>(r);
  const int64_t x = extend(word, 32, is_signed), y = extend(c, 32, is_signed);
  switch (v.second) {
    case Second::kNone: return word;
    case Second::kAdd: return word + c;
    case Second::kMin: return static_cast<uint32_t>(x < y ? x : y);
    case Second::kMax: return static_cast<uint32_t>(x < y ? y : x);
    case Second::kMerge: {
      const uint32_t mask = (width_of(v.d) == 32 ? ~0u : (1u << width_of(v.d)) - 1u) << shift_of(v.d);
      return (c & ~mask) | ((word << shift_of(v.d)) & mask);
    }
  }
  return word;
};

// aux: four bits per part for a's selector, 16 bits, then b's (numbers of parts in {b, a}); v.d: mask of the parts of d.
constexpr auto kSimd = [](uint32_t a, uint32_t b, uint32_t c, Imm imm) -> uint32_t {
  const auto v = std::bit_cast<Video>(imm.imm);
  const unsigned width = 32u / v.parts;
  const bool is_signed = (v.flags & kSignedD) != 0;
  const uint64_t both = uint64_t{b} << 32 | a;
  const auto pick = [&](unsigned nibble, bool sign) {
    return extend(static_cast<uint32_t>(both >> ((imm.aux >> (4 * nibble) & 7) * width)), width, sign);
  };
  uint32_t merged = c, sum = c;
  for (unsigned n = 0; n < v.parts; ++n) {
    if ((v.d >> n & 1) == 0) continue;
    const unsigned shift = n * width;
    int64_t r = compute(v, pick(n, (v.flags & kSignedA) != 0), pick(4 + n, (v.flags & kSignedB) != 0));
    if (v.flags & kSat) r = clamp_to(r, width, is_signed);
    const auto word = static_cast<uint32_t>(r);
    const uint32_t mask = ((1u << width) - 1u) << shift;
    merged = (merged & ~mask) | (word << shift & mask);
    sum += word;   // .add takes the whole result, not its low part
  }
  return v.second == Second::kAdd ? sum : merged;
};

// vmad: imm = Video with d = scale, flags as above; aux: bit 0 negate the product, 1 negate c, 2 plus one.
constexpr auto kVmad = [](uint32_t a, uint32_t b, uint32_t c, Imm imm) -> uint32_t {
  const auto v = std::bit_cast<Video>(imm.imm);
  const bool negate_product = (imm.aux & 1u) != 0, negate_c = (imm.aux & 2u) != 0, plus_one = (imm.aux & 4u) != 0;
  const bool product_signed = (v.flags & (kSignedA | kSignedB)) != 0 || negate_product || negate_c;
  __extension__ using Int128 = __int128;
  Int128 r = static_cast<Int128>(part_of(a, v.a, (v.flags & kSignedA) != 0)) * part_of(b, v.b, (v.flags & kSignedB) != 0);
  if (negate_product) r = -r;
  const Int128 addend = extend(c, 32, product_signed);
  r += negate_c ? -addend : addend;
  if (plus_one) r += 1;
  r >>= v.d;
  if (v.flags & kSat) {
    const Int128 least = product_signed ? -(Int128{1} << 31) : Int128{0};
    const Int128 most = product_signed ? (Int128{1} << 31) - 1 : (Int128{1} << 32) - 1;
    r = r < least ? least : r > most ? most : r;
  }
  return static_cast<uint32_t>(r);
};

bool take_sign(Form& form, bool& is_signed) {
  const Type type = form.take_type();
  is_signed = type == Type::kS32;
  return type == Type::kS32 || type == Type::kU32;
}

// The operand without its selector, and the selector.
Operand word_of(const Operand& operand, uint8_t& part) {
  Operand word = operand;
  part = operand.element >= 4 && operand.element < 10 ? static_cast<uint8_t>(operand.element - 3) : uint8_t{0};
  if (operand.element >= 4) word.element = -1;
  word.minus = false;
  return word;
}

// SIMD selectors (ptx::Operand::element): the digits as written, most significant part first.
constexpr int8_t kSeveralBytes = 10, kSeveralHalves = 11;

bool read_selector(const Operand& operand, uint8_t parts, uint32_t first, uint32_t& nibbles) {
  if (operand.element < 4) {   // all parts of the operand itself
    for (uint32_t n = 0; n < parts; ++n) nibbles |= (first + n) << (4 * n);
    return true;
  }
  if (operand.element != (parts == 4 ? kSeveralBytes : kSeveralHalves) || operand.bits >> (4 * parts) != 1) return false;
  nibbles = static_cast<uint32_t>(operand.bits) & ((1u << (4 * parts)) - 1u);
  return true;
}

bool read_mask(const Operand& operand, uint8_t parts, uint8_t& mask) {
  const bool bytes = parts == 4;
  if (operand.element < 4) {
    mask = static_cast<uint8_t>((1u << parts) - 1u);
    return true;
  }
  if (operand.element < kSeveralBytes) {
    if ((operand.element < 8) != bytes) return false;
    mask = static_cast<uint8_t>(1u << (operand.element - (bytes ? 4 : 8)));
    return true;
  }
  if (operand.element != (bytes ? kSeveralBytes : kSeveralHalves)) return false;
  uint32_t below = parts;
  mask = 0;
  for (int at = 63 - std::countl_zero(operand.bits) - 4; at >= 0; at -= 4) {   // digits fall
    const auto digit = static_cast<uint32_t>(operand.bits >> at & 15);
    if (digit >= below) return false;
    below = digit;
    mask = static_cast<uint8_t>(mask | 1u << digit);
  }
  return true;
}

Status emit_three(Lowering& l, const LaneOp& op, Video v, uint32_t aux, bool has_c) {
  uint8_t unused = 0;
  KW_TRY(const Vreg a, l.use(word_of(l.operand(1), v.a), 4));
  KW_TRY(const Vreg b, l.use(word_of(l.operand(2), v.b), 4));
  Vreg c = kNone;
  if (has_c) {
    KW_TRY(c, l.use(word_of(l.operand(3), unused), 4));
  } else {
    c = l.constant(0, 4);
  }
  uint8_t part = 0;
  KW_TRY(const Vreg d, l.def(word_of(l.operand(0), part), 4));
  if (part != 0 && v.parts == 1) v.d = part;
  emit_on(l, op, Counters::kInteger, d, {a, b, c}, std::bit_cast<uint64_t>(v), aux);
  return {};
}

bool read_op(std::string_view name, Video& v) {
  struct Name { std::string_view name; VideoOp op; };
  static constexpr Name kNames[] = {{"vadd", VideoOp::kAdd},   {"vsub", VideoOp::kSub}, {"vabsdiff", VideoOp::kAbsDiff},
                                    {"vmin", VideoOp::kMin},   {"vmax", VideoOp::kMax}, {"vavrg", VideoOp::kAverage},
                                    {"vshl", VideoOp::kShl},   {"vshr", VideoOp::kShr}, {"vset", VideoOp::kSet}};
  if (name.ends_with('2') || name.ends_with('4')) {
    v.parts = name.ends_with('2') ? 2 : 4;
    name.remove_suffix(1);
  }
  for (const Name& n : kNames)
    if (n.name == name) {
      v.op = n.op;
      return true;
    }
  return false;
}

Status lower_video(Lowering& l) {
  Form form(l.instruction());
  Video v;
  if (!read_op(l.instruction().opcode, v)) return l.unsupported();
  bool sd = false, sa = false, sb = false;
  if (v.op != VideoOp::kSet && !take_sign(form, sd)) return l.unsupported();
  if (!take_sign(form, sa) || !take_sign(form, sb)) return l.unsupported();
  v.flags = static_cast<uint8_t>((sd ? kSignedD : 0) | (sa ? kSignedA : 0) | (sb ? kSignedB : 0));
  if (v.op == VideoOp::kSet) {
    const int compare = form.take_one_of({"eq", "ne", "lt", "le", "gt", "ge"});
    if (compare < 0) return l.unsupported();
    v.compare = static_cast<uint8_t>(compare);
  } else if (form.take("sat")) {
    v.flags |= kSat;
  }
  if (v.op == VideoOp::kShl || v.op == VideoOp::kShr) {
    const int mode = form.take_one_of({"clamp", "wrap"});
    if (mode < 0 || sb) return l.unsupported();
    if (mode == 1) v.flags |= kWrap;
  }
  const bool simd = v.parts != 1;
  if (form.take("add")) v.second = Second::kAdd;
  else if (!simd && form.take("min")) v.second = Second::kMin;
  else if (!simd && form.take("max")) v.second = Second::kMax;
  if (!form.done() || (simd && v.second == Second::kAdd && (v.flags & kSat))) return l.unsupported();
  if (l.operand_count() != 3 && l.operand_count() != 4)
    return l.invalid(fmt::format("takes 3 or 4 operands, not {}", l.operand_count()));
  const bool has_c = l.operand_count() == 4;
  if (simd) {
    if (!has_c) return l.invalid("takes 4 operands");
    uint32_t from_a = 0, from_b = 0;
    if (!read_mask(l.operand(0), v.parts, v.d) || !read_selector(l.operand(1), v.parts, 0, from_a) ||
        !read_selector(l.operand(2), v.parts, v.parts, from_b) || l.operand(3).element >= 4) {
      return l.invalid("an operand has a selector that does not fit the instruction");
    }
    return emit_three(l, lane_op<kSimd>, v, from_b << 16 | from_a, true);
  }
  for (size_t i = 0; i < l.operand_count(); ++i) {
    if (l.operand(i).element >= kSeveralBytes) return l.invalid("one byte or half of an operand can be selected");
  }
  const bool selects = l.operand(0).element >= 4;
  if (has_c && !selects && v.second == Second::kNone) return l.invalid("has a third source but no second operation");
  if (!has_c && (selects || v.second != Second::kNone)) return l.invalid("lacks its third source");
  if (selects && v.second != Second::kNone) return l.unsupported();
  if (selects) v.second = Second::kMerge;
  return emit_three(l, lane_op<kScalar>, v, 0, has_c);
}

Status lower_vmad(Lowering& l) {
  Form form(l.instruction());
  Video v;
  bool sd = false, sa = false, sb = false;
  if (!take_sign(form, sd) || !take_sign(form, sa) || !take_sign(form, sb)) return l.unsupported();
  v.flags = static_cast<uint8_t>((sd ? kSignedD : 0) | (sa ? kSignedA : 0) | (sb ? kSignedB : 0));
  uint32_t aux = 0;
  if (form.take("po")) aux |= 4u;
  if (form.take("sat")) v.flags |= kSat;
  const int scale = form.take_one_of({"shr7", "shr15"});
  v.d = scale == 0 ? 7 : scale == 1 ? 15 : 0;
  if (!form.done()) return l.unsupported();
  if (l.operand_count() != 4) return l.invalid(fmt::format("takes 4 operands, not {}", l.operand_count()));
  for (size_t i = 0; i < 4; ++i) {
    if (l.operand(i).element >= kSeveralBytes) return l.invalid("one byte or half of an operand can be selected");
  }
  if (l.operand(1).minus != l.operand(2).minus) aux |= 1u;
  if (l.operand(3).minus) aux |= 2u;
  if ((aux & 4u) && (aux & 3u)) return l.unsupported();
  return emit_three(l, lane_op<kVmad>, v, aux, true);
}

constexpr OpEntry kOps[] = {
    {"vadd", nullptr, lower_video},      {"vsub", nullptr, lower_video},      {"vabsdiff", nullptr, lower_video},
    {"vmin", nullptr, lower_video},      {"vmax", nullptr, lower_video},      {"vshl", nullptr, lower_video},
    {"vshr", nullptr, lower_video},      {"vset", nullptr, lower_video},      {"vmad", nullptr, lower_vmad},
    {"vadd2", nullptr, lower_video},     {"vsub2", nullptr, lower_video},     {"vavrg2", nullptr, lower_video},
    {"vabsdiff2", nullptr, lower_video}, {"vmin2", nullptr, lower_video},     {"vmax2", nullptr, lower_video},
    {"vset2", nullptr, lower_video},     {"vadd4", nullptr, lower_video},     {"vsub4", nullptr, lower_video},
    {"vavrg4", nullptr, lower_video},    {"vabsdiff4", nullptr, lower_video}, {"vmin4", nullptr, lower_video},
    {"vmax4", nullptr, lower_video},     {"vset4", nullptr, lower_video},
};

}  // namespace

std::span<const OpEntry> video_ops() { return kOps; }

}  // namespace kw::emu
