// What an mma handler needs at run time, made once per form: operand counts and, for the path that serves every
// form, tables from fragment positions to matrix elements. Internal to emu.
//
// An mma Insn has all its registers in Insn::more: D, A, B, C, then the metadata register of a sparse form; imm is
// the MmaPlan. Handlers read every source before they write a destination, except the fast ones, which
// demand that D shares registers with C only, place by place (ops_mma.cc sees to it).
//
// Numbers: products are exact; f32 and f16 accumulation is one chain of f32 fused multiply-adds per element of
// D, from C upwards in k, rounded to f16 at the end where D is f16; hardware adds in another order with other
// roundings, so results agree to tolerance only. f64 is a chain of f64 fused multiply-adds. Integers are exact
// and wrap, or clamp at the end with .satfinite. A NaN result is 0x7fffffff (0x7fff).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "emu/mma_shapes.h"
#include "emu/warp.h"

namespace kw::emu {

struct MmaPlan {
  MmaForm form;
  uint64_t operations = 0;
  std::array<FragmentSize, 4> size{};                  // by Part
  std::array<Extent, 4> extent{};
  // [register][lane][element] → element of the matrix: product-major, then row-major. b1: one entry
  // per register, the word of the row of A or the column of B.
  std::array<std::vector<uint16_t>, 4> element{};
  // Sparse: [row][stored column] → where the four bits of its group are.
  std::vector<MetadataBits> metadata;
  std::vector<uint8_t> column;   // [stored column][the four bits] → column of the full A

  const FragmentSize& of(Part part) const { return size[static_cast<size_t>(part)]; }
  // Offset of a part's first register in Insn::more; metadata_operand for the one after C.
  unsigned first(Part part) const;
  unsigned metadata_operand() const { return first(Part::kC) + of(Part::kC).registers; }
  unsigned operands() const { return metadata_operand() + (form.sparse ? 1 : 0); }
};

// The plan of a form; lives as long as the process. Any thread.
const MmaPlan& mma_plan(const MmaForm& form);

inline const MmaPlan& plan_of(const Insn& insn) { return *reinterpret_cast<const MmaPlan*>(insn.imm); }

// Serves every form. The lanes outside warp.exec keep their registers.
void run_mma_generic(Warp& warp, const Insn& insn);

// Handlers for all 32 lanes that serve one form only; null when there is none for it, or in a build without
// AVX2, FMA and F16C.
Handler fast_float_mma(const MmaForm& form);     // mma_float.cc
Handler fast_integer_mma(const MmaForm& form);   // mma_int.cc

// Lets neighbours with the same A share the work on it; after slots are assigned. The first then does both when all
// lanes execute. It is never executed apart from the second: neither executes before all lanes of the warp are here,
// nothing in between can interrupt them, and both are in one basic block.
void fuse_products(Code& code);

}  // namespace kw::emu
