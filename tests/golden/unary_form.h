// One-operand instructions (and those of two operands in which .ftz needs a close look) as stand-alone PTX kernels over a
// known sweep of inputs: what the golden corpus unary.golden is made of (make_unary_golden.cc, on a GPU) and checked against
// (unary_golden_test.cc, on the emulator). The forms are all that ptxas of CUDA 13.0 accepts for sm_90 of cvt, of the one-operand
// float instructions and of the one-operand integer instructions. Values; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kw::golden {

struct UnaryForm {
  std::string name;         // "cvt.rni.sat.u8.f16": the instruction, complete
  std::string opcode;       // "cvt"
  std::string to, from;     // types: "u8", "f16"
  unsigned to_bits = 0, from_bits = 0;   // of the registers: 16, 32 or 64
  bool pair = false;        // two operands of the type `from`: of a sweep of pairs, else a value and its opposite in the sweep
  std::string sweep;        // the inputs, by name (sweep.h)
  bool has(std::string_view modifier) const;
};

std::vector<UnaryForm> all_unary_forms();

// The operands of every execution in order, from_bits wide each (twice that for a pair: a, then b). The number of executions
// is a multiple of kBlock.
std::vector<uint8_t> input_bytes(const UnaryForm& form);
size_t executions(const UnaryForm& form, const std::vector<uint8_t>& input);

// Entry k(in, out): thread t of the grid reads the t-th operand and writes the t-th result, to_bits wide.
inline constexpr unsigned kBlock = 256;
std::string kernel_text(const UnaryForm& form);

}  // namespace kw::golden
