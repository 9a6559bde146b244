#include "emu/case_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <set>

namespace kw::emu {
namespace {

struct Prefix { std::string_view prefix, type; uint32_t bytes; };
// Longer prefixes first.
constexpr Prefix kPrefixes[] = {{"%rs", "b16", 2}, {"%rd", "b64", 8}, {"%rb", "b8", 1}, {"%rq", "b128", 16},
                                {"%fd", "f64", 8}, {"%p", "pred", 0}, {"%h", "b16", 2}, {"%r", "b32", 4},
                                {"%f", "f32", 4}};
const Prefix* prefix_of(std::string_view name) {
  for (const Prefix& p : kPrefixes) {
    if (!name.starts_with(p.prefix) || name.size() == p.prefix.size()) continue;
    const std::string_view rest = name.substr(p.prefix.size());
    if (std::all_of(rest.begin(), rest.end(), [](unsigned char c) { return std::isdigit(c); })) return &p;
  }
  return nullptr;
}

struct ElementType { std::string_view name; uint32_t bytes; bool is_float; };
constexpr ElementType kElementTypes[] = {{"b8", 1, false},  {"b16", 2, false}, {"b32", 4, false},
                                         {"b64", 8, false}, {"f32", 4, true},  {"f64", 8, true}};
const ElementType* element_type(std::string_view name) {
  for (const ElementType& t : kElementTypes)
    if (t.name == name) return &t;
  return nullptr;
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  size_t at = 0;
  while (at < line.size()) {
    while (at < line.size() && std::isspace(static_cast<unsigned char>(line[at]))) ++at;
    const size_t begin = at;
    while (at < line.size() && !std::isspace(static_cast<unsigned char>(line[at]))) ++at;
    if (at > begin) words.emplace_back(line.substr(begin, at - begin));
  }
  return words;
}
std::string_view trimmed(std::string_view s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front()))) s.remove_prefix(1);
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back()))) s.remove_suffix(1);
  return s;
}

struct Number { uint64_t low = 0, high = 0; };
// "-3", "0x80000000", "1.5", "inf", "nan" as the bits of a type. A 128-bit value is written in hexadecimal.
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

class Reader {
 public:
  Reader(std::string text, std::string path) { file_.text = std::move(text); file_.path = std::move(path); }
  Result<CaseFile> read();

 private:
  template <typename... A>
  tl::unexpected<Error> wrong(fmt::format_string<A...> format, A&&... a) const {
    Error error;
    error.message = fmt::format(format, std::forward<A>(a)...);
    error.span = Span{file_.path, line_, 1, 0};
    error.source_line = std::string(line_of(file_.text, line_));
    return fail(std::move(error));
  }
  Status header(std::string_view line);
  Status body_line(std::string_view line);
  Status variable(const std::vector<std::string>& words, bool shared);
  Status expectation(std::string_view line);
  void finish();

  CaseFile file_;
  int line_ = 0;
  std::string comment_;
  std::optional<Case> current_;
  bool in_expected_ = false;
};

Status dimensions(const std::string& text, uint32_t out[3]) {
  const char* at = text.c_str();
  for (int i = 0; i < 3; ++i) {
    char* end = nullptr;
    out[i] = static_cast<uint32_t>(std::strtoul(at, &end, 10));
    if (end == at || out[i] == 0) return fail(ErrorCode::kInvalid, "'{}' is not a size such as 32 or 8x4", text);
    if (*end == 0) return {};
    if (*end != 'x') break;
    at = end + 1;
  }
  return fail(ErrorCode::kInvalid, "'{}' is not a size such as 32 or 8x4", text);
}

Status Reader::header(std::string_view line) {
  finish();
  const std::vector<std::string> words = words_of(line);
  Case test;
  test.line = line_;
  test.expects_error = words[0] == "run-error";
  test.name = comment_.empty() ? fmt::format("line {}", line_) : comment_;
  comment_.clear();
  for (size_t i = 1; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    if (equals == std::string::npos) return wrong("'{}' is not name=value", words[i]);
    const std::string key = words[i].substr(0, equals), value = words[i].substr(equals + 1);
    test.options[key] = value;
    if (key == "block") {
      KW_TRY_VOID(dimensions(value, test.block));
    } else if (key == "grid") {
      KW_TRY_VOID(dimensions(value, test.grid));
    } else if (key == "target") {
      test.target = value;
    } else if (key == "ptx") {
      test.version = value;
    } else if (key != "seed" && key != "check" && key != "completion" && key != "shared" && key != "cooperative") {
      return wrong("unknown option '{}'; known: block grid target ptx seed check completion shared cooperative", key);
    }
  }
  if (test.threads() > 1u << 20) return wrong("more than 2^20 threads");
  current_ = std::move(test);
  in_expected_ = false;
  return {};
}

Status Reader::variable(const std::vector<std::string>& words, bool shared) {
  if (words.size() < 2) return wrong("a variable needs a name");
  CaseVariable v;
  v.name = words[1];
  v.shared = shared;
  size_t i = 2;
  for (; i < words.size() && words[i] != "="; ++i) {
    if (words[i].starts_with("bytes=")) v.bytes = std::strtoull(words[i].c_str() + 6, nullptr, 0);
    else if (words[i].starts_with("init=")) v.init = words[i].substr(5);
    else if (words[i].starts_with("type=")) v.type = words[i].substr(5);
    else return wrong("'{}' is none of bytes=, init=, type=", words[i]);
  }
  const ElementType* type = element_type(v.type);
  if (!type) return wrong("'{}' is none of b8 b16 b32 b64 f32 f64", v.type);
  if (i < words.size()) v.values.assign(words.begin() + static_cast<long>(i) + 1, words.end());
  if (v.bytes == 0) v.bytes = v.values.size() * type->bytes;
  if (v.bytes == 0 || v.bytes > 1u << 24) return wrong("a variable has 1 to 2^24 bytes");
  current_->variables.push_back(std::move(v));
  return {};
}

Status Reader::body_line(std::string_view line) {
  const std::vector<std::string> words = words_of(line);
  if (words[0] == "input") {
    if (words.size() < 4 || words[2] != "=") return wrong("an input is written: input %r1 = 1 2 3");
    if (!prefix_of(words[1])) return wrong("'{}' is no register of a known prefix", words[1]);
    current_->inputs.push_back({words[1], {words.begin() + 3, words.end()}});
    return {};
  }
  if (words[0] == "global" || words[0] == "shared") return variable(words, words[0] == "shared");
  current_->body.emplace_back(trimmed(line));
  return {};
}

Status Reader::expectation(std::string_view line) {
  if (current_->expects_error) {
    current_->error_pattern = std::string(trimmed(line));
    return {};
  }
  const std::vector<std::string> words = words_of(line);
  if (words[0] == "finding") {
    if (words.size() < 2) return wrong("a finding is written: finding KIND [regular expression]");
    const size_t after = line.find(words[1]) + words[1].size();
    current_->findings.push_back({words[1], std::string(trimmed(line.substr(after)))});
    return {};
  }
  Expectation e;
  e.line = line_;
  e.name = words[0];
  if (const size_t colon = e.name.find(':'); colon != std::string::npos) {
    const std::string suffix = e.name.substr(colon + 1);
    e.name.resize(colon);
    if (suffix == "x") e.hexadecimal = true;
    else if (element_type(suffix)) e.type = suffix;
    else return wrong("':{}' is neither :x nor an element type", suffix);
  }
  size_t at = 1;
  if (words.size() > 3 && words[1] == "within") {
    e.tolerance = std::strtod(words[2].c_str(), nullptr);
    if (words[3] == "ulp") e.within = Expectation::Within::kUlp;
    else if (words[3] == "abs") e.within = Expectation::Within::kAbsolute;
    else if (words[3] == "rel") e.within = Expectation::Within::kRelative;
    else return wrong("a tolerance is written: within NUMBER ulp|abs|rel");
    at = 4;
  }
  if (at >= words.size() || words[at] != "=") return wrong("an expectation is written: %r1 = VALUES");
  e.values.assign(words.begin() + static_cast<long>(at) + 1, words.end());
  if (e.name.starts_with('%')) {
    if (!prefix_of(e.name)) return wrong("'{}' is no register of a known prefix", e.name);
  } else if (e.type.empty()) {
    return wrong("write the element type of a variable: {}:b32 = VALUES", e.name);
  }
  current_->expected.push_back(std::move(e));
  return {};
}

void Reader::finish() {
  if (current_) file_.cases.push_back(std::move(*current_));
  current_.reset();
}

Result<CaseFile> Reader::read() {
  std::string_view rest = file_.text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++line_;
    if (trimmed(line).empty()) {
      if (in_expected_) finish();
      in_expected_ = false;
    } else if (line.starts_with('#')) {
      if (current_ && in_expected_) finish();
      in_expected_ = false;
      comment_ = std::string(trimmed(line.substr(1)));
    } else if (line.starts_with("run ") || line == "run" || line.starts_with("run-error")) {
      KW_TRY_VOID(header(line));
    } else if (trimmed(line) == "independent-lanes") {
      file_.independent_lanes = true;
    } else if (!current_) {
      return wrong("expected a comment, 'run' or 'run-error'");
    } else if (trimmed(line) == "----") {
      in_expected_ = true;
    } else if (in_expected_) {
      KW_TRY_VOID(expectation(line));
    } else {
      KW_TRY_VOID(body_line(line));
    }
  }
  finish();
  return std::move(file_);
}

// --- Generation -----------------------------------------------------------------------------------------

void collect_registers(std::string_view line, std::set<std::string>& registers) {
  for (size_t i = line.find('%'); i != std::string_view::npos; i = line.find('%', i + 1)) {
    size_t end = i + 1;
    while (end < line.size() && (std::isalnum(static_cast<unsigned char>(line[end])) || line[end] == '_')) ++end;
    if (const std::string name(line.substr(i, end - i)); prefix_of(name)) registers.insert(name);
  }
}

std::string initialiser(const CaseVariable& v) {
  const ElementType& type = *element_type(v.type);
  const uint64_t count = v.bytes / type.bytes;
  std::string out;
  uint64_t state = 0x9e3779b97f4a7c15ull;
  for (uint64_t i = 0; i < count; ++i) {
    Number n;
    if (!v.values.empty()) {
      if (i >= v.values.size()) break;
      if (!parse_number(v.values[i], type.bytes, type.is_float, n)) return {};
    } else if (v.init == "random") {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      n.low = state >> 33;
      if (type.bytes < 8) n.low &= (1ull << (8 * type.bytes)) - 1;
    } else {
      n.low = !type.is_float ? i : type.bytes == 4 ? std::bit_cast<uint32_t>(static_cast<float>(i))
                                                   : std::bit_cast<uint64_t>(static_cast<double>(i));
      if (type.bytes < 8) n.low &= (1ull << (8 * type.bytes)) - 1;
    }
    out += fmt::format("{}0x{:x}", i ? ", " : "", n.low);
  }
  return out;
}

}  // namespace

Result<CaseFile> read_case_file(std::string text, std::string path) { return Reader(std::move(text), std::move(path)).read(); }

Result<CaseKernel> generate(const Case& test, Variant variant) {
  CaseKernel kernel;
  kernel.variant = variant;
  kernel.block_x = test.block[0] - (variant == Variant::kPartWarp && test.block[0] > 3 ? 3 : 0);
  kernel.threads = test.threads() / test.block[0] * kernel.block_x;
  std::set<std::string> registers;
  for (const std::string& line : test.body) collect_registers(line, registers);
  for (const CaseInput& in : test.inputs) registers.insert(in.reg);
  for (const Expectation& e : test.expected)
    if (e.name.starts_with('%')) registers.insert(e.name);
  std::string module = fmt::format(".version {}\n.target {}\n.address_size 64\n", test.version, test.target);
  std::string body;
  for (const CaseVariable& v : test.variables) {
    if (v.shared) {
      module += fmt::format(".shared .align 128 .b8 {}[{}];\n", v.name, v.bytes);
    } else if (v.values.empty() && v.init != "iota" && v.init != "random") {
      module += fmt::format(".visible .global .align 128 .b8 {}[{}];\n", v.name, v.bytes);
    } else {
      const ElementType& type = *element_type(v.type);
      const std::string list = initialiser(v);
      if (list.empty()) return fail(ErrorCode::kInvalid, "line {}: the values of '{}' are not of type {}", test.line, v.name, v.type);
      module += fmt::format(".visible .global .align 128 .b{} {}[{}] = {{{}}};\n", 8 * type.bytes, v.name, v.bytes / type.bytes, list);
    }
  }
  const bool three = test.block[1] * test.block[2] > 1;
  for (size_t i = 0; i < test.inputs.size(); ++i) {
    const CaseInput& in = test.inputs[i];
    const Prefix& p = *prefix_of(in.reg);
    const uint32_t bytes = p.bytes == 0 ? 4 : p.bytes == 16 ? 8 : p.bytes;
    const uint64_t threads_per_block = uint64_t{test.block[0]} * test.block[1] * test.block[2];
    std::string list;
    for (uint64_t t = 0; t < threads_per_block; ++t) {
      Number n;
      if (!parse_number(in.values[t % in.values.size()], p.bytes, p.type[0] == 'f', n))
        return fail(ErrorCode::kInvalid, "line {}: '{}' is no value of {}", test.line, in.values[t % in.values.size()], in.reg);
      list += fmt::format("{}0x{:x}", t ? ", " : "", n.low);
      if (p.bytes == 16) list += fmt::format(", 0x{:x}", n.high);
    }
    const uint32_t pitch = p.bytes == 0 ? 4 : p.bytes;
    module += fmt::format(".global .align 16 .b{} kw_in_{}[{}] = {{{}}};\n", 8 * bytes, i, threads_per_block * pitch / bytes, list);
    body += fmt::format("  mov.u64 %kw_a, kw_in_{};\n  mad.wide.u32 %kw_a, %kw_t, {}, %kw_a;\n", i, pitch);
    if (p.bytes == 0) body += fmt::format("  ld.global.u32 %kw_v, [%kw_a];\n  setp.ne.u32 {}, %kw_v, 0;\n", in.reg);
    else if (p.bytes == 16) body += fmt::format("  ld.global.v2.b64 {{%kw_x, %kw_y}}, [%kw_a];\n  mov.b128 {}, {{%kw_x, %kw_y}};\n", in.reg);
    else body += fmt::format("  ld.global.{} {}, [%kw_a];\n", p.type, in.reg);
  }
  module += ".visible .entry kw_case(.param .u64 kw_results) {\n";
  for (const std::string& name : registers) module += fmt::format("  .reg .{} {};\n", prefix_of(name)->type, name);
  module +=
      "  .reg .pred %kw_on;\n  .reg .b32 %kw_t, %kw_g, %kw_v, %kw_n;\n  .reg .b64 %kw_a, %kw_o, %kw_x, %kw_y;\n"
      "  mov.u32 %kw_t, %tid.x;\n";
  if (three)
    module +=
        "  mov.u32 %kw_v, %ntid.x;\n  mov.u32 %kw_n, %tid.y;\n  mad.lo.u32 %kw_t, %kw_n, %kw_v, %kw_t;\n"
        "  mov.u32 %kw_n, %ntid.y;\n  mul.lo.u32 %kw_v, %kw_v, %kw_n;\n  mov.u32 %kw_n, %tid.z;\n"
        "  mad.lo.u32 %kw_t, %kw_n, %kw_v, %kw_t;\n";
  module += body;
  if (variant == Variant::kOddLanes)
    module += "  and.b32 %kw_v, %kw_t, 1;\n  setp.eq.u32 %kw_on, %kw_v, 0;\n  @%kw_on bra kw_skip;\n";
  for (const std::string& line : test.body) module += "  " + line + "\n";
  if (variant == Variant::kOddLanes) module += "kw_skip:\n";
  // The linear index of the thread in the grid.
  module += fmt::format(
      "  mov.u32 %kw_g, %ctaid.z;\n  mov.u32 %kw_v, %nctaid.y;\n  mov.u32 %kw_n, %ctaid.y;\n  mad.lo.u32 %kw_g, %kw_g, %kw_v, %kw_n;\n"
      "  mov.u32 %kw_v, %nctaid.x;\n  mov.u32 %kw_n, %ctaid.x;\n  mad.lo.u32 %kw_g, %kw_g, %kw_v, %kw_n;\n"
      "  mad.lo.u32 %kw_g, %kw_g, {}, %kw_t;\n  ld.param.u64 %kw_a, [kw_results];\n  mad.wide.u32 %kw_a, %kw_g, 16, %kw_a;\n",
      uint64_t{kernel.block_x} * test.block[1] * test.block[2]);
  for (const Expectation& e : test.expected) {
    if (!e.name.starts_with('%')) continue;
    const Prefix& p = *prefix_of(e.name);
    const uint64_t offset = kernel.result_bytes;
    kernel.fields.push_back({e.name, offset, p.bytes == 0 ? 4 : p.bytes});
    kernel.result_bytes += uint64_t{kernel.threads} * 16;
    module += fmt::format("  add.u64 %kw_o, %kw_a, {};\n", offset);
    if (p.bytes == 0) module += fmt::format("  selp.u32 %kw_v, 1, 0, {};\n  st.global.u32 [%kw_o], %kw_v;\n", e.name);
    else if (p.bytes == 16) module += fmt::format("  mov.b128 {{%kw_x, %kw_y}}, {};\n  st.global.v2.b64 [%kw_o], {{%kw_x, %kw_y}};\n", e.name);
    else module += fmt::format("  st.global.{} [%kw_o], {};\n", p.type, e.name);
  }
  if (kernel.result_bytes == 0) kernel.result_bytes = 16;
  module += "  ret;\n}\n";
  kernel.ptx = std::move(module);
  return kernel;
}

// --- Comparison -----------------------------------------------------------------------------------------

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
