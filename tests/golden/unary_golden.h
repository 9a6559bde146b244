// The lines of unary.golden. A line for an exact form:
//   FORM SWEEP EXECUTIONS HASH
// and for an approximate one, where hardware may differ from hardware:
//   FORM SWEEP EXECUTIONS within LIMIT MEASURE worst WORST at OPERAND exceptions COUNT HASH
// HASH: XXH3, 64 bits, of the results (of the exceptional ones) in order, little-endian, as wide as their register.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "unary_form.h"

namespace kw::golden {

struct GoldenLine {
  std::string form, sweep;
  size_t executions = 0;
  std::string hash;
  bool approximate = false;
  double limit = 0, worst = 0;
  std::string measure;          // "ulp", "relative", "absolute", "logarithm"; with "unstated-" where the ISA has no bound
  uint64_t worst_operand = 0;
  size_t exceptions = 0;
};

GoldenLine line_of(const UnaryForm& form, const std::vector<uint8_t>& input, const std::vector<uint8_t>& output);
std::string text_of(const GoldenLine& line);
std::vector<GoldenLine> read_golden(const std::string& text);   // without the lines that begin with '#'; what is no line is left out

}  // namespace kw::golden
