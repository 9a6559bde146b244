// What a run of a case found, against what was expected.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "emu/case_file.h"
#include "emu/case_value.h"

namespace kw::emu {
namespace {

double as_double(uint64_t bits, uint32_t bytes) {
  return bytes == 4 ? static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits))) : std::bit_cast<double>(bits);
}
// Distance in representable values.
double ulps(uint64_t a, uint64_t b, uint32_t bytes) {
  const uint64_t top = 1ull << (8 * bytes - 1);
  const auto order = [&](uint64_t x) { return x & top ? -static_cast<double>(x ^ top) : static_cast<double>(x); };
  return std::fabs(order(a) - order(b));
}
bool agree(const Expectation& e, uint64_t found, uint64_t wanted, uint32_t bytes) {
  if (found == wanted) return true;
  if (e.within == Expectation::Within::kExact) return false;
  if (e.within == Expectation::Within::kUlp) return ulps(found, wanted, bytes) <= e.tolerance;
  const double a = as_double(found, bytes), b = as_double(wanted, bytes);
  if (!std::isfinite(a) || !std::isfinite(b)) return false;
  const double scale = e.within == Expectation::Within::kRelative ? std::fabs(b) : 1.0;
  return std::fabs(a - b) <= e.tolerance * scale;
}
std::string shown(const Number& n, uint32_t bytes, bool is_float, bool hexadecimal) {
  if (bytes == 16) return n.high ? fmt::format("0x{:x}{:016x}", n.high, n.low) : fmt::format("0x{:x}", n.low);
  if (is_float && !hexadecimal) {
    const double value = as_double(n.low, bytes);
    if (std::isnan(value)) return bytes == 4 ? fmt::format("0x{:08x}", n.low) : fmt::format("0x{:016x}", n.low);
    return bytes == 4 ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
  }
  if (hexadecimal) return fmt::format("0x{:0{}x}", n.low, 2 * bytes);
  return fmt::format("{}", n.low);
}
// What was found, as a list of numbers; the type they are of.
struct Found { std::vector<Number> numbers; uint32_t bytes = 0; bool is_float = false; };
Result<Found> found_values(const Expectation& e, const CaseKernel& kernel, std::span<const uint8_t> results,
                           ReadVariable read_variable, void* context) {
  Found found;
  if (e.name.starts_with('%')) {
    const auto field = std::find_if(kernel.fields.begin(), kernel.fields.end(), [&](const auto& f) { return f.reg == e.name; });
    if (field == kernel.fields.end()) return fail(ErrorCode::kInvalid, "no result for {}", e.name);
    found.bytes = field->bytes;
    found.is_float = prefix_of(e.name)->type[0] == 'f';
    for (uint32_t t = 0; t < kernel.threads; ++t) {
      Number n;
      const uint8_t* at = results.data() + field->offset + 16ull * t;
      std::memcpy(&n.low, at, std::min<size_t>(8, found.bytes));
      if (found.bytes == 16) std::memcpy(&n.high, at + 8, 8);
      found.numbers.push_back(n);
    }
    return found;
  }
  const ElementType& type = *element_type(e.type);
  KW_TRY(const std::vector<uint8_t> bytes, read_variable(context, e.name));
  found.bytes = type.bytes;
  found.is_float = type.is_float;
  for (size_t at = 0; at + type.bytes <= bytes.size(); at += type.bytes) {
    Number n;
    std::memcpy(&n.low, bytes.data() + at, type.bytes);
    found.numbers.push_back(n);
  }
  return found;
}

}  // namespace

std::string mismatch(const Case& test, const CaseKernel& kernel, std::span<const uint8_t> results,
                     ReadVariable read_variable, void* context) {
  std::string out;
  for (const Expectation& e : test.expected) {
    if (kernel.variant != Variant::kPlain && !e.name.starts_with('%')) continue;
    auto found = found_values(e, kernel, results, read_variable, context);
    if (!found) return format_error(found.error());
    const bool is_input = std::any_of(test.inputs.begin(), test.inputs.end(), [&](const CaseInput& in) { return in.reg == e.name; });
    if (e.values.empty()) return fmt::format("line {}: {} has no values", e.line, e.name);
    int shown_count = 0;
    for (size_t i = 0; i < found->numbers.size(); ++i) {
      Number wanted;
      if (!parse_number(e.values[i % e.values.size()], found->bytes, found->is_float, wanted))
        return fmt::format("line {}: '{}' is no value of {}", e.line, e.values[i % e.values.size()], e.name);
      const bool off = kernel.variant == Variant::kOddLanes && i % 2 == 0;
      if (off && is_input) continue;
      if (off) wanted = {};
      if (agree(e, found->numbers[i].low, wanted.low, found->bytes) && found->numbers[i].high == wanted.high) continue;
      if (++shown_count > 4) continue;
      out += fmt::format("line {}: {}[{}] is {} ({}), expected {} ({})\n", e.line, e.name, i,
                         shown(found->numbers[i], found->bytes, found->is_float, false),
                         shown(found->numbers[i], found->bytes, false, true),
                         off ? "0 (a lane that is off)" : e.values[i % e.values.size()],
                         shown(wanted, found->bytes, false, true));
    }
    if (shown_count > 4) out += fmt::format("line {}: {} more in {}\n", e.line, shown_count - 4, e.name);
  }
  return out;
}

std::string updated_line(const Case& test, const Expectation& e, const CaseKernel& kernel, std::span<const uint8_t> results,
                         ReadVariable read_variable, void* context) {
  auto found = found_values(e, kernel, results, read_variable, context);
  if (!found) return {};
  (void)test;
  std::vector<std::string> values;
  for (const Number& n : found->numbers) values.push_back(shown(n, found->bytes, found->is_float, e.hexadecimal));
  // The shortest list that repeats to the whole.
  for (size_t length = 1; length <= values.size(); ++length) {
    bool repeats = true;
    for (size_t i = length; i < values.size(); ++i) repeats &= values[i] == values[i % length];
    if (repeats) {
      values.resize(length);
      break;
    }
  }
  std::string line = e.name;
  if (e.hexadecimal) line += ":x";
  if (!e.type.empty()) line += ":" + e.type;
  if (e.within != Expectation::Within::kExact)
    line += fmt::format(" within {} {}", e.tolerance,
                        e.within == Expectation::Within::kUlp ? "ulp" : e.within == Expectation::Within::kAbsolute ? "abs" : "rel");
  line += " =";
  for (const std::string& v : values) line += " " + v;
  return line;
}

}  // namespace kw::emu
