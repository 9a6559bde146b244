// A text in sections of at most kMostSectionLines: a definition with the comment before it, several short ones, a part of a long one, or
// what stands under a heading. Every line that says something is in exactly one. Pure; linear in the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "codesearch/scan.h"

namespace kw::codesearch {

inline constexpr uint32_t kMostSectionLines = 60;

struct Section {
  uint32_t from = 0, to = 0;   // lines, from 1, both of it
  std::string name;            // what is defined, several joined by ", "; of Markdown the headings: "Verdicts > Times"
};

std::vector<Section> sections_of(std::string_view text, const Scan& scan, Language language);

// What a declaration of C++ that begins so defines; empty where that is not to be seen.
std::string defined_name(std::string_view code);

}  // namespace kw::codesearch
