// Bits and bit fields of integers: PTX ISA section 9.7.1 (popc, clz, bfind, fns, brev, bfe, bfi, szext, bmsk).
#include <bit>
#include <cstdlib>

#include "emu/form.h"
#include "emu/integer_lane.h"

namespace kw::emu {
namespace {

using ptx::Type;

template <typename T>
constexpr auto kPopc = [](T a) -> uint32_t { return static_cast<uint32_t>(std::popcount(a)); };
template <typename T>
constexpr auto kClz = [](T a) -> uint32_t { return static_cast<uint32_t>(std::countl_zero(a)); };
// The position of the most significant bit that is not the sign, or the shift that would bring it to the top.
template <typename T, bool kShiftAmount>
constexpr auto kBfind = [](T a) -> uint32_t {
  using U = Unsigned<T>;
  const U bits = static_cast<U>(a < 0 ? ~a : a);
  const int zeros = std::countl_zero(bits);
  if (zeros == 8 * sizeof(T)) return 0xffffffffu;
  return static_cast<uint32_t>(kShiftAmount ? zeros : static_cast<int>(8 * sizeof(T)) - 1 - zeros);
};
constexpr uint32_t reverse(uint32_t v) {
  v = (v >> 1 & 0x55555555u) | (v & 0x55555555u) << 1;
  v = (v >> 2 & 0x33333333u) | (v & 0x33333333u) << 2;
  v = (v >> 4 & 0x0f0f0f0fu) | (v & 0x0f0f0f0fu) << 4;
  v = (v >> 8 & 0x00ff00ffu) | (v & 0x00ff00ffu) << 8;
  return v >> 16 | v << 16;
}
constexpr auto kBrev32 = [](uint32_t a) -> uint32_t { return reverse(a); };
constexpr auto kBrev64 = [](uint64_t a) -> uint64_t {
  return uint64_t{reverse(static_cast<uint32_t>(a))} << 32 | reverse(static_cast<uint32_t>(a >> 32));
};

// n low ones, n up to the width.
template <typename U>
constexpr U ones(uint32_t n) {
  constexpr uint32_t width = 8 * sizeof(U);
  return static_cast<U>(n >= width ? ~U{0} : (U{1} << (n & (width - 1))) - 1);
}
template <typename T>
constexpr auto kBfe = [](T a, uint32_t position, uint32_t length) -> T {
  using U = Unsigned<T>;
  constexpr uint32_t width = 8 * sizeof(T), top = width - 1;
  position &= 0xff;
  length &= 0xff;
  const auto bits = static_cast<U>(a);
  const uint32_t last = position + length - 1 < top ? position + length - 1 : top;
  const U sign = std::is_signed_v<T> && length != 0 ? static_cast<U>(bits >> (last & top)) & U{1} : U{0};
  const uint32_t room = position > top ? 0 : width - position;
  const uint32_t count = length < room ? length : room;
  const U field = position > top ? U{0} : static_cast<U>(bits >> (position & top));
  const U keep = ones<U>(count);
  return static_cast<T>((field & keep) | (sign ? static_cast<U>(~keep) : U{0}));
};
// imm: position and length are operands 2 and 3, so the fourth source is read by hand.
template <typename U>
void bfi(Warp& warp, const Insn& insn) {
  constexpr uint32_t width = 8 * sizeof(U), top = width - 1;
  U* d = slot<U>(warp, insn.more[0]);
  const U* a = slot<const U>(warp, insn.more[1]);
  const U* b = slot<const U>(warp, insn.more[2]);
  const uint32_t* positions = slot<const uint32_t>(warp, insn.more[3]);
  const uint32_t* lengths = slot<const uint32_t>(warp, insn.more[4]);
  alignas(32) U result[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    const uint32_t position = positions[i] & 0xff, length = lengths[i] & 0xff;
    const U keep = position > top ? U{0} : static_cast<U>(ones<U>(length) << (position & top));
    const U field = position > top ? U{0} : static_cast<U>(a[i] << (position & top));
    result[i] = static_cast<U>((b[i] & ~keep) | (field & keep));
  }
  store_lanes(d, result, warp.exec);
}

template <bool kSigned, bool kClamp>
constexpr auto kSzext = [](uint32_t a, uint32_t bits) -> uint32_t {
  const uint32_t n = bits & 31u;
  const bool whole = kClamp && bits >= 32;
  const uint32_t above = whole ? 0 : ~0u << n;
  const bool sign = kSigned && !whole && n != 0 && ((a >> ((n - 1) & 31u)) & 1u);
  return (a & ~above) | (sign ? above : 0);
};
template <bool kClamp>
constexpr auto kBmsk = [](uint32_t start, uint32_t width) -> uint32_t {
  const uint32_t a = start & 31u, b = width & 31u, sum = a + b;
  const uint32_t from = kClamp && start >= 32 ? 0 : ~0u << a;
  const uint32_t beyond = sum >= 32 || (kClamp && width >= 32) ? 0 : ~0u << (sum & 31u);
  return from & ~beyond;
};
// The n-th set bit from `base`, counting up or down.
constexpr auto kFns = [](uint32_t mask, uint32_t base, int32_t offset) -> uint32_t {
  if (base >= 32) return 0xffffffffu;
  if (offset == 0) return (mask >> base) & 1u ? base : 0xffffffffu;
  const int step = offset > 0 ? 1 : -1;
  int64_t count = std::abs(int64_t{offset}) - 1;
  for (int position = static_cast<int>(base); position >= 0 && position < 32; position += step)
    if ((mask >> position) & 1u) {
      if (count == 0) return static_cast<uint32_t>(position);
      --count;
    }
  return 0xffffffffu;
};

// --- Lowering -------------------------------------------------------------------------------------------

const LaneOp* popc_op(Type type) {
  return type == Type::kB32 ? &lane_op<kPopc<uint32_t>> : type == Type::kB64 ? &lane_op<kPopc<uint64_t>> : nullptr;
}
const LaneOp* clz_op(Type type) {
  return type == Type::kB32 ? &lane_op<kClz<uint32_t>> : type == Type::kB64 ? &lane_op<kClz<uint64_t>> : nullptr;
}
const LaneOp* brev_op(Type type) {
  return type == Type::kB32 ? &lane_op<kBrev32> : type == Type::kB64 ? &lane_op<kBrev64> : nullptr;
}
const LaneOp* bfe_op(Type type) {
  switch (type) {
    case Type::kU32: return &lane_op<kBfe<uint32_t>>;
    case Type::kS32: return &lane_op<kBfe<int32_t>>;
    case Type::kU64: return &lane_op<kBfe<uint64_t>>;
    case Type::kS64: return &lane_op<kBfe<int64_t>>;
    default: return nullptr;
  }
}
const LaneOp* fns_op(Type type) { return type == Type::kB32 ? &lane_op<kFns> : nullptr; }

template <bool kShiftAmount>
const LaneOp* bfind_op(Type type) {
  switch (type) {
    case Type::kU32: return &lane_op<kBfind<uint32_t, kShiftAmount>>;
    case Type::kS32: return &lane_op<kBfind<int32_t, kShiftAmount>>;
    case Type::kU64: return &lane_op<kBfind<uint64_t, kShiftAmount>>;
    case Type::kS64: return &lane_op<kBfind<int64_t, kShiftAmount>>;
    default: return nullptr;
  }
}
Status lower_bfind(Lowering& l) {
  Form form(l.instruction());
  const bool shift = form.take("shiftamt");
  const Type type = form.take_type();
  return emit_integer(l, form, shift ? bfind_op<true>(type) : bfind_op<false>(type));
}

Status lower_bfi(Lowering& l) {
  Form form(l.instruction());
  const Type type = form.take_type();
  const Handler handler = type == Type::kB32 ? &bfi<uint32_t> : type == Type::kB64 ? &bfi<uint64_t> : nullptr;
  if (!handler || !form.done()) return l.unsupported();
  if (l.operand_count() != 5) return l.invalid(fmt::format("takes 5 operands, not {}", l.operand_count()));
  const unsigned bytes = ptx::size_bits(type) / 8;
  Vreg uses[4];
  for (size_t i = 0; i < 4; ++i) {
    KW_TRY(uses[i], l.use(l.operand(i + 1), i < 2 ? bytes : 4));
  }
  KW_TRY(const Vreg destination, l.def(l.operand(0), bytes));
  const Vreg defs[1] = {destination};
  Insn& insn = l.emit(handler, handler, Counters::kInteger);
  l.set_more(insn, defs, uses);
  return {};
}

Status lower_szext_bmsk(Lowering& l) {
  Form form(l.instruction());
  const int mode = form.take_one_of({"clamp", "wrap"});
  const Type type = form.take_type();
  const LaneOp* op = nullptr;
  if (mode < 0) return l.unsupported();
  if (l.instruction().opcode == "bmsk") {
    if (type == Type::kB32) op = mode == 0 ? &lane_op<kBmsk<true>> : &lane_op<kBmsk<false>>;
  } else if (type == Type::kU32) {
    op = mode == 0 ? &lane_op<kSzext<false, true>> : &lane_op<kSzext<false, false>>;
  } else if (type == Type::kS32) {
    op = mode == 0 ? &lane_op<kSzext<true, true>> : &lane_op<kSzext<true, false>>;
  }
  return emit_integer(l, form, op);
}

constexpr OpEntry kOps[] = {
    {"popc", nullptr, lower_typed<popc_op>},  {"clz", nullptr, lower_typed<clz_op>}, {"bfind", nullptr, lower_bfind},
    {"fns", nullptr, lower_typed<fns_op>},    {"brev", nullptr, lower_typed<brev_op>},
    {"bfe", nullptr, lower_typed<bfe_op>},    {"bfi", nullptr, lower_bfi},
    {"szext", nullptr, lower_szext_bmsk},     {"bmsk", nullptr, lower_szext_bmsk},
};

}  // namespace

std::span<const OpEntry> bit_ops() { return kOps; }

}  // namespace kw::emu
