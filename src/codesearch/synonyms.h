// Words of the domain that stand for each other: who asks for "tensor core" means mma, wgmma and ldmatrix too.
#pragma once

#include <string>
#include <vector>

namespace kw::codesearch {

using Phrase = std::vector<std::string>;   // parts (terms.h)

// Each group's phrases mean about the same. Constant; thread-safe.
const std::vector<std::vector<Phrase>>& synonyms();

}  // namespace kw::codesearch
