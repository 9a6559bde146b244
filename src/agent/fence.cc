#include "agent/fence.h"

#include <algorithm>
#include <cctype>

#include "base/source_text.h"

namespace kw::agent {
namespace {

constexpr size_t kLeast = 3;

size_t longest_run(std::string_view text) {
  size_t longest = 0, now = 0;
  for (const char c : text) longest = std::max(longest, now = c == '`' ? now + 1 : 0);
  return longest;
}

// How many backquotes a line opens or closes a block with, up to three blanks before them; 0: none.
size_t fence_of(std::string_view line, std::string_view& rest) {
  const size_t from = line.find_first_not_of(' ');
  if (from == std::string_view::npos || from > 3) return 0;
  const size_t to = std::min(line.find_first_not_of('`', from), line.size());
  rest = line.substr(to);
  return to - from < kLeast ? 0 : to - from;
}

std::string word_of(std::string_view text) {
  std::string out;
  for (const char c : text.substr(std::min(text.find_first_not_of(" \t"), text.size()))) {
    if (std::isspace(static_cast<unsigned char>(c)) != 0) break;
    out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

}  // namespace

std::string fenced(std::string_view text, std::string_view language) {
  std::string inside = printable_text(text);
  if (!inside.empty() && !inside.ends_with('\n')) inside += '\n';
  const std::string fence(std::max(kLeast, longest_run(inside) + 1), '`');
  return fence + std::string(language) + "\n" + inside + fence + "\n";
}

std::vector<Block> fenced_blocks(std::string_view text) {
  std::vector<Block> out;
  size_t open = 0;   // backquotes of the block that is being read
  for (int line = 1; !text.empty(); ++line) {
    const size_t length = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view with_end = text.substr(0, length);
    text.remove_prefix(length);
    std::string_view rest;
    const size_t fence = fence_of(with_end, rest);
    if (open == 0 && fence != 0 && rest.find('`') == std::string_view::npos) {
      open = fence;
      out.push_back({word_of(rest), "", line});
    } else if (open != 0 && fence >= open && is_blank(rest)) {
      open = 0;
    } else if (open != 0) {
      out.back().text += with_end;
    }
  }
  return out;
}

}  // namespace kw::agent
