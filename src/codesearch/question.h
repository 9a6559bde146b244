// A question in words as what is looked up: concepts, each with one or more ways to say it. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codesearch/synonyms.h"

namespace kw::codesearch {

// The best of `ways` counts, times `weight`; of a way the mean of its terms.
struct Concept {
  double weight = 1;
  std::vector<std::vector<std::string>> ways;
};

std::vector<Concept> concepts_of(std::string_view question);

}  // namespace kw::codesearch
