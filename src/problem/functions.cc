// Calls of functions: finds the row of the table, checks the arguments against its signature, makes the nodes.
#include <algorithm>

#include "problem/function.h"

namespace kw::problem {
namespace {

constexpr std::span<const Function> (*kFamilies[])() = {
    pointwise_functions, activation_functions, reduction_functions, scan_functions,
    movement_functions,  window_functions,     index_functions,     random_functions,
    python_functions,
};

const Function* find_function(std::string_view name) {
  for (const auto& family : kFamilies) {
    for (const Function& function : family()) {
      if (function.name == name) return &function;
    }
  }
  return nullptr;
}

bool has_word(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::size_t space = words.find(' ');
    if (words.substr(0, space) == word) return true;
    words = space == std::string_view::npos ? std::string_view() : words.substr(space + 1);
  }
  return false;
}

}  // namespace

std::vector<std::string> function_names() {
  std::vector<std::string> names;
  for (const auto& family : kFamilies) {
    for (const Function& function : family()) names.emplace_back(function.name);
  }
  return names;
}

Result<NodeId> call_function(std::string_view name, const std::vector<Argument>& arguments,
                             GraphBuilder& builder, ExpressionParser& parser) {
  const Function* found = find_function(name);
  if (found == nullptr) return fail(ErrorCode::kNotFound, "no function '{}'", name);
  const Function& function = *found;
  std::size_t positional = 0;
  std::vector<std::string_view> seen;
  for (const Argument& argument : arguments) {
    if (argument.keyword.empty()) {
      ++positional;
      if (!seen.empty())
        return fail(parser.error(argument.token, "an argument by position follows one by name; reorder"));
    } else if (!has_word(function.keywords, argument.keyword)) {
      return fail(parser.error(argument.token, fmt::format("{} has no argument '{}': {}", name,
                                                           argument.keyword, function.signature)));
    } else if (std::find(seen.begin(), seen.end(), argument.keyword) != seen.end()) {
      return fail(
          parser.error(argument.token, fmt::format("argument '{}' is given twice", argument.keyword)));
    } else {
      seen.push_back(argument.keyword);
    }
  }
  if (positional < function.least || positional > function.most) {
    auto failed =
        fail(ErrorCode::kInvalid, "{} takes {}, not {} arguments", name, function.signature, positional);
    if ((name == "max" || name == "min") && positional > 2)
      failed.value().notes.push_back(fmt::format("{}imum(a, b) takes the {} of two tensors", name, name));
    return failed;
  }
  Call call(arguments, builder, parser);
  const NodeId first = builder.next();
  KW_TRY(const NodeId result, function.make(call));
  builder.mark_function(first, result);
  return result;
}

}  // namespace kw::problem
