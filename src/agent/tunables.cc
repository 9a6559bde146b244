#include "agent/tunables.h"

#include <algorithm>
#include <cctype>

namespace kw::agent {
namespace {

constexpr std::string_view kMark = "// tune:";
constexpr std::string_view kForm = "a tunable is one line: constexpr int kThreads = 256;  // tune: 64 128 256 512";

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = text.find_first_not_of(" \t\r", at);
    if (begin == std::string_view::npos) break;
    at = std::min(text.find_first_of(" \t\r", begin), text.size());
    out.emplace_back(text.substr(begin, at - begin));
  }
  return out;
}

// The last word before `end`, which nothing but blanks may follow; empty when there is none.
std::string_view word_before(std::string_view text, size_t end) {
  const size_t last = end == 0 ? std::string_view::npos : text.find_last_not_of(" \t", end - 1);
  if (last == std::string_view::npos || !is_word(text[last])) return {};
  size_t first = last;
  while (first > 0 && is_word(text[first - 1])) --first;
  return text.substr(first, last + 1 - first);
}

Result<Tunable> tunable_of(std::string_view line, size_t mark) {
  const std::string_view code = line.substr(0, mark);
  const size_t equals = code.find('='), semicolon = code.find(';');
  const auto form = [] { return fail(ErrorCode::kInvalid, "this is no tunable"); };
  if (words(code).empty() || words(code).front() != "constexpr" || equals == std::string_view::npos || semicolon == std::string_view::npos) return form();
  if (code.find_first_not_of(" \t", semicolon + 1) != std::string_view::npos || semicolon < equals) return form();
  const std::string_view name = word_before(code, equals), value = word_before(code, semicolon);
  if (name.empty() || value.empty() || !words(code.substr(equals + 1, static_cast<size_t>(value.data() - code.data()) - equals - 1)).empty()) return form();
  Tunable out;
  out.name = name;
  out.begin = static_cast<size_t>(value.data() - line.data());
  out.length = value.size();
  out.values = words(line.substr(mark + kMark.size()));
  for (const std::string& each : out.values) {
    if (!std::all_of(each.begin(), each.end(), is_word)) return fail(ErrorCode::kInvalid, "'{}' is neither a number nor a name", each);
    if (std::count(out.values.begin(), out.values.end(), each) > 1) return fail(ErrorCode::kInvalid, "{} has the value {} twice", out.name, each);
  }
  const auto at = std::find(out.values.begin(), out.values.end(), value);
  if (at == out.values.end()) return fail(ErrorCode::kInvalid, "{} is {}, which is not among the values that it may take", out.name, value);
  if (out.values.size() < 2) return fail(ErrorCode::kInvalid, "{} may take one value only", out.name);
  if (out.values.size() > kMostValues) return fail(ErrorCode::kInvalid, "{} has more than {} values", out.name, kMostValues);
  out.chosen = static_cast<size_t>(at - out.values.begin());
  return out;
}

}  // namespace

Result<std::vector<Tunable>> find_tunables(std::string_view source, const std::string& file) {
  std::vector<Tunable> out;
  uint32_t number = 0;
  for (size_t begin = 0; begin < source.size();) {
    ++number;
    const size_t end = std::min(source.find('\n', begin), source.size());
    const std::string_view line = source.substr(begin, end - begin);
    const size_t first = line.find_first_not_of(" \t");
    const bool commented = first != std::string_view::npos && line.substr(first).starts_with("//");
    if (const size_t mark = line.find(kMark); mark != std::string_view::npos && !commented) {
      Result<Tunable> tunable = tunable_of(line, mark);
      if (tunable && out.size() == kMostTunables) tunable = fail(ErrorCode::kInvalid, "more than {} tunables", kMostTunables);
      const auto same = [&](const Tunable& each) { return each.name == tunable->name; };
      if (tunable && std::any_of(out.begin(), out.end(), same)) tunable = fail(ErrorCode::kInvalid, "{} is a tunable already", tunable->name);
      if (!tunable) {
        Error error = std::move(tunable.error());
        error.span = Span{file, static_cast<int>(number), 0, 0};
        error.notes.emplace_back(kForm);
        return fail(std::move(error));
      }
      tunable->line = number;
      tunable->begin += begin;
      out.push_back(std::move(*tunable));
    }
    begin = end + 1;
  }
  return out;
}

std::string with_value(std::string_view source, const Tunable& tunable, size_t value) {
  std::string out(source.substr(0, tunable.begin));
  out += tunable.values[value];
  out += source.substr(tunable.begin + tunable.length);
  return out;
}

}  // namespace kw::agent
