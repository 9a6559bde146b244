// The slow, general path of `cvt`: any scalar type to any other with every rounding and saturation, one lane
// at a time, exact. convert_loops.cc has vector loops for the forms that matter and falls back on this.
// Meaning: PTX ISA section 9.7.9, `cvt`. Internal to emu.
#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace kw::emu {

struct Conversion {
  tensor::DType to = tensor::DType::kF32, from = tensor::DType::kF32;
  tensor::Rounding rounding = tensor::Rounding::kNearestEven;
  bool integral = false;    // .rni .rzi .rmi .rpi between floats of one type: the result is a whole number
  bool ftz = false, sat = false, satfinite = false, relu = false;
};
static_assert(sizeof(Conversion) == 8);   // it travels in Insn::imm

// `bits`: the source value in the low bits. Returns the destination's bits.
uint64_t convert_lane(uint64_t bits, const Conversion& conversion);

}  // namespace kw::emu
