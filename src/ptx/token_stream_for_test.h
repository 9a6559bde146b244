// The tokens of PTX text, found without the parser's lexer so that tests do not check it against itself:
// strings, numbers and names with their dots split off, single characters. For tests only.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace kw::ptx {

inline std::vector<std::string> tokens_of(std::string_view text) {
  std::vector<std::string> tokens;
  const auto is_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%'; };
  for (size_t i = 0; i < text.size();) {
    const size_t begin = i;
    if (std::isspace(static_cast<unsigned char>(text[i])) != 0) {
      ++i;
      continue;
    }
    if (text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size());
      continue;
    }
    if (text.substr(i, 2) == "/*") {
      const size_t end = text.find("*/", i + 2);
      i = end == std::string_view::npos ? text.size() : end + 2;
      continue;
    }
    if (text[i] == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i)
        if (text[i] == '\\') ++i;
      i = std::min(i + 1, text.size());
    } else if (is_name(text[i])) {
      while (i < text.size() && is_name(text[i])) ++i;
    } else {
      ++i;
    }
    tokens.emplace_back(text.substr(begin, i - begin));
  }
  return tokens;
}

}  // namespace kw::ptx
