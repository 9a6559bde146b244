// The lines in which two texts differ, as people read them: "-" gone, "+" new, " " around them. Pure; thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace kw::agent {

// The shortest (Myers, "An O(ND) Difference Algorithm and Its Variations", 1986), with up to `around` unchanged lines beside each change
// and "@@ line" before each place. Empty when the texts are equal. Texts that differ in more than kMostChanges lines: the one
// is gone and the other new.
std::string line_diff(std::string_view before, std::string_view after, size_t around = 2);

inline constexpr size_t kMostChanges = 2000;

}  // namespace kw::agent
