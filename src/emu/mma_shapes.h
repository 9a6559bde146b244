// Where each element of a matrix fragment lives: (lane, register, element of the register) → (row, column).
// Source: PTX ISA 9.7.14, "Matrix Fragments for mma.…" of each shape; the metadata of sparse forms from
// "Sparse matrix storage" there. With g = lane / 4 and t = lane % 4, every mma.sync of sm_75 and later follows
// one rule (a register holds E consecutive elements along k):
//   A: row g (+8 in odd registers), column 4E·(register/2) + E·t + e
//   B: row 4E·register + E·t + e, column g
//   C: row g + 8·(i/2), column 2t + i%2, for the i-th element
// f16 m8n8k4 of sm_70 is four products, each on eight lanes, with rules of its own.
// The fragments of wmma are unspecified by the ISA beyond their element counts; these are the ones that
// hardware of sm_80 to sm_90 uses (wmma_shapes.cc).
// Pure functions; thread-safe. Internal to emu.
#pragma once

#include "emu/mma_form.h"

namespace kw::emu {

struct FragmentSize {
  unsigned registers = 0;
  unsigned register_bytes = 4;   // 4; 8 for f64
  unsigned per_register = 1;     // elements in one
};

struct Position {
  unsigned product = 0;          // which of MmaForm::products()
  unsigned row = 0, column = 0;  // of A (sparse: of its stored half), B, C or D
};

// Rows and columns of a part as stored: a sparse A has k/2 columns.
struct Extent {
  unsigned rows = 0, columns = 0;
};
Extent extent_of(const MmaForm& form, Part part);
Element element_of(const MmaForm& form, Part part);

FragmentSize fragment_size(const MmaForm& form, Part part);
Position position_of(const MmaForm& form, Part part, unsigned lane, unsigned reg, unsigned element);

// A fragment of wmma, which also wmma.load and wmma.store move. Only shape, element and part matter; elements
// of f16 A and B that fit more than once are held by several lanes.
FragmentSize wmma_fragment_size(const MmaShape& shape, Element element, Part part);
Position wmma_position(const MmaShape& shape, Element element, Part part, unsigned lane, unsigned reg,
                       unsigned element_index);

// The four metadata bits that choose the columns of A's group `group` in `row`: the lane whose metadata
// register holds them, and the lowest bit.
struct MetadataBits {
  unsigned lane = 0, shift = 0;
};
MetadataBits metadata_bits(const MmaForm& form, unsigned row, unsigned group);

// The column of the full A that the `stored` column of the compressed A stands for, given the four bits of its
// group (stored / stored_per_group).
unsigned stored_per_group(const MmaForm& form);
unsigned dense_column(const MmaForm& form, unsigned stored, unsigned bits);

}  // namespace kw::emu
