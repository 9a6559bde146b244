#include "codesearch/question.h"

#include <algorithm>
#include <array>
#include <set>

#include "codesearch/terms.h"

namespace kw::codesearch {
namespace {

constexpr size_t kMostWords = 64;
constexpr double kCompoundWeight = 0.7;   // "top k" also as top_k and topk
constexpr double kSynonymWeight = 0.5;

constexpr std::array<std::string_view, 60> kEmptyWords = {
    "a", "about", "all", "am", "an", "and", "any", "are", "as", "at", "be", "by", "can", "do", "does", "each", "find", "for", "from", "get",
    "give", "has", "have", "how", "i", "in", "into", "is", "it", "its", "like", "look", "looks", "me", "my", "of", "on", "or", "our", "show",
    "so", "some", "that", "the", "their", "them", "there", "these", "this", "to", "us", "use", "want", "we", "what", "when", "where", "which", "with", "you"};

// In lower case, without what joins them.
std::string letters_of(std::string_view word) {
  std::string out;
  for (const char c : word) {
    if (c >= 'A' && c <= 'Z') out += static_cast<char>(c - 'A' + 'a');
    else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) out += c;
  }
  return out;
}

bool holds(const std::vector<std::string>& parts, const Phrase& phrase) {
  return std::search(parts.begin(), parts.end(), phrase.begin(), phrase.end()) != parts.end();
}

}  // namespace

std::vector<Concept> concepts_of(std::string_view question) {
  std::vector<Concept> out;
  std::set<std::string> said;
  const auto say = [&](std::vector<std::string> ways, double weight) {
    std::erase_if(ways, [&](const std::string& term) { return !is_term(term) || !said.insert(term).second; });
    Concept also{weight, {}};
    for (std::string& term : ways) also.ways.push_back({std::move(term)});
    if (!also.ways.empty()) out.push_back(std::move(also));
  };
  std::vector<std::string> parts;   // of all words, in order
  std::string before;
  size_t at = 0;
  for (size_t words = 0; words < kMostWords; ++words) {
    const std::string_view word = next_word(question, at, true);
    if (word.empty()) break;
    const std::string letters = letters_of(word);
    if (letters.empty() || std::find(kEmptyWords.begin(), kEmptyWords.end(), letters) != kEmptyWords.end()) continue;
    const std::vector<std::string> own = parts_of(word);
    for (const std::string& term : terms_of(word)) say({term}, 1);
    if (own.size() > 1) say(parts_of(letters), kCompoundWeight);
    if (!parts.empty()) {
      std::vector<std::string> ways = parts_of(before + letters);
      ways.push_back(joined(parts.back(), own.front()));
      say(std::move(ways), kCompoundWeight);
    }
    parts.insert(parts.end(), own.begin(), own.end());
    before = letters;
  }
  for (const std::vector<Phrase>& group : synonyms()) {
    if (std::none_of(group.begin(), group.end(), [&](const Phrase& phrase) { return holds(parts, phrase); })) continue;
    Concept also{kSynonymWeight, {}};
    for (const Phrase& phrase : group) {
      if (holds(parts, phrase)) continue;
      std::vector<std::string> way;
      std::copy_if(phrase.begin(), phrase.end(), std::back_inserter(way), is_term);
      if (!way.empty()) also.ways.push_back(std::move(way));
    }
    if (!also.ways.empty()) out.push_back(std::move(also));
  }
  return out;
}

}  // namespace kw::codesearch
