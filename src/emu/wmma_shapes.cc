#include "emu/mma_shapes.h"

namespace kw::emu {
namespace {

// Hardware builds a wmma product from m16n8 tiles, with the fragments of mma.sync: 16 rows of A, 8 columns of
// B at a time. An m8n32 product is computed as the transpose of m32n8.

struct Place {
  unsigned outer = 0, along_k = 0;   // row of A or column of B; column of A or row of B
};

// The operand whose outer extent comes in tiles of 16 (or 8 within one k step of a tile).
Place tall_place(unsigned k, unsigned per_register, unsigned lane, unsigned reg, unsigned e) {
  const unsigned step = 4 * per_register;            // elements along k that a row's four lanes hold
  const unsigned registers_per_tile = 2 * (k / step);
  const unsigned tile = reg / registers_per_tile, within = reg % registers_per_tile;
  return {lane / 4 + 8 * (within % 2) + 16 * tile, step * (within / 2) + per_register * (lane % 4) + e};
}

// The operand whose outer extent comes in tiles of 8.
Place wide_place(unsigned k, unsigned per_register, unsigned lane, unsigned reg, unsigned e) {
  const unsigned step = 4 * per_register;
  const unsigned registers_per_tile = k / step;
  const unsigned tile = reg / registers_per_tile, within = reg % registers_per_tile;
  return {lane / 4 + 8 * tile, step * within + per_register * (lane % 4) + e};
}

}  // namespace

FragmentSize wmma_fragment_size(const MmaShape& shape, Element element, Part part) {
  FragmentSize size;
  size.register_bytes = element == Element::kF64 ? 8 : 4;
  size.per_register = size.register_bytes * 8 / bits_of(element);
  const unsigned rows = part == Part::kB ? shape.k : shape.m;
  const unsigned columns = part == Part::kA ? shape.k : shape.n;
  const bool multiplicand = part == Part::kA || part == Part::kB;
  // f16 multiplicands have 16 elements per lane in every shape; smaller matrices repeat.
  size.registers = element == Element::kF16 && multiplicand ? 8 : rows * columns / (32 * size.per_register);
  return size;
}

Position wmma_position(const MmaShape& shape, Element element, Part part, unsigned lane, unsigned reg,
                       unsigned element_index) {
  const unsigned per_register = wmma_fragment_size(shape, element, part).per_register;
  const bool transposed = shape.m == 8 && shape.n == 32;
  Position at;
  if (part == Part::kC || part == Part::kD) {
    const unsigned i = reg * per_register + element_index;
    unsigned tall = lane / 4 + 8 * (i / 2), wide = 2 * (lane % 4) + i % 2;
    if (shape.m == 16) {   // two tiles side by side
      tall = lane / 4 + 8 * (i / 2 % 2);
      wide += 8 * (i / 4);
    }
    at.row = transposed ? wide : tall;
    at.column = transposed ? tall : wide;
    return at;
  }
  const unsigned outer = part == Part::kA ? shape.m : shape.n;
  const unsigned distinct = outer * shape.k / (32 * per_register);   // registers before they repeat
  const bool tall = outer >= 16 && (part == Part::kA) != transposed;
  const Place place = tall ? tall_place(shape.k, per_register, lane, reg % distinct, element_index)
                           : wide_place(shape.k, per_register, lane, reg % distinct, element_index);
  at.row = part == Part::kA ? place.outer : place.along_k;
  at.column = part == Part::kA ? place.along_k : place.outer;
  return at;
}

}  // namespace kw::emu
