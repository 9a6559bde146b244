#include "emu/wmma_move.h"

#include <cstring>
#include <vector>

#include "emu/aligned.h"
#include "emu/memory_access.h"
#include "emu/mma_shapes.h"

namespace kw::emu {
namespace {

// What can be moved: a part of a shape, of one element type. Signs and the two 16-bit types that differ in
// value only share an entry where their fragments are alike.
struct Movable {
  MmaShape shape;
  Element element = Element::kF16;
  Part part = Part::kA;            // kC for accumulators, loaded or stored
  FragmentSize size;
  unsigned rows = 0, columns = 0;
  std::vector<Position> at;        // [register][lane][element]
};

std::vector<Movable> all_movables() {
  std::vector<Movable> all;
  const auto add = [&](MmaShape shape, Element element, Part part) {
    Movable m{shape, element, part, wmma_fragment_size(shape, element, part), 0, 0, {}};
    m.rows = part == Part::kB ? shape.k : shape.m;
    m.columns = part == Part::kA ? shape.k : shape.n;
    for (unsigned reg = 0; reg < m.size.registers; ++reg)
      for (unsigned lane = 0; lane < kLanes; ++lane)
        for (unsigned e = 0; e < m.size.per_register; ++e)
          m.at.push_back(wmma_position(shape, element, part, lane, reg, e));
    all.push_back(std::move(m));
  };
  const auto add_all = [&](MmaShape shape, std::initializer_list<Element> multiplicands,
                           std::initializer_list<Element> accumulators) {
    for (const Element element : multiplicands) {
      add(shape, element, Part::kA);
      add(shape, element, Part::kB);
    }
    for (const Element element : accumulators) add(shape, element, Part::kC);
  };
  for (const MmaShape shape : {MmaShape{16, 16, 16}, {8, 32, 16}, {32, 8, 16}})
    add_all(shape, {Element::kF16, Element::kBF16, Element::kS8, Element::kU8},
            {Element::kF16, Element::kF32, Element::kS32});
  add_all({16, 16, 8}, {Element::kTF32}, {Element::kF32});
  add_all({8, 8, 4}, {Element::kF64}, {Element::kF64});
  add_all({8, 8, 32}, {Element::kS4, Element::kU4}, {Element::kS32});
  add_all({8, 8, 128}, {Element::kB1}, {Element::kS32});
  return all;
}

const std::vector<Movable>& movables() {
  static const std::vector<Movable> all = all_movables();
  return all;
}

// Above the address bits of Insn::aux.
constexpr uint32_t kByRow = 1u << kAddressBits;
constexpr unsigned kIndexShift = kAddressBits + 1;

// Every row of the matrix must start on 16 bytes (the base on 32, strides in multiples of 16 bytes: CUDA C++
// Programming Guide, "Warp matrix functions").
constexpr unsigned kAlignment = 16;

// Rows (or columns) that lie contiguously in memory.
struct Lines {
  uint64_t host[kLanes];   // of each line
  unsigned count = 0, elements = 0, bits = 0;
};

// op: address, stride. False: faulted.
bool resolve_lines(Warp& warp, const Insn& insn, const Movable& m, Access how, Lines& lines) {
  const bool by_row = (insn.aux & kByRow) != 0;
  lines.count = by_row ? m.rows : m.columns;
  lines.elements = by_row ? m.columns : m.rows;
  lines.bits = bits_of(m.element);
  alignas(32) uint64_t addresses[kLanes];
  compute_addresses(warp, insn, addresses);
  const uint32_t* const strides = warp.reg<uint32_t>(insn.op[1]);
  for (int lane = 1; lane < kLanes; ++lane) {
    if (addresses[lane] == addresses[0] && strides[lane] == strides[0]) continue;
    Finding finding;
    finding.kind = Finding::Kind::kInvalidOperand;
    finding.fatal = true;
    finding.message = fmt::format(
        "all lanes must give one address and one stride; lane 0 gives {:#x} and {}, lane {} gives {:#x} and {}",
        addresses[0], strides[0], lane, addresses[lane], strides[lane]);
    warp.block->fault(warp, insn, lane, std::move(finding));
    return false;
  }
  const uint64_t line_bits = static_cast<uint64_t>(strides[0]) * lines.bits;
  if (line_bits % 8 != 0) {
    Finding finding;
    finding.kind = Finding::Kind::kInvalidOperand;
    finding.fatal = true;
    finding.message = fmt::format("a stride of {} elements of {} bits is not a whole number of bytes", strides[0],
                                  lines.bits);
    warp.block->fault(warp, insn, 0, std::move(finding));
    return false;
  }
  for (unsigned line = 0; line < lines.count; ++line) lines.host[line] = addresses[0] + line * (line_bits / 8);
  for (unsigned line = lines.count; line < kLanes; ++line) lines.host[line] = addresses[0];
  const Mask mask = lines.count == 32 ? kFull : (1u << lines.count) - 1;
  return resolve(warp, insn, space_of(insn), how, lines.host, mask, lines.elements * lines.bits / 8, kAlignment);
}

// f(host address of the byte that holds an element's lowest bit, that bit's number, its bit in the register).
template <typename F>
void for_elements(const Movable& m, const Lines& lines, bool by_row, const Position* at, F&& f) {
  for (unsigned e = 0; e < m.size.per_register; ++e) {
    const unsigned line = by_row ? at[e].row : at[e].column, within = by_row ? at[e].column : at[e].row;
    const unsigned bit = within * lines.bits;
    f(reinterpret_cast<uint8_t*>(lines.host[line]) + bit / 8, bit % 8, e * lines.bits);
  }
}

// more: the fragment.
void load_fragment(Warp& warp, const Insn& insn) {
  if (!all_lanes_here(warp, insn)) return;
  const Movable& m = movables()[insn.aux >> kIndexShift];
  const bool by_row = (insn.aux & kByRow) != 0;
  Lines lines;
  if (!resolve_lines(warp, insn, m, Access::kMatrixRead, lines)) return;
  const Position* at = m.at.data();
  for (unsigned reg = 0; reg < m.size.registers; ++reg)
    for (int lane = 0; lane < kLanes; ++lane, at += m.size.per_register) {
      uint64_t word = 0;
      for_elements(m, lines, by_row, at, [&](const uint8_t* from, unsigned bit, unsigned shift) {
        uint64_t value = 0;
        if (lines.bits >= 8) std::memcpy(&value, from, lines.bits / 8);
        else value = static_cast<uint64_t>(*from) >> bit & ((1u << lines.bits) - 1);
        word |= value << shift;
      });
      if (m.size.register_bytes == 8) warp.reg<uint64_t>(insn.more[reg])[lane] = word;
      else warp.reg<uint32_t>(insn.more[reg])[lane] = static_cast<uint32_t>(word);
    }
}

void store_fragment(Warp& warp, const Insn& insn) {
  if (!all_lanes_here(warp, insn)) return;
  const Movable& m = movables()[insn.aux >> kIndexShift];
  const bool by_row = (insn.aux & kByRow) != 0;
  Lines lines;
  if (!resolve_lines(warp, insn, m, Access::kMatrixWrite, lines)) return;
  const Position* at = m.at.data();
  for (unsigned reg = 0; reg < m.size.registers; ++reg)
    for (int lane = 0; lane < kLanes; ++lane, at += m.size.per_register) {
      const uint64_t word = m.size.register_bytes == 8 ? warp.reg<uint64_t>(insn.more[reg])[lane]
                                                       : warp.reg<uint32_t>(insn.more[reg])[lane];
      // Accumulators only: 16 bits or more.
      for_elements(m, lines, by_row, at, [&](uint8_t* to, unsigned, unsigned shift) {
        const uint64_t value = word >> shift;
        std::memcpy(to, &value, lines.bits / 8);
      });
    }
}

struct Form {
  size_t movable = 0;
  bool by_row = true;
  ptx::Space space = ptx::Space::kNone;
};

Result<Form> form_of(const Lowering& lowering, bool store) {
  Form form;
  bool sync = false, aligned = false;
  std::optional<Part> part;
  std::optional<bool> by_row;
  std::optional<MmaShape> shape;
  std::optional<Element> element;
  for (const std::string_view modifier : lowering.instruction().modifiers) {
    if (modifier == (store ? "store" : "load")) continue;
    if (modifier == "sync") sync = true;
    else if (modifier == "aligned") aligned = true;
    else if (modifier == "row" || modifier == "col") by_row = modifier == "row";
    else if (!store && modifier == "a") part = Part::kA;
    else if (!store && modifier == "b") part = Part::kB;
    else if (modifier == (store ? "d" : "c")) part = Part::kC;
    else if (const auto named = shape_named(modifier)) shape = named;
    else if (const auto type = element_named(modifier)) element = type;
    else if (const auto space = space_named(modifier); space == ptx::Space::kGlobal || space == ptx::Space::kShared)
      form.space = space;
    else return lowering.unsupported();
  }
  if (!sync || !aligned || !part || !by_row || !shape || !element) return lowering.unsupported();
  form.by_row = *by_row;
  // Sub-byte multiplicands lie along k only.
  const bool narrow = bits_of(*element) < 8;
  if (narrow && form.by_row != (*part == Part::kA)) return lowering.unsupported();
  const std::vector<Movable>& all = movables();
  for (form.movable = 0; form.movable < all.size(); ++form.movable) {
    const Movable& m = all[form.movable];
    if (m.shape == *shape && m.element == *element && m.part == *part) return form;
  }
  return lowering.unsupported();
}

Status lower_move(Lowering& lowering, bool store) {
  KW_TRY(const Form form, form_of(lowering, store));
  const Movable& m = movables()[form.movable];
  const size_t count = lowering.operand_count();
  if (count != 2 && count != 3)
    return lowering.invalid(store ? "takes an address, a fragment and a stride" : "takes a fragment, an address and a stride");
  KW_TRY(const Lowering::Address address, lowering.address(lowering.operand(store ? 0 : 1), form.space));
  if (address.in_frame) return lowering.invalid("cannot use .local memory");
  Vreg stride = kNone;
  if (count == 3) {
    KW_TRY(stride, lowering.use(lowering.operand(2), 4));
  } else {
    stride = lowering.constant(form.by_row ? m.columns : m.rows, 4);
  }
  const auto elements = fragment_operands(lowering.operand(store ? 1 : 0));
  if (elements.size() != m.size.registers)
    return lowering.invalid(fmt::format("the fragment takes {} registers, {} given", m.size.registers, elements.size()));
  std::vector<Vreg> registers;
  for (const ptx::Operand& element : elements) {
    KW_TRY(const Vreg reg, store ? lowering.use(element, m.size.register_bytes) : lowering.def(element, m.size.register_bytes));
    registers.push_back(reg);
  }
  const Handler handler = store ? &store_fragment : &load_fragment;
  Insn& insn = lowering.emit(handler, handler, Counters::kMatrixLoad);
  insn.aux = static_cast<uint32_t>(form.movable) << kIndexShift | (form.by_row ? kByRow : 0);
  set_address(insn, form.space, address);
  insn.op[1] = stride;
  insn.op_uses |= 2;
  if (store) lowering.set_more(insn, {}, registers);
  else lowering.set_more(insn, registers, {});
  return {};
}

}  // namespace

Status lower_wmma_load(Lowering& lowering) { return lower_move(lowering, false); }
Status lower_wmma_store(Lowering& lowering) { return lower_move(lowering, true); }

}  // namespace kw::emu
