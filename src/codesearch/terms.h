// Words of code and prose as terms that are compared: what is written as one word, in its parts too. "cpAsyncWait", "cp_async_wait" and
// "cp.async.wait" are the same: cp, async, wait, cp_async, async_wait, cp_async_wait. Endings are taken off, so that "reduction" meets
// "reduce" (a light stemmer of ours: it is wrong for some words, alike in text and question). Terms are lower-case ASCII. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kw::codesearch {

inline constexpr size_t kLongestWord = 96;   // longer ones are data

// The word that begins at or after `at`, which is set past it; empty at the end. In prose a hyphen joins ("split-k").
std::string_view next_word(std::string_view text, size_t& at, bool prose);

// The parts of a word, in order, with endings taken off; single letters and long numbers among them.
std::vector<std::string> parts_of(std::string_view word);
// Two neighbouring parts as one term: cp_async; sm and 90 are sm90.
std::string joined(const std::string& a, const std::string& b);
// Whether a part is a term by itself: no single letter, no number of more than four digits.
bool is_term(const std::string& part);

// All terms of a word.
std::vector<std::string> terms_of(std::string_view word);

}  // namespace kw::codesearch
