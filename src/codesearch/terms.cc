#include "codesearch/terms.h"

#include <algorithm>
#include <array>

namespace kw::codesearch {
namespace {

bool lower(char c) { return c >= 'a' && c <= 'z'; }
bool upper(char c) { return c >= 'A' && c <= 'Z'; }
bool digit(char c) { return c >= '0' && c <= '9'; }
bool alnum(char c) { return lower(c) || upper(c) || digit(c); }

// Twice, for "pipelinings". What is left has three letters or more.
void take_ending_off(std::string& word) {
  static constexpr std::array<std::string_view, 13> kEndings = {"ations", "ation", "tions", "tion", "ings", "ing", "ers", "er", "ed", "es", "e", "s", "al"};
  if (!std::all_of(word.begin(), word.end(), lower)) return;
  for (int round = 0; round < 2; ++round) {
    const auto found = std::find_if(kEndings.begin(), kEndings.end(), [&](std::string_view e) { return word.size() >= e.size() + 3 && word.ends_with(e); });
    if (found == kEndings.end() || word.ends_with("ss")) return;
    word.resize(word.size() - found->size());
    const size_t n = word.size();
    if (found->size() > 1 && n > 3 && word[n - 1] == word[n - 2] && word[n - 1] != 's' && word[n - 1] != 'l') word.pop_back();   // "mapped"
  }
}

bool begins_part(std::string_view word, size_t i) {
  const char before = word[i - 1], here = word[i], after = i + 1 < word.size() ? word[i + 1] : '_';
  return upper(here) && (lower(before) || ((upper(before) || digit(before)) && lower(after)));
}

}  // namespace

std::string_view next_word(std::string_view text, size_t& at, bool prose) {
  while (at < text.size()) {
    while (at < text.size() && !alnum(text[at]) && text[at] != '_') ++at;
    const size_t begin = at;
    while (at < text.size()) {
      const char c = text[at];
      const bool joins = (c == '.' || (prose && c == '-')) && at > begin && alnum(text[at - 1]) && at + 1 < text.size() && alnum(text[at + 1]);
      if (!alnum(c) && c != '_' && !joins) break;
      ++at;
    }
    if (at > begin && at - begin <= kLongestWord) return text.substr(begin, at - begin);
  }
  return {};
}

std::vector<std::string> parts_of(std::string_view word) {
  std::vector<std::string> parts;
  std::string part;
  const auto end = [&] {
    if (part.empty()) return;
    take_ending_off(part);
    parts.push_back(std::move(part));
    part.clear();
  };
  for (size_t i = 0; i < word.size(); ++i) {
    const char c = word[i];
    if (!alnum(c)) {
      end();
      continue;
    }
    if (!part.empty() && begins_part(word, i)) end();
    part += upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
  }
  end();
  return parts;
}

std::string joined(const std::string& a, const std::string& b) { return digit(b.front()) ? a + b : a + "_" + b; }

bool is_term(const std::string& part) {
  return part.size() >= 2 && (part.size() <= 4 || !std::all_of(part.begin(), part.end(), digit));
}

std::vector<std::string> terms_of(std::string_view word) {
  const std::vector<std::string> parts = parts_of(word);
  std::vector<std::string> terms;
  std::string whole;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (is_term(parts[i])) terms.push_back(parts[i]);
    if (i + 1 < parts.size()) terms.push_back(joined(parts[i], parts[i + 1]));
    whole = i == 0 ? parts[i] : joined(whole, parts[i]);
  }
  if (parts.size() > 2) terms.push_back(std::move(whole));
  return terms;
}

}  // namespace kw::codesearch
