// "did you mean": the known name nearest to one that is not known. Pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kw::problem {

// The nearest of `known` by edits (insert, delete, change, swap neighbours; case is half an edit), when it
// is near enough to be a slip: at most a third of the length, or one edit of a name of two. Empty when none
// is. Long names have no hint.
std::string nearest(std::string_view name, const std::vector<std::string>& known);

}  // namespace kw::problem
