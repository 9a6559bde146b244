// "did you mean": the known name nearest to one that is not known. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kw {

inline constexpr std::size_t kLongestNearMiss = 64;   // characters; longer names have no hint

// Twice the restricted Damerau-Levenshtein distance: two for each insertion, deletion, change or swap of neighbours,
// one for a change of case. What exceeds `at_most` may come back as any number above it, as do names that are too long.
unsigned edit_cost(std::string_view a, std::string_view b, unsigned at_most);

// The greatest cost that passes for a slip in writing `name`: a third of its length, but one edit of a name of two.
unsigned slip_cost(std::string_view name);

// The one of `known` that costs least, the first of several, when it is a slip. Empty when none is.
std::string nearest(std::string_view name, const std::vector<std::string>& known);

}  // namespace kw
