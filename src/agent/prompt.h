// The prompt files (prompts/*.md), which are part of the program, and how they are filled. Pure; thread-safe.
//
//   {{name}}                what the slot holds
//   {{#name}} … {{/name}}   each on a line of its own: the lines between, unless the slot is empty
//
// Filled once: what is put into a slot is not looked at again.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace kw::agent {

using Slots = std::map<std::string, std::string, std::less<>>;

struct PromptFile {
  std::string_view name;   // "planner", "class/gemm"
  std::string_view text;
};
const std::vector<PromptFile>& prompt_files();

std::string_view prompt_file(std::string_view name);   // one of those

// A slot that the file names and nobody gives, or one that it does not name, is a bug.
std::string render(std::string_view name, const Slots& slots);

}  // namespace kw::agent
