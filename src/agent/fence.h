// Blocks between lines of backquotes, as Markdown has them: what models are shown and what they answer. Pure; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kw::agent {

// The text between fences that nothing in it can end: what stands inside is data. Control characters and bytes that are not UTF-8 are replaced.
std::string fenced(std::string_view text, std::string_view language = {});

struct Block {
  std::string language;   // the word behind the opening fence, in lower case; may be empty
  std::string text;       // with its line ends
  int line = 0;           // of the opening fence, from 1
};
// The blocks of a text in order. One that does not end goes to the end of the text.
std::vector<Block> fenced_blocks(std::string_view text);

}  // namespace kw::agent
