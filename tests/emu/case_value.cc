#include "emu/case_value.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstdlib>

namespace kw::emu {
namespace {

// Longer prefixes first.
constexpr Prefix kPrefixes[] = {{"%rs", "b16", 2}, {"%rd", "b64", 8}, {"%rb", "b8", 1}, {"%rq", "b128", 16},
                                {"%fd", "f64", 8}, {"%p", "pred", 0}, {"%h", "b16", 2}, {"%r", "b32", 4},
                                {"%f", "f32", 4}};
constexpr ElementType kElementTypes[] = {{"b8", 1, false},  {"b16", 2, false}, {"b32", 4, false},
                                         {"b64", 8, false}, {"f32", 4, true},  {"f64", 8, true}};

}  // namespace

const Prefix* prefix_of(std::string_view name) {
  for (const Prefix& p : kPrefixes) {
    if (!name.starts_with(p.prefix) || name.size() == p.prefix.size()) continue;
    const std::string_view rest = name.substr(p.prefix.size());
    if (std::all_of(rest.begin(), rest.end(), [](unsigned char c) { return std::isdigit(c); })) return &p;
  }
  return nullptr;
}

const ElementType* element_type(std::string_view name) {
  for (const ElementType& t : kElementTypes)
    if (t.name == name) return &t;
  return nullptr;
}

bool parse_number(const std::string& text, uint32_t bytes, bool is_float, Number& out) {
  if (text.empty()) return false;
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  char* end = nullptr;
  if (hex) {
    const char* digits = text.c_str() + 2;
    const size_t count = text.size() - 2;
    if (count == 0 || count > 32) return false;
    if (count > 16) {
      const std::string upper = text.substr(2, count - 16);
      out.high = std::strtoull(upper.c_str(), &end, 16);
      if (*end) return false;
      digits += count - 16;
    }
    out.low = std::strtoull(digits, &end, 16);
  } else if (is_float && bytes == 4) {
    const double value = std::strtod(text.c_str(), &end);
    out.low = std::bit_cast<uint32_t>(std::isnan(value) ? std::bit_cast<float>(0x7fffffffu) : static_cast<float>(value));
  } else if (is_float) {
    const double value = std::strtod(text.c_str(), &end);
    out.low = std::isnan(value) ? 0x7ff8000000000000ull : std::bit_cast<uint64_t>(value);
  } else if (text[0] == '-') {
    out.low = static_cast<uint64_t>(std::strtoll(text.c_str(), &end, 10));
  } else {
    out.low = std::strtoull(text.c_str(), &end, 10);
  }
  if (!end || *end) return false;
  if (bytes < 8 && bytes > 0) out.low &= (1ull << (8 * bytes)) - 1;
  return true;
}

}  // namespace kw::emu
