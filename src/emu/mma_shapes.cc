#include "emu/mma_shapes.h"

namespace kw::emu {
namespace {

// f16 m8n8k4: lanes 4q…4q+3 and 16+4q…16+4q+3 make quad pair q, which computes product q.
Position quad_pair_position(const MmaForm& form, Part part, unsigned lane, unsigned i) {
  const unsigned within = lane % 4, upper = lane / 16 * 4;   // upper: 4 in the second half of the pair
  Position at;
  at.product = lane / 4 % 4;
  switch (part) {
    case Part::kA:
      at.row = form.a_row ? within + upper : i + upper;
      at.column = form.a_row ? i : within;
      break;
    case Part::kB:
      at.row = form.b_row ? within : i;
      at.column = form.b_row ? i + upper : within + upper;
      break;
    case Part::kC:
    case Part::kD:
      if (element_of(form, part) == Element::kF16) {
        at.row = within + upper;
        at.column = i;
      } else {
        at.row = (lane & 1) + (i & 2) + upper;
        at.column = (i & 4) + (lane & 2) + (i & 1);
      }
      break;
  }
  return at;
}

}  // namespace

Element element_of(const MmaForm& form, Part part) {
  switch (part) {
    case Part::kA: return form.a;
    case Part::kB: return form.b;
    case Part::kC: return form.c;
    case Part::kD: return form.d;
  }
  return form.d;
}

Extent extent_of(const MmaForm& form, Part part) {
  const unsigned m = form.shape.m, n = form.shape.n, k = form.shape.k;
  if (part == Part::kA) return {m, form.sparse ? k / 2 : k};
  if (part == Part::kB) return {k, n};
  return {m, n};
}

FragmentSize fragment_size(const MmaForm& form, Part part) {
  const Element element = element_of(form, part);
  if (form.wmma) return wmma_fragment_size(form.shape, element, part);
  const Extent extent = extent_of(form, part);
  FragmentSize size;
  size.register_bytes = element == Element::kF64 ? 8 : 4;
  size.per_register = size.register_bytes * 8 / bits_of(element);
  size.registers = form.products() * extent.rows * extent.columns / (32 * size.per_register);
  return size;
}

Position position_of(const MmaForm& form, Part part, unsigned lane, unsigned reg, unsigned element) {
  if (form.wmma) return wmma_position(form.shape, element_of(form, part), part, lane, reg, element);
  const unsigned per_register = fragment_size(form, part).per_register;
  const unsigned i = reg * per_register + element;
  if (form.products() == 4) return quad_pair_position(form, part, lane, i);
  const unsigned g = lane / 4, t = lane % 4;
  Position at;
  switch (part) {
    case Part::kA:
      at.row = form.shape.m == 8 ? g : g + 8 * (reg % 2);
      at.column = (form.shape.m == 8 ? reg : reg / 2) * 4 * per_register + t * per_register + element;
      break;
    case Part::kB:
      at.row = reg * 4 * per_register + t * per_register + element;
      at.column = g;
      break;
    case Part::kC:
    case Part::kD:
      at.row = g + 8 * (i / 2);
      at.column = 2 * t + i % 2;
      break;
  }
  return at;
}

unsigned stored_per_group(const MmaForm& form) {
  return form.a == Element::kTF32 ? 1 : bits_of(form.a) == 4 ? 4 : 2;
}

unsigned dense_column(const MmaForm& form, unsigned stored, unsigned bits) {
  const unsigned per_group = stored_per_group(form);
  const unsigned group = stored / per_group, within = stored % per_group;
  if (form.a == Element::kTF32) return group * 2 + (bits >> 3 & 1);   // 0b0100: the first, 0b1110: the second
  // s4 and u4 keep pairs of neighbours: two bits choose a pair among the four of the group.
  if (bits_of(form.a) == 4) return group * 8 + (bits >> (within / 2 * 2) & 3) * 2 + within % 2;
  return group * 4 + (bits >> (within * 2) & 3);
}

MetadataBits metadata_bits(const MmaForm& form, unsigned row, unsigned group) {
  const unsigned g = row % 8, upper = row / 8;
  switch (selector_count(form)) {
    case 4:   // one lane of the quad: rows g and g+8 in its halves
      return {g * 4 + form.selector, upper * 16 + group * 4};
    case 2: {
      const unsigned first = g * 4 + form.selector * 2;
      // 16- and 32-bit elements: each lane of the pair holds half of the columns of both rows; narrower
      // ones: each lane holds one row.
      if (bits_of(form.a) >= 16) return {first + group / 4, upper * 16 + group % 4 * 4};
      return {first + upper, group * 4};
    }
    default:  // the whole quad: lanes 0 and 1 hold row g or g+8 of the first half of k, 2 and 3 of the second
      return {g * 4 + upper + group / 8 * 2, group % 8 * 4};
  }
}

}  // namespace kw::emu
