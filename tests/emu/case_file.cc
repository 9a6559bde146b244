#include "emu/case_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "emu/case_value.h"

namespace kw::emu {
namespace {

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
    } else if (key != "seed" && key != "check" && key != "completion" && key != "shared" && key != "cooperative" && key != "only") {
      return wrong("unknown option '{}'; known: block grid target ptx seed check completion shared cooperative only", key);
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

}  // namespace

Result<CaseFile> read_case_file(std::string text, std::string path) { return Reader(std::move(text), std::move(path)).read(); }

}  // namespace kw::emu
