#include "agent/prompt.h"

#include <algorithm>
#include <set>

#include "base/check.h"

namespace kw::agent {
namespace {

constexpr std::string_view kOpen = "{{", kClose = "}}";

// The name in a line that holds nothing but {{#name}} or {{/name}}; empty when it is none.
std::string_view alone(std::string_view line, char mark) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (!line.starts_with(kOpen) || !line.ends_with(kClose) || line.size() < 6 || line[2] != mark) return {};
  return line.substr(3, line.size() - 5);
}

}  // namespace

std::string_view prompt_file(std::string_view name) {
  const auto& files = prompt_files();
  const auto at = std::find_if(files.begin(), files.end(), [&](const PromptFile& each) { return each.name == name; });
  KW_CHECK(at != files.end());
  return at->text;
}

std::string render(std::string_view name, const Slots& slots) {
  std::set<std::string_view> used;
  const auto slot = [&](std::string_view wanted) -> const std::string& {
    const auto at = slots.find(wanted);
    KW_CHECK(at != slots.end());
    used.insert(at->first);
    return at->second;
  };
  std::string out;
  std::string_view inside, text = prompt_file(name);   // the section that is being read
  while (!text.empty()) {
    const size_t length = std::min(text.find('\n'), text.size() - 1) + 1;
    std::string_view line = text.substr(0, length);
    text.remove_prefix(length);
    if (const auto opened = alone(line, '#'); !opened.empty()) {
      KW_CHECK(inside.empty());
      inside = opened;
      continue;
    }
    if (const auto closed = alone(line, '/'); !closed.empty()) {
      KW_CHECK(inside == closed);
      inside = {};
      continue;
    }
    const bool shown = inside.empty() || !slot(inside).empty();
    for (size_t at = line.find(kOpen); at != std::string_view::npos; at = line.find(kOpen)) {
      const size_t end = line.find(kClose, at);
      KW_CHECK(end != std::string_view::npos);
      const std::string& value = slot(line.substr(at + 2, end - at - 2));
      if (shown) out += std::string(line.substr(0, at)) + value;
      line.remove_prefix(end + 2);
    }
    if (shown) out += line;
  }
  KW_CHECK(inside.empty() && used.size() == slots.size());
  return out;
}

}  // namespace kw::agent
