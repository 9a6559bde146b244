#include "unary_golden.h"

#include <fmt/format.h>

#include <sstream>
#include <string_view>

#include "approximation.h"
#include "base/hash.h"

namespace kw::golden {
namespace {

std::string hash_of(const std::vector<uint8_t>& bytes) {
  return fmt::format("{:016x}", hash_64({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
}

std::string name_of(const Bound& bound) {
  static constexpr std::string_view kNames[] = {"ulp", "relative", "absolute", "logarithm"};
  return std::string(bound.stated ? "" : "unstated-") + std::string(kNames[static_cast<int>(bound.measure)]);
}

}  // namespace

GoldenLine line_of(const UnaryForm& form, const std::vector<uint8_t>& input, const std::vector<uint8_t>& output) {
  GoldenLine line{.form = form.name, .sweep = form.sweep, .executions = executions(form, input)};
  const auto bound = bound_of(form);
  if (!bound) {
    line.hash = hash_of(output);
    return line;
  }
  const ApproximationError error = error_of(form, *bound, input, output);
  line.approximate = true;
  line.limit = bound->limit;
  line.measure = name_of(*bound);
  line.worst = error.worst;
  line.worst_operand = error.worst_operand;
  line.exceptions = error.exceptions;
  line.hash = hash_of(error.exceptional);
  return line;
}

std::string text_of(const GoldenLine& line) {
  const std::string head = fmt::format("{} {} {} ", line.form, line.sweep, line.executions);
  if (!line.approximate) return head + line.hash;
  return head + fmt::format("within {:.6g} {} worst {:.6g} at 0x{:x} exceptions {} {}", line.limit, line.measure, line.worst,
                            line.worst_operand, line.exceptions, line.hash);
}

std::vector<GoldenLine> read_golden(const std::string& text) {
  std::vector<GoldenLine> lines;
  std::istringstream in(text);
  for (std::string row; std::getline(in, row);) {
    if (row.empty() || row[0] == '#') continue;
    std::istringstream fields(row);
    GoldenLine line;
    std::string word;
    if (!(fields >> line.form >> line.sweep >> line.executions >> line.hash)) continue;
    if (line.hash == "within") {
      line.approximate = true;
      fields >> line.limit >> line.measure >> word >> line.worst >> word >> std::hex >> line.worst_operand >> std::dec >> word >>
          line.exceptions >> line.hash;
      if (!fields) continue;
    }
    lines.push_back(line);
  }
  return lines;
}

}  // namespace kw::golden
