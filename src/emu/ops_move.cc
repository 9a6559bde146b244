// Moving and addressing: PTX ISA section 9.7.9 (mov with packing and unpacking, prmt, cvta, isspacep).
#include <vector>

#include "emu/form.h"

namespace kw::emu {
namespace {

using ptx::Operand;
using ptx::Type;

struct Quad { uint64_t low, high; };

template <typename T>
constexpr auto kCopy = [](T a) -> T { return a; };

void copy_predicate(Warp& warp, const Insn& insn) {
  store_lanes(warp.pred(insn.op[0]), warp.pred(insn.op[1]), warp.exec);
}

const LaneOp* copy_op(unsigned bytes) {
  switch (bytes) {
    case 1: return &lane_op<kCopy<uint8_t>>;
    case 2: return &lane_op<kCopy<uint16_t>>;
    case 4: return &lane_op<kCopy<uint32_t>>;
    case 8: return &lane_op<kCopy<uint64_t>>;
    case 16: return &lane_op<kCopy<Quad>>;
    default: return nullptr;
  }
}

// Elements of a wider word, low first. pack: more = d | elements; unpack: more = elements | source.
template <typename Word, typename Element>
void pack(Warp& warp, const Insn& insn) {
  alignas(64) Word words[kLanes] = {};
  const int count = insn.more_count - 1;
  for (int k = 0; k < count; ++k) {
    const Element* e = slot<const Element>(warp, insn.more[k + 1]);
    for (int i = 0; i < kLanes; ++i)
      words[i] = static_cast<Word>(words[i] | static_cast<Word>(static_cast<Word>(e[i]) << (8 * sizeof(Element) * k)));
  }
  store_lanes(slot<Word>(warp, insn.more[0]), words, warp.exec);
}
template <typename Word, typename Element>
void unpack(Warp& warp, const Insn& insn) {
  const int count = insn.more_count - 1;
  alignas(64) Word words[kLanes];   // a destination may be the source's register
  std::memcpy(words, slot<const Word>(warp, insn.more[count]), sizeof words);
  for (int k = 0; k < count; ++k) {
    Element* e = slot<Element>(warp, insn.more[k]);
    for (int i = 0; i < kLanes; ++i) {
      const auto part = static_cast<Element>(words[i] >> (8 * sizeof(Element) * k));
      e[i] = (warp.exec >> i) & 1u ? part : e[i];
    }
  }
}
// 128 bits: elements of 8 or 4 bytes, copied by bytes.
template <typename Element>
void pack_128(Warp& warp, const Insn& insn) {
  constexpr int kCount = 16 / sizeof(Element);
  alignas(64) Element words[kLanes][kCount];
  for (int k = 0; k < kCount; ++k) {
    const Element* e = slot<const Element>(warp, insn.more[k + 1]);
    for (int i = 0; i < kLanes; ++i) words[i][k] = e[i];
  }
  Quad quads[kLanes];
  std::memcpy(quads, words, sizeof quads);
  store_lanes(slot<Quad>(warp, insn.more[0]), quads, warp.exec);
}
template <typename Element>
void unpack_128(Warp& warp, const Insn& insn) {
  constexpr int kCount = 16 / sizeof(Element);
  alignas(64) Element words[kLanes][kCount];
  std::memcpy(words, slot<const Quad>(warp, insn.more[kCount]), sizeof words);
  for (int k = 0; k < kCount; ++k) {
    Element* e = slot<Element>(warp, insn.more[k]);
    for (int i = 0; i < kLanes; ++i) e[i] = (warp.exec >> i) & 1u ? words[i][k] : e[i];
  }
}

struct Packing { unsigned word, element; Handler pack, unpack; };
constexpr Packing kPackings[] = {
    {2, 1, &pack<uint16_t, uint8_t>, &unpack<uint16_t, uint8_t>},
    {4, 1, &pack<uint32_t, uint8_t>, &unpack<uint32_t, uint8_t>},
    {4, 2, &pack<uint32_t, uint16_t>, &unpack<uint32_t, uint16_t>},
    {8, 2, &pack<uint64_t, uint16_t>, &unpack<uint64_t, uint16_t>},
    {8, 4, &pack<uint64_t, uint32_t>, &unpack<uint64_t, uint32_t>},
    {16, 4, &pack_128<uint32_t>, &unpack_128<uint32_t>},
    {16, 8, &pack_128<uint64_t>, &unpack_128<uint64_t>},
};

Status lower_packing(Lowering& l, unsigned bytes, const Operand& vector, bool packs) {
  const size_t count = vector.elements.size();
  if (count < 2 || bytes % count != 0) return l.unsupported();
  const auto element = static_cast<unsigned>(bytes / count);
  for (const Packing& p : kPackings) {
    if (p.word != bytes || p.element != element) continue;
    std::vector<Vreg> elements, whole;
    if (packs) {
      for (const Operand& e : vector.elements) {
        KW_TRY(const Vreg source, l.use(e, element));
        elements.push_back(source);
      }
      KW_TRY(const Vreg destination, l.def(l.operand(0), bytes));
      whole.push_back(destination);
      Insn& insn = l.emit(p.pack, p.pack, Counters::kMove);
      l.set_more(insn, whole, elements);
      return {};
    }
    KW_TRY(const Vreg source, l.use(l.operand(1), bytes));
    whole.push_back(source);
    for (const Operand& e : vector.elements) {
      KW_TRY(const Vreg destination, l.def(e, element));
      elements.push_back(destination);
    }
    Insn& insn = l.emit(p.unpack, p.unpack, Counters::kMove);
    l.set_more(insn, elements, whole);
    return {};
  }
  return l.unsupported();
}

Status lower_mov(Lowering& l) {
  Form form(l.instruction());
  const Type type = form.take_type();
  if (!form.done()) return l.unsupported();
  if (l.operand_count() != 2) return l.invalid(fmt::format("takes 2 operands, not {}", l.operand_count()));
  if (type == Type::kPred) {
    KW_TRY(const Vreg source, use_condition(l, l.operand(1)));
    KW_TRY(const Vreg destination, l.def_predicate(l.operand(0)));
    Insn& insn = l.emit(&copy_predicate, &copy_predicate, Counters::kPredicate);
    insn.op[0] = destination;
    insn.op[1] = source;
    insn.op_defs = 1;
    insn.op_uses = 2;
    return {};
  }
  switch (type) {
    case Type::kB16: case Type::kB32: case Type::kB64: case Type::kB128: case Type::kU16: case Type::kU32:
    case Type::kU64: case Type::kS16: case Type::kS32: case Type::kS64: case Type::kF32: case Type::kF64: break;
    default: return l.unsupported();
  }
  const unsigned bytes = ptx::size_bits(type) / 8;
  if (l.operand(1).kind == Operand::Kind::kVector) return lower_packing(l, bytes, l.operand(1), true);
  if (l.operand(0).kind == Operand::Kind::kVector) return lower_packing(l, bytes, l.operand(0), false);
  return emit_op(l, *copy_op(bytes), Counters::kMove);
}

// --- prmt -----------------------------------------------------------------------------------------------

// The selector's nibble n: bits 0-2 the byte of {b, a}, bit 3 asks for its sign eight times.
constexpr auto kPrmt = [](uint32_t a, uint32_t b, uint32_t selector) -> uint32_t {
  const uint64_t bytes = uint64_t{b} << 32 | a;
  uint32_t r = 0;
  for (uint32_t n = 0; n < 4; ++n) {
    const uint32_t s = selector >> (4 * n);
    const auto byte = static_cast<uint32_t>(bytes >> (8 * (s & 7u))) & 0xffu;
    const uint32_t sign = (byte & 0x80u) ? 0xffu : 0u;
    r |= ((s & 8u) ? sign : byte) << (8 * n);
  }
  return r;
};
// Named modes: which bytes, by the selector's low two bits (PTX ISA, table of prmt).
constexpr uint16_t kPermutations[6][4] = {
    {0x3210, 0x4321, 0x5432, 0x6543},   // f4e: forward 4 extract
    {0x5670, 0x6701, 0x7012, 0x0123},   // b4e: backward 4 extract
    {0x0000, 0x1111, 0x2222, 0x3333},   // rc8: replicate 8
    {0x3210, 0x3211, 0x3222, 0x3333},   // ecl: edge clamp left
    {0x0000, 0x1110, 0x2210, 0x3210},   // ecr: edge clamp right
    {0x1010, 0x3232, 0x1010, 0x3232},   // rc16: replicate 16
};
constexpr auto kPrmtMode = [](uint32_t a, uint32_t b, uint32_t selector, Imm imm) -> uint32_t {
  return kPrmt(a, b, kPermutations[imm.aux][selector & 3u]);
};

Status lower_prmt(Lowering& l) {
  Form form(l.instruction());
  const int mode = form.take_one_of({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
  if (form.take_type() != Type::kB32 || !form.done()) return l.unsupported();
  if (mode < 0) return emit_op(l, lane_op<kPrmt>, Counters::kInteger);
  return emit_op(l, lane_op<kPrmtMode>, Counters::kInteger, 0, static_cast<uint32_t>(mode));
}

// --- Generic addresses ----------------------------------------------------------------------------------

enum class Window : uint8_t { kGlobal, kConst, kParam, kShared, kLocal, kUnknown };
Window take_window(Form& form) {
  if (form.take("global")) return Window::kGlobal;
  if (form.take("const")) return Window::kConst;
  if (form.take("local")) return Window::kLocal;
  if (form.take_one_of({"param", "param::entry"}) >= 0) return Window::kParam;
  if (form.take_one_of({"shared", "shared::cta", "shared::cluster"}) >= 0) return Window::kShared;
  return Window::kUnknown;
}

constexpr auto kAddImm = [](uint64_t a, Imm imm) -> uint64_t { return a + imm.imm; };
// `mov` of a function's parameter gave the generic address already.
constexpr auto kLocalToGeneric = [](uint64_t a) -> uint64_t {
  return a - kLocalWindow < kLocalWindowBytes ? a : a + kLocalWindow;
};

Status lower_cvta(Lowering& l) {
  Form form(l.instruction());
  const bool to = form.take("to");
  const Window window = take_window(form);
  if (window == Window::kUnknown || form.take_type() != Type::kU64 || !form.done()) return l.unsupported();
  if (window == Window::kLocal && !to) return emit_op(l, lane_op<kLocalToGeneric>, Counters::kInteger);
  const uint64_t base = window == Window::kShared ? kSharedWindow : window == Window::kLocal ? kLocalWindow : 0;
  return emit_op(l, lane_op<kAddImm>, Counters::kInteger, to ? 0 - base : base);
}

// The window of a generic address in memory proper: the kernel's parameters, a constant bank, or global.
Window memory_window(const BlockContext& block, uint64_t address) {
  if (address - block.param_base < block.param_bytes) return Window::kParam;
  const Allocation* allocation = block.memory ? block.memory->find(address) : nullptr;
  return allocation && allocation->read_only ? Window::kConst : Window::kGlobal;
}
// op: p, address; aux: Window.
void isspacep(Warp& warp, const Insn& insn) {
  const uint64_t* addresses = slot<const uint64_t>(warp, insn.op[1]);
  const auto asked = static_cast<Window>(insn.aux);
  Mask result = 0;
  for (int i = 0; i < kLanes; ++i) {
    if (!((warp.exec >> i) & 1u)) continue;
    const uint64_t a = addresses[i];
    const Window window = a - kSharedWindow < kSharedWindowBytes  ? Window::kShared
                          : a - kLocalWindow < kLocalWindowBytes ? Window::kLocal
                                                                 : memory_window(*warp.block, a);
    result |= static_cast<Mask>(window == asked) << i;
  }
  store_lanes(warp.pred(insn.op[0]), result, warp.exec);
}

Status lower_isspacep(Lowering& l) {
  Form form(l.instruction());
  const Window window = take_window(form);
  if (window == Window::kUnknown || !form.done()) return l.unsupported();
  if (l.operand_count() != 2) return l.invalid(fmt::format("takes 2 operands, not {}", l.operand_count()));
  KW_TRY(const Vreg address, l.use(l.operand(1), 8));
  KW_TRY(const Vreg destination, l.def_predicate(l.operand(0)));
  Insn& insn = l.emit(&isspacep, &isspacep, Counters::kPredicate);
  insn.op[0] = destination;
  insn.op[1] = address;
  insn.op_defs = 1;
  insn.op_uses = 2;
  insn.aux = static_cast<uint32_t>(window);
  return {};
}

constexpr OpEntry kOps[] = {
    {"mov", nullptr, lower_mov}, {"prmt", nullptr, lower_prmt}, {"cvta", nullptr, lower_cvta},
    {"isspacep", nullptr, lower_isspacep},
};

}  // namespace

std::span<const OpEntry> move_ops() { return kOps; }

}  // namespace kw::emu
